package window_test

import (
	"testing"
	"time"

	"crest"
	"crest/sketch"
	"crest/window"
)

func fuzzRing(tb testing.TB) *window.Ring {
	tb.Helper()
	r, err := window.NewRing(window.Config{Width: 10 * time.Second, Buckets: 6, Windows: []int{6, 3}, Memory: 4096})
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

// FuzzRestore gives a ring crafted buckets: an error, or a ring that still reports.
func FuzzRestore(f *testing.F) {
	r := fuzzRing(f)
	for i := range 2000 {
		key := string(rune('a'+i%26)) + string(rune('a'+i/26%26))
		r.Add(crest.Millis(i*20), sketch.Hash(key), key, 1)
	}
	for number := range r.Buckets() {
		data, err := r.AppendBucket(nil, number)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(number, data)
	}
	newest, _ := r.Newest()
	f.Fuzz(func(t *testing.T, number int64, data []byte) {
		r := fuzzRing(t)
		err := r.Restore(newest, func(yield func(int64, []byte) bool) { yield(number, data) })
		if err != nil {
			return
		}
		for win := range 2 {
			for _, e := range r.Top(win, 100, crest.Millis((newest+1)*10_000)).Entries {
				if e.Error > e.Count {
					t.Fatalf("entry %+v", e)
				}
			}
		}
	})
}
