package window_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"crest"
	"crest/sketch"
	"crest/window"
)

var rewriteGolden = flag.Bool("rewrite-golden", false, "write the golden bucket anew")

// TestGoldenBucketWithLateWeight reads a saved bucket of version 2, which has what came for closed hours.
func TestGoldenBucketWithLateWeight(t *testing.T) {
	const hour = crest.Millis(3_600_000)
	start := 490_000 * hour
	config := window.Config{Width: time.Hour, Buckets: 4, Windows: []int{4}, Memory: 4096, Late: true}
	ring, err := window.NewRing(config)
	if err != nil {
		t.Fatal(err)
	}
	for i, key := range []string{"fox", "owl", "fox"} {
		ring.Advance(start + 2*hour + crest.Millis(i)*600_000 + 1)
		ring.Add(start+crest.Millis(i), sketch.Hash(key), key, uint64(i+1))
	}
	path := filepath.Join("testdata", "bucket-v2")
	saved, err := ring.AppendBucket(nil, int64(start/hour)+2)
	if err != nil {
		t.Fatal(err)
	}
	if *rewriteGolden {
		if err := os.WriteFile(path, saved, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	golden, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(saved, golden) {
		t.Errorf("saved as %x, not as %x", saved, golden)
	}
	again, err := window.NewRing(config)
	if err != nil {
		t.Fatal(err)
	}
	err = again.Restore(int64(start/hour)+2, func(yield func(int64, []byte) bool) { yield(int64(start/hour)+2, golden) })
	if err != nil {
		t.Fatal(err)
	}
	late := again.LateSince(start, start+hour, func(crest.Millis) crest.Millis { return start + 2*hour + 600_000 })
	if len(late.Items) != 2 || late.Items["owl"] != 2 || late.Items["fox"] != 3 || late.Rest != 0 {
		t.Errorf("%+v", late)
	}
}
