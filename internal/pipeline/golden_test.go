package pipeline

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"crest"
	"crest/internal/config"
	"crest/internal/eventlog"
	"crest/internal/shard"
)

var rewriteGolden = flag.Bool("rewrite-golden", false, "write the golden checkpoint anew")

func goldenConfig() *config.Config {
	return &config.Config{
		Types:   []config.Type{{Name: "video"}, {Name: "hashtag", Normalize: "hashtag"}},
		Windows: []crest.Window{{Name: "1m", Length: time.Minute, Bucket: 10 * time.Second, Refresh: 10 * time.Second}},
		Lists:   config.Lists{MaxK: 10},
		Counting: config.Counting{
			Shards: 2, Partitions: 1, Flush: time.Second, Bucket: 16 * config.KiB, NarrowBucket: 16 * config.KiB,
			DedupHorizon: time.Minute, DedupMemory: 64 * config.KiB, Checkpoint: 10 * time.Second,
		},
	}
}

// TestGoldenCheckpoint restores a file of version 1 that an earlier program wrote.
func TestGoldenCheckpoint(t *testing.T) {
	golden := filepath.Join("testdata", "v1.checkpoint")
	if *rewriteGolden {
		writeGolden(t, golden)
	}
	dir := t.TempDir()
	data, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(checkpointPath(dir, 1), data, 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := New(goldenConfig(), Options{Checkpoint: dir, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	if p.offset != 4711 || p.watermark != 1_700_000_010_000 {
		t.Fatalf("offset %d, watermark %d", p.offset, p.watermark)
	}
	want := map[string]uint64{"fox": 3, "owl": 1}
	for _, s := range p.shards {
		r, err := s.Report(shard.Query{K: 10, AsOf: p.watermark})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range r.Entries {
			if want[e.Key] != e.Count {
				t.Errorf("%s has %d, want %d", e.Key, e.Count, want[e.Key])
			}
			delete(want, e.Key)
		}
	}
	if len(want) > 0 {
		t.Errorf("missing: %v", want)
	}
}

func writeGolden(t *testing.T, path string) {
	t.Helper()
	dir := t.TempDir()
	p, err := New(goldenConfig(), Options{Checkpoint: dir, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	var e eventlog.Encoder
	e.Reset(nil)
	for i, item := range []string{"fox", "owl", "fox", "fox"} {
		ev := crest.Event{ID: crest.EventID{byte(i + 1)}, Type: "video", Item: item, Weight: 1, Time: 1_700_000_000_000}
		if err := e.Add(&ev); err != nil {
			t.Fatal(err)
		}
	}
	records := []eventlog.Record{{Received: 1_700_000_000_500, Next: 4711, Payload: e.Bytes()}}
	p.planFrom(1_700_000_000_000)
	if err := p.aggregate(records); err != nil {
		t.Fatal(err)
	}
	if err := p.flush(); err != nil {
		t.Fatal(err)
	}
	p.offset, p.since, p.watermark = 4711, 1_700_000_000_000, 1_700_000_010_000
	s, err := p.snapshot()
	if err != nil {
		t.Fatal(err)
	}
	if err := writeCheckpoint(dir, s); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(checkpointPath(dir, s.seq))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}
