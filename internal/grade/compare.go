package grade

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"crest"
	"crest/internal/counts"
)

// wellKnown is the n of the recall that every list is graded by, whatever its K.
const wellKnown = 100

// leastRecall is the recall@100 below which a grade fails.
const leastRecall = 0.99

// Comparison compares one list with the truth, an item at a time. It keeps the list and as many of the true top as the
// list could have entries, whatever the number of items. It is used by one goroutine.
type Comparison struct {
	list   *crest.List
	listed map[string]int // place in the list by id
	truths []uint64       // of the entries
	again  []uint64       // repeats of the entries
	top    *counts.Top    // the true top K
	absent Finding        // the item off the list that has most
	grade  Grade
}

// Compare begins a comparison with a list, which must not change meanwhile.
func Compare(l *crest.List) *Comparison {
	c := &Comparison{
		list: l, listed: make(map[string]int, len(l.Top)),
		truths: make([]uint64, len(l.Top)), again: make([]uint64, len(l.Top)), top: counts.NewTop(l.K),
	}
	for i := range l.Top {
		c.listed[l.Top[i].ID] = i
	}
	c.grade = Grade{
		AsOf: l.AsOf.Time(), Board: l.Board, Window: l.Window, Version: l.Version,
		K: l.K, Entries: len(l.Top), MaxOverCount: l.MaxOverCount, Cutoff: l.Cutoff, Proven: l.Proven,
	}
	return c
}

// Add takes in the true count of an item of the list's board, and the weight that the recount dropped of it as sent
// before. Each item must come once at most, in any order; one that never comes has a truth of 0.
func (c *Comparison) Add(id string, truth, repeats uint64) {
	c.grade.Repeats += repeats
	i, listed := c.listed[id]
	if listed {
		c.truths[i], c.again[i] = truth, repeats
	}
	if truth == 0 {
		return
	}
	c.grade.Items++
	c.grade.Total += truth
	c.top.Add(id, truth, nil)
	if listed {
		return
	}
	if truth > c.list.Cutoff {
		c.grade.AboveCutoff++
	}
	if counts.RanksBefore(id, truth, c.absent.ID, c.absent.Truth) {
		c.absent = Finding{Fault: FaultAboveCutoff, ID: strings.Clone(id), Count: c.list.Cutoff, Truth: truth, Repeats: repeats}
	}
}

// Grade ends the comparison. since is the moment before which the list lacks what was received, 0 when it lacks nothing:
// what it promises of its counts from below, and so of its ranks and of what is not on it, can't be held against such a list.
func (c *Comparison) Grade(since crest.Millis) Grade {
	g := &c.grade
	truly, _ := c.top.Take()
	examples := map[Fault]Finding{FaultAboveCutoff: c.absent}
	show := func(f Finding, fault Fault) {
		if _, shown := examples[fault]; !shown {
			f.Fault = fault
			examples[fault] = f
		}
	}
	for _, f := range c.wrongRanks() {
		g.WrongRanks++
		show(f, FaultWrongRank)
	}
	g.Recall100 = c.recall(wellKnown, truly)
	g.RecallK = c.recall(c.list.K, truly)
	displaced := 0
	for i := range c.list.Top {
		f := c.finding(i)
		switch over := f.Over(); {
		case f.Count < f.Truth:
			g.BelowTruth++
			show(f, FaultBelowTruth)
		case over == 0:
			g.Exact++
		case over > f.Error && over-f.Error > f.Repeats:
			g.AboveError++
			show(f, FaultAboveError)
		}
		if f.Over() > g.LargestOverCount.Over() {
			g.LargestOverCount = f
		}
		d := displacement(i+1, f.Truth, truly)
		displaced += d
		g.MaxDisplacement = max(g.MaxDisplacement, d)
	}
	if len(c.list.Top) > 0 {
		g.MeanDisplacement = float64(displaced) / float64(len(c.list.Top))
	}
	if since != 0 {
		g.Since = since.Time()
	}
	c.judge(examples)
	return *g
}

// finding returns the list's entry of that place.
func (c *Comparison) finding(i int) Finding {
	e := &c.list.Top[i]
	return Finding{Rank: i + 1, ID: e.ID, Count: e.Count, Error: e.Error, Truth: c.truths[i], Repeats: c.again[i]}
}

// wrongRanks returns the proven entries that stand before an item which has certainly more, on the list or off it. What was sent
// again may have counted, so an entry has its truth and its repeats at most.
func (c *Comparison) wrongRanks() []Finding {
	var wrong []Finding
	best, has := c.absent.ID, c.absent.Truth // of those behind
	for i, e := range slices.Backward(c.list.Top) {
		most := c.truths[i] + c.again[i]
		if i < c.list.Proven && has > 0 && counts.RanksBefore(best, has, e.ID, most) {
			wrong = append(wrong, c.finding(i))
		}
		if counts.RanksBefore(e.ID, c.truths[i], best, has) {
			best, has = e.ID, c.truths[i]
		}
	}
	slices.Reverse(wrong)
	return wrong
}

// recall looks for the true top n among the first n of the list.
func (c *Comparison) recall(n int, truly []counts.Candidate) Recall {
	n = min(n, len(truly)) // truly has K at most, or all items there are
	if n == 0 {
		return Recall{}
	}
	r := Recall{Of: n}
	for _, truth := range c.truths[:min(n, len(c.truths))] {
		if truth >= truly[n-1].Count {
			r.Found++
		}
	}
	return r
}

// displacement returns how many ranks lie between an entry's place and its true one. Items of one true count may be in any
// order, so the nearest of their ranks counts.
func displacement(rank int, truth uint64, truly []counts.Candidate) int {
	first, last := place(truly, truth)
	return max(0, first-rank, rank-last)
}

// place returns the ranks that an item of a true count can have among the sorted top: more than one when others tie, and
// any after the last for what is not among them.
func place(sorted []counts.Candidate, count uint64) (first, last int) {
	first, _ = slices.BinarySearchFunc(sorted, count, func(c counts.Candidate, count uint64) int { return cmp.Compare(count, c.Count) })
	if first == len(sorted) {
		return first + 1, math.MaxInt
	}
	last, _ = slices.BinarySearchFunc(sorted, count, func(c counts.Candidate, count uint64) int {
		if c.Count >= count {
			return -1
		}
		return 1
	})
	return first + 1, last
}

// judge notes which promises are broken, and an example of each.
func (c *Comparison) judge(examples map[Fault]Finding) {
	g := &c.grade
	g.Faults, g.Examples = []Fault{}, []Finding{}
	lacking := !g.Since.Equal(time.Time{})
	for _, fault := range []struct {
		name   Fault
		broken bool
	}{
		{FaultRecall, g.Recall100.Share() < leastRecall && !lacking},
		{FaultBelowTruth, g.BelowTruth > 0 && !lacking},
		{FaultAboveError, g.AboveError > 0},
		{FaultAboveCutoff, g.AboveCutoff > 0 && !lacking},
		{FaultWrongRank, g.WrongRanks > 0 && !lacking},
	} {
		if !fault.broken {
			continue
		}
		g.Faults = append(g.Faults, fault.name)
		if example, ok := examples[fault.name]; ok {
			g.Examples = append(g.Examples, example)
		}
	}
}
