package grade

import (
	"cmp"
	"container/heap"
	"math"
	"slices"
	"strings"
)

// item is an item with its true count.
type item struct {
	id    string
	count uint64
}

// compareItems is the order of a list: count descending, then id ascending by bytes.
func compareItems(a, b item) int {
	return cmp.Or(cmp.Compare(b.count, a.count), cmp.Compare(a.id, b.id))
}

// top keeps the first k items of all that it is given: a heap with the last of them at its root.
type top struct {
	k     int
	items []item
}

// add takes in an item. It keeps a copy of the id, which may share its memory with many others.
func (t *top) add(id string, count uint64) {
	switch {
	case len(t.items) < t.k:
		heap.Push(t, item{strings.Clone(id), count})
	case t.k > 0 && compareItems(item{id, count}, t.items[0]) < 0:
		t.items[0] = item{strings.Clone(id), count}
		heap.Fix(t, 0)
	}
}

// descending returns the items in the order of a list. Nothing may be added from then on.
func (t *top) descending() []item {
	slices.SortFunc(t.items, compareItems)
	return t.items
}

func (t *top) Len() int           { return len(t.items) }
func (t *top) Less(i, j int) bool { return compareItems(t.items[i], t.items[j]) > 0 }
func (t *top) Swap(i, j int)      { t.items[i], t.items[j] = t.items[j], t.items[i] }

// Push is for package heap.
func (t *top) Push(x any) { t.items = append(t.items, x.(item)) }

// Pop is for package heap.
func (t *top) Pop() any {
	last := t.items[len(t.items)-1]
	t.items = t.items[:len(t.items)-1]
	return last
}

// place returns the ranks that an item of a true count can have among the sorted top: more than one when others tie, and
// any after the last for what is not among them.
func place(sorted []item, count uint64) (first, last int) {
	first, _ = slices.BinarySearchFunc(sorted, count, func(it item, count uint64) int { return cmp.Compare(count, it.count) })
	if first == len(sorted) {
		return first + 1, math.MaxInt
	}
	last, _ = slices.BinarySearchFunc(sorted, count, func(it item, count uint64) int {
		if it.count >= count {
			return -1
		}
		return 1
	})
	return first + 1, last
}
