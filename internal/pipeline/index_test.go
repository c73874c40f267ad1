package pipeline

import (
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"crest"
	"crest/internal/config"
)

func testIndex(tb testing.TB) (*Pipeline, []byte, map[blobKey]blobRef) {
	tb.Helper()
	cfg, err := config.Preset("shares")
	if err != nil {
		tb.Fatal(err)
	}
	cfg.Counting.Shards = 2
	p, err := New(&cfg, Options{Now: time.Now})
	if err != nil {
		tb.Fatal(err)
	}
	p.offset, p.since, p.watermark = 4711, 1_700_000_000_000, 1_700_000_100_000
	p.boards.Admit(crest.Board{Type: "article", Narrow: []crest.Narrowing{{Dimension: "category", Value: "sports"}}})
	p.marks.list = []mark{{1_700_000_000_000, 12}, {1_700_000_010_000, 40}}
	blobs := map[blobKey]blobRef{
		{0, 0, 0, -5}:            {file: 1, offset: 8, length: 100, crc: 1 << 31},
		{1, 1, 1, 170_000_000_0}: {file: 1 << 40, offset: 1 << 50, length: 3, crc: 7},
	}
	return p, p.encodeIndex(blobs), blobs
}

func TestIndexRoundTrip(t *testing.T) {
	p, data, blobs := testIndex(t)
	x, err := decodeIndex(data)
	if err != nil {
		t.Fatal(err)
	}
	if x.offset != p.offset || x.since != p.since || x.watermark != p.watermark || !slices.Equal(x.marks, p.marks.list) ||
		!reflect.DeepEqual(x.boards, p.boards.Narrowed()) || !maps.Equal(x.blobs, blobs) {
		t.Fatalf("got %+v", x)
	}
}

func TestCutIndexIsAnError(t *testing.T) {
	_, data, _ := testIndex(t)
	for n := range data {
		if _, err := decodeIndex(data[:n]); err == nil {
			t.Fatalf("the first %d of %d bytes were taken for an index", n, len(data))
		}
	}
}

func FuzzDecodeIndex(f *testing.F) {
	_, data, _ := testIndex(f)
	f.Add(data)
	f.Fuzz(func(t *testing.T, data []byte) {
		x, err := decodeIndex(data)
		if err == nil && len(x.blobs) > len(data) {
			t.Fatalf("%d buckets out of %d bytes", len(x.blobs), len(data))
		}
	})
}
