package list

import (
	"container/heap"

	"crest"
)

// mergeEntries returns the k largest of the reports' entries, and the largest count among those left out. The entries
// are copies: nothing of the reports is kept but strings.
func mergeEntries(reports []Report, k int) (top []crest.Entry, dropped uint64, err error) {
	h := make(heads, 0, len(reports))
	available := 0
	for i := range reports {
		if err := checkEntries(reports[i].Entries); err != nil {
			return nil, 0, err
		}
		if len(reports[i].Entries) > 0 {
			h = append(h, reports[i].Entries)
			available += len(reports[i].Entries)
		}
	}
	heap.Init(&h)
	top = make([]crest.Entry, 0, min(k, available))
	seen := make(map[string]struct{}, min(k, available))
	for len(h) > 0 && len(top) < k {
		e := &h[0][0]
		if _, twice := seen[e.ID]; twice {
			return nil, 0, crest.Errorf(crest.CodeMalformed, "entries", "have %q in two shards' reports", e.ID)
		}
		seen[e.ID] = struct{}{}
		top = append(top, crest.Entry{ID: e.ID, Title: e.Title, Thumbnail: e.Thumbnail, Count: e.Count, Error: e.Error})
		if h[0] = h[0][1:]; len(h[0]) == 0 {
			heap.Pop(&h)
		} else {
			heap.Fix(&h, 0)
		}
	}
	if len(h) > 0 {
		dropped = h[0][0].Count
	}
	return top, dropped, nil
}

// checkEntries reports what would make a merged list wrong without anybody noticing.
func checkEntries(entries []crest.Entry) error {
	for i := range entries {
		e := &entries[i]
		if e.Error > e.Count {
			return crest.Errorf(crest.CodeOutOfRange, "error", "of %q is %d, more than its count %d", e.ID, e.Error, e.Count)
		}
		if i > 0 && !before(&entries[i-1], e) {
			return crest.Errorf(crest.CodeMalformed, "entries", "of a report are not in order at %q", e.ID)
		}
	}
	return nil
}

// before is the order of a list: count descending, then id ascending by bytes.
func before(a, b *crest.Entry) bool {
	if a.Count != b.Count {
		return a.Count > b.Count
	}
	return a.ID < b.ID
}

// compareEntries is before, for sorting.
func compareEntries(a, b crest.Entry) int {
	switch {
	case before(&a, &b):
		return -1
	case before(&b, &a):
		return 1
	}
	return 0
}

// heads is a heap of the reports' remaining entries, the report with the next entry of the list first.
type heads [][]crest.Entry

func (h heads) Len() int           { return len(h) }
func (h heads) Less(i, j int) bool { return before(&h[i][0], &h[j][0]) }
func (h heads) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }

// Push is never called: a report is there from the beginning.
func (h *heads) Push(x any) { *h = append(*h, x.([]crest.Entry)) }

func (h *heads) Pop() any {
	last := len(*h) - 1
	x := (*h)[last]
	*h = (*h)[:last]
	return x
}
