package list

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"crest"
)

// hour and allTime are the windows of most tests; t0 lies on the boundary of a bucket.
var (
	hour    = crest.Window{Name: "1h", Length: time.Hour, Bucket: time.Minute, Refresh: time.Minute}
	minute  = crest.Window{Name: "1m", Length: time.Minute, Bucket: 10 * time.Second, Refresh: 10 * time.Second}
	allTime = crest.Window{Name: "all", Refresh: time.Minute}
	t0      = crest.MillisOf(time.Date(2026, 11, 30, 10, 42, 0, 0, time.UTC))
)

// testReports makes full reports of counts that differ widely, the same for the same seed.
func testReports(seed uint64, shards, k int) []Report {
	r := rand.New(rand.NewPCG(seed, 1))
	reports := make([]Report, shards)
	for s := range reports {
		entries := make([]crest.Entry, k)
		total := uint64(0)
		for i := range entries {
			count := 1 + uint64(1e6*r.ExpFloat64()*r.Float64())
			entries[i] = crest.Entry{ID: fmt.Sprintf("v%02d-%08x", s, r.Uint32()), Count: count, Error: uint64(r.IntN(int(min(count, 600)) + 1))}
			total += count
		}
		slices.SortFunc(entries, func(a, b crest.Entry) int { return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.ID, b.ID)) })
		reports[s] = Report{
			Shard: s, Board: crest.Board{Type: "video"}, Window: hour, AsOf: t0, Entries: entries,
			Cutoff: entries[k-1].Count / 2, Total: total + total/4, Late: uint64(s), Duplicates: 2 * uint64(s),
		}
	}
	return reports
}

// testList makes a full list of k entries.
func testList(k int) *crest.List {
	l, err := Merge(testReports(7, 8, k), 8, Params{K: k, GeneratedAt: t0 + 400})
	if err != nil {
		panic(err)
	}
	return &l
}
