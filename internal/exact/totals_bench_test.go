package exact

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"crest"
	"crest/internal/counts"
	"crest/internal/durable"
	"crest/internal/exact/exacttest"
)

// Totals of 24 hours, each with items of its own beside those that every hour has, and of all time with one hour more.
func BenchmarkTotals(b *testing.B) {
	const items = 100_000 // an hour
	config := testConfig()
	config.Dir, config.Archive = b.TempDir(), b.TempDir()
	config.setDefaults()
	config.Candidates = defaultCandidates
	x := &round{config: &config, storage: durable.Disk{}, dir: config.Dir, old: &manifest{}, m: &manifest{}, stale: map[string]bool{}}
	random := rand.New(rand.NewPCG(1, 1))
	for h := range 25 {
		entry := hourEntry{hourCount: hourCount{Start: testHour.Add(time.Duration(h) * time.Hour), ID: fmt.Sprint(h)}}
		entry.Counts = &fileEntry{Name: fmt.Sprint("hour-", h, parquetSuffix)}
		w, err := counts.Create(filepath.Join(config.Dir, entry.Counts.Name))
		if err != nil {
			b.Fatal(err)
		}
		names := make([]string, items)
		for i := range names {
			n := uint64(i)
			if i > items/2 {
				n = random.Uint64()
			}
			names[i] = exacttest.Item(n)
		}
		slices.Sort(names)
		for _, name := range slices.Compact(names) {
			if err := w.Append(counts.Row{Board: "video", Item: name, Count: 1 + random.Uint64N(100)}); err != nil {
				b.Fatal(err)
			}
		}
		if entry.Counts.Info, err = w.Close(); err != nil {
			b.Fatal(err)
		}
		x.m.Hours = append(x.m.Hours, entry)
	}
	for _, w := range []crest.Window{{Name: "24h", Length: 24 * time.Hour}, {Name: "all"}} {
		b.Run(w.Name, func(b *testing.B) {
			config.Windows = []crest.Window{w}
			x.m.Until = x.m.end().Add(-time.Hour)
			x.old = &manifest{}
			if err := x.makeTotals(b.Context()); err != nil {
				b.Fatal(err)
			}
			x.old = x.m.clone()
			x.m.Until = x.m.end()
			rows := int64(0)
			for _, h := range x.m.between(x.m.end().Add(-24*time.Hour), x.m.end()) {
				rows += h.Counts.Rows
			}
			if w.AllTime() {
				rows = x.old.Totals[0].Counts.Rows + x.m.Hours[24].Counts.Rows
			}
			for b.Loop() {
				if err := x.makeTotals(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(rows)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mrows/s")
		})
	}
}
