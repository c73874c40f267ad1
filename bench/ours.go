package bench

import (
	"cmp"
	"slices"

	"crest/sketch"
)

// SummaryName is the row that the claims are about: one summary, one update at a time, as a library is used.
const SummaryName = "crest summary"

// shards is how many summaries the grouped row spreads keys over, as many as the views preset has.
const shards = 64

// groupedScratch is what ordering one batch takes: a hash and a position for each key.
const groupedScratch = batchSize * (8 + 4)

func ours() []Contender {
	return []Contender{
		{Name: SummaryName, Certifies: true, New: newSummary},
		{Name: "crest 64 summaries, grouped", Certifies: true, New: newGrouped},
	}
}

// single is a counter of package sketch, fed key by key.
type single struct{ counter sketch.Counter }

func newSummary(budget, _ int) (Counter, error) {
	s, err := sketch.New(sketch.Config{Memory: budget})
	return single{s}, err
}

func (s single) Add(keys []string) {
	for _, k := range keys {
		s.counter.Add(k, 1)
	}
}

func (s single) Top(k int) []Entry { return entriesOf(s.counter.Top(k)) }

func entriesOf(top []sketch.Entry) []Entry {
	out := make([]Entry, len(top))
	for i, e := range top {
		out[i] = Entry{Key: e.Key, Count: e.Count, Error: e.Error}
	}
	return out
}

// grouped spreads keys over summaries by hash, as Crest's shards do: a batch is ordered by summary first, so that each
// summary is in the cache while it gets its share. Hashing and ordering are part of the measured time.
type grouped struct {
	summaries []*sketch.Summary
	hashes    []uint64
	order     []int32
}

func newGrouped(budget, _ int) (Counter, error) {
	g := &grouped{summaries: make([]*sketch.Summary, shards)}
	for i := range g.summaries {
		s, err := sketch.New(sketch.Config{Memory: (budget - groupedScratch) / shards})
		if err != nil {
			return nil, err
		}
		g.summaries[i] = s
	}
	return g, nil
}

func shardOf(hash uint64) int { return int(hash >> 32 * shards >> 32) }

func (g *grouped) Add(keys []string) {
	g.hashes = slices.Grow(g.hashes[:0], len(keys))[:len(keys)]
	g.order = slices.Grow(g.order[:0], len(keys))[:len(keys)]
	var starts [shards + 1]int
	for i, k := range keys {
		h := sketch.Hash(k)
		g.hashes[i] = h
		starts[shardOf(h)+1]++
	}
	for i := range shards {
		starts[i+1] += starts[i]
	}
	ends := starts
	for i, h := range g.hashes {
		s := shardOf(h)
		g.order[ends[s]] = int32(i)
		ends[s]++
	}
	for s, summary := range g.summaries {
		for _, i := range g.order[starts[s]:ends[s]] {
			summary.AddHash(g.hashes[i], keys[i], 1)
		}
	}
}

func (g *grouped) Top(k int) []Entry {
	var all []sketch.Entry
	for _, s := range g.summaries {
		all = append(all, s.Top(k)...)
	}
	slices.SortFunc(all, func(a, b sketch.Entry) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Key, b.Key))
	})
	return entriesOf(all[:min(k, len(all))])
}
