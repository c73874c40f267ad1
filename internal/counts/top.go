package counts

import (
	"slices"
	"strings"
)

// Top selects the first n of a board by rank, while the board's rows go by in any order. It keeps n in a heap, the last of
// them on top.
type Top struct {
	n    int
	heap []Candidate
	rest uint64
}

// NewTop returns a selection of n, of none when n is not positive.
func NewTop(n int) *Top { return &Top{n: n} }

// Add takes an item in. It copies what it keeps. An item without a count is no candidate.
func (t *Top) Add(id string, count uint64, hours []uint64) {
	switch {
	case count == 0:
	case len(t.heap) < t.n:
		t.heap = append(t.heap, Candidate{strings.Clone(id), count, slices.Clone(hours)})
		t.up(len(t.heap) - 1)
	case len(t.heap) > 0 && RanksBefore(id, count, t.heap[0].ID, t.heap[0].Count):
		t.rest = max(t.rest, t.heap[0].Count)
		t.heap[0] = Candidate{strings.Clone(id), count, append(t.heap[0].Hours[:0], hours...)}
		t.down(0)
	default:
		t.rest = max(t.rest, count)
	}
}

// Take returns the selection by rank and the largest count that is not in it, and begins anew.
func (t *Top) Take() (list []Candidate, rest uint64) {
	list, rest = t.heap, t.rest
	t.heap, t.rest = nil, 0
	slices.SortFunc(list, func(a, b Candidate) int {
		if RanksBefore(a.ID, a.Count, b.ID, b.Count) {
			return -1
		}
		return 1
	})
	return list, rest
}

// after reports whether the i-th of the heap ranks after the j-th.
func (t *Top) after(i, j int) bool {
	return RanksBefore(t.heap[j].ID, t.heap[j].Count, t.heap[i].ID, t.heap[i].Count)
}

func (t *Top) up(i int) {
	for i > 0 && t.after(i, (i-1)/2) {
		t.heap[i], t.heap[(i-1)/2] = t.heap[(i-1)/2], t.heap[i]
		i = (i - 1) / 2
	}
}

func (t *Top) down(i int) {
	for {
		last := i
		for child := 2*i + 1; child <= min(2*i+2, len(t.heap)-1); child++ {
			if t.after(child, last) {
				last = child
			}
		}
		if last == i {
			return
		}
		t.heap[i], t.heap[last] = t.heap[last], t.heap[i]
		i = last
	}
}

// RanksBefore is the order of ranks: count descending, then id ascending by bytes.
func RanksBefore(id1 string, count1 uint64, id2 string, count2 uint64) bool {
	return count1 > count2 || count1 == count2 && id1 < id2
}
