package list

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"crest"
)

var all = crest.Window{Name: "all"}

// fakeExact has the exact counts of one board.
type fakeExact struct {
	counts map[string]uint64
	broken bool
	reads  int
}

func (f *fakeExact) Reach() Reach                             { return Reach{} }
func (f *fakeExact) Cuts(crest.Millis) []Cut                  { return nil }
func (f *fakeExact) Base(string, crest.Millis) (*Base, error) { return nil, nil }
func (f *fakeExact) Counts(_ string, _ crest.Millis, ids []string) ([]uint64, error) {
	f.reads += len(ids)
	if f.broken {
		return nil, errors.New("damaged")
	}
	counts := make([]uint64, len(ids))
	for i, id := range ids {
		counts[i] = f.counts[id]
	}
	return counts, nil
}

// part is the truth of one shard's items.
type part struct{ exact, open, late map[string]uint64 }

func (p part) truth() map[string]uint64 {
	sum := maps.Clone(p.exact)
	for _, m := range []map[string]uint64{p.open, p.late} {
		for id, n := range m {
			sum[id] += n
		}
	}
	return sum
}

// stitched is a random world of exact, open and late weights, and what the shards and the recount say of it.
type stitched struct {
	truth   map[string]uint64
	exact   *fakeExact
	base    *Base
	reports []Report
	total   uint64
}

func randomWorld(r *rand.Rand, k int) stitched {
	shards := 1 + r.IntN(5)
	w := stitched{truth: map[string]uint64{}, exact: &fakeExact{counts: map[string]uint64{}, broken: r.IntN(4) == 0}, base: &Base{Until: 3_600_000}}
	parts := make([]part, shards)
	for i := range parts {
		parts[i] = part{map[string]uint64{}, map[string]uint64{}, map[string]uint64{}}
		for j := range r.IntN(30) {
			id := fmt.Sprintf("%d-%d", j, i)
			add := func(to map[string]uint64, likely, most int) {
				if r.IntN(4) < likely {
					n := uint64(1 + r.IntN(most))
					to[id] += n
					w.truth[id] += n
					w.total += n
				}
			}
			add(parts[i].exact, 3, 60)
			add(parts[i].open, 2, 40)
			add(parts[i].late, 1, 3)
			if n := parts[i].exact[id]; n > 0 {
				w.exact.counts[id] = n
			}
		}
	}
	var counted []Candidate
	for id, n := range w.exact.counts {
		counted = append(counted, Candidate{id, n})
		w.base.Total += n
	}
	slices.SortFunc(counted, func(a, b Candidate) int {
		return compareEntries(crest.Entry{ID: a.ID, Count: a.Count}, crest.Entry{ID: b.ID, Count: b.Count})
	})
	if most := 1 + r.IntN(40); len(counted) > most {
		w.base.Rest = counted[most].Count
		counted = counted[:most]
	}
	w.base.Candidates = counted
	for i, p := range parts {
		w.reports = append(w.reports, p.report(r, i, k, counted))
	}
	return w
}

// report is what a shard says of the open part: never too little, and too much by at most the error.
func (p part) report(r *rand.Rand, number, k int, candidates []Candidate) Report {
	rep := Report{Shard: number, Board: crest.Board{Type: "video"}, Window: all, AsOf: t0}
	var entries []crest.Entry
	over := map[string]uint64{}
	for id, n := range p.open {
		over[id] = uint64(r.IntN(5))
		entries = append(entries, crest.Entry{ID: id, Count: n + over[id], Error: over[id] + uint64(r.IntN(2))*n/2})
		rep.Total += n
	}
	for i := range entries {
		entries[i].Error = min(entries[i].Error, entries[i].Count)
	}
	slices.SortFunc(entries, compareEntries)
	if len(entries) > k {
		rep.Cutoff = entries[k].Count
	}
	rep.LateItems = map[string]uint64{}
	for id, n := range p.late {
		if r.IntN(2) == 0 {
			rep.LateRest += n
		} else {
			rep.LateItems[id] = n
		}
	}
	for id := range p.truth() {
		_, late := rep.LateItems[id]
		if !late && !slices.ContainsFunc(candidates, func(c Candidate) bool { return c.ID == id }) {
			continue
		}
		e := crest.Entry{ID: id, Count: rep.Cutoff, Error: rep.Cutoff} // not monitored
		if i := slices.IndexFunc(entries, func(e crest.Entry) bool { return e.ID == id }); i >= 0 {
			e = entries[i]
		}
		rep.Also = append(rep.Also, e)
	}
	rep.Entries = entries[:min(k, len(entries))]
	return rep
}

// TestStitchedListsHoldTheTruth checks rules 1 to 3 of the design on random worlds: bounds, cutoff and proven ranks.
func TestStitchedListsHoldTheTruth(t *testing.T) {
	proven := 0
	for seed := range uint64(5000) {
		r := rand.New(rand.NewPCG(seed, 5))
		k := 1 + r.IntN(15)
		w := randomWorld(r, k)
		problems := 0
		l, err := Stitch(w.reports, len(w.reports), w.exact, w.base, Params{K: k, Problem: func(error) { problems++ }})
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if l.Total != w.total {
			t.Fatalf("seed %d: total %d, want %d", seed, l.Total, w.total)
		}
		if l.ExactUntil != w.base.Until || len(l.Top) > k || w.exact.broken && w.exact.reads > 0 && problems == 0 {
			t.Fatalf("seed %d: exact until %d, %d entries, %d problems", seed, l.ExactUntil, len(l.Top), problems)
		}
		listed := map[string]bool{}
		for _, e := range l.Top {
			listed[e.ID] = true
			if n := w.truth[e.ID]; n > e.Count || n < e.Count-e.Error {
				t.Fatalf("seed %d: %s has %d, listed with %d and an error of %d", seed, e.ID, n, e.Count, e.Error)
			}
		}
		for id, n := range w.truth {
			if !listed[id] && n > l.Cutoff {
				t.Fatalf("seed %d: %s has %d, above the cutoff of %d, and is not listed", seed, id, n, l.Cutoff)
			}
		}
		checkProven(t, seed, &l, w.truth)
		proven += l.Proven
	}
	if proven == 0 {
		t.Error("no rank was ever proven")
	}
}

func checkProven(t *testing.T, seed uint64, l *crest.List, truth map[string]uint64) {
	t.Helper()
	var order []crest.Entry
	for id, n := range truth {
		order = append(order, crest.Entry{ID: id, Count: n})
	}
	slices.SortFunc(order, compareEntries)
	for i := range l.Proven {
		if order[i].ID != l.Top[i].ID {
			t.Fatalf("seed %d: rank %d of %d proven is %s, truly %s", seed, i+1, l.Proven, l.Top[i].ID, order[i].ID)
		}
	}
}

func TestStitchWithNothingOpenIsExact(t *testing.T) {
	base := &Base{From: 3_600_000, Until: 7_200_000, Total: 100, Candidates: []Candidate{{"a", 60}, {"b", 30}, {"c", 0}}}
	report := Report{Board: crest.Board{Type: "video"}, Window: hour, AsOf: t0, Also: []crest.Entry{{ID: "a"}, {ID: "b"}, {ID: "c"}}}
	l, err := Stitch([]Report{report}, 1, &fakeExact{}, base, Params{K: 10})
	if err != nil {
		t.Fatal(err)
	}
	if len(l.Top) != 2 || l.MaxOverCount != 0 || l.Proven != 2 || l.Cutoff != 0 || l.Other != 10 {
		t.Errorf("%+v", l)
	}
	report.Also = report.Also[:2]
	if _, err := Stitch([]Report{report}, 1, &fakeExact{}, base, Params{K: 10}); crest.CodeOf(err) != crest.CodeNotReady {
		t.Errorf("a candidate that no shard speaks of: %v", err)
	}
	if _, err := Stitch([]Report{report}, 2, &fakeExact{}, base, Params{K: 10}); crest.CodeOf(err) != crest.CodeNotReady {
		t.Errorf("a missing shard: %v", err)
	}
}

func TestOnlyExact(t *testing.T) {
	base := &Base{From: 3_600_000, Until: 90_000_000, Total: 100, Duplicates: 2, Rest: 5, Candidates: []Candidate{{"a", 60}, {"b", 30}, {"c", 9}}}
	l, err := OnlyExact(crest.Board{Type: "video"}, crest.Window{Name: "24h", Length: 24 * hour.Length, Bucket: hour.Length}, base, Params{K: 2})
	if err != nil {
		t.Fatal(err)
	}
	if l.AsOf != base.Until || l.ExactUntil != base.Until || l.From != base.From || l.Cutoff != 9 || l.Proven != 2 || l.Duplicates != 2 || l.Other != 10 {
		t.Errorf("%+v", l)
	}
}
