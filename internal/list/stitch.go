package list

import (
	"cmp"
	"slices"

	"crest"
)

// maxReads bounds the point reads of one list. What is not read keeps the bound that holds for every item that is no
// candidate.
const maxReads = 5000

// Stitch makes the list of a board and window whose hours up to base.Until have been counted exactly. The reports are of
// the rest of the window, and of what came for the exact hours after they had been counted. An item's truth lies between
//
//	exact + (count - error)   and   exact + count + late
//
// where late is the item's late weight, and all of its shard's of which nothing tells whose it is. Late weight is no part of
// the lower bound: it may have been sent before. Beside the candidates, Stitch reads the exact counts of those items that
// the rest of the window could put on the list. Like [Merge], it refuses to do without a shard.
func Stitch(reports []Report, shards int, exact Exact, base *Base, p Params) (crest.List, error) {
	if err := checkComplete(reports, shards, p); err != nil {
		return crest.List{}, err
	}
	first := &reports[0]
	l := begin(first.Board, first.Window, first.AsOf, p)
	l.ExactUntil = base.Until
	l.Total, l.Duplicates = base.Total, base.Duplicates
	s := seam{base: base, scored: make([]crest.Entry, 0, len(base.Candidates)+p.K)}
	counts := make(map[string]uint64, len(base.Candidates))
	for _, c := range base.Candidates {
		counts[c.ID] = c.Count
	}
	for i := range reports {
		r := &reports[i]
		if err := checkEntries(r.Entries); err != nil {
			return crest.List{}, err
		}
		l.addTotals(r)
		l.Total += r.LateRest
		for _, n := range r.LateItems {
			l.Total += n
		}
		l.Cutoff = max(l.Cutoff, r.Cutoff+base.Rest+r.LateRest)
		s.add(r, counts)
	}
	if n := len(s.scored); n != len(base.Candidates) {
		return crest.List{}, crest.Errorf(crest.CodeNotReady, "reports", "have %d of %d candidates", n, len(base.Candidates))
	}
	if first.Window.AllTime() {
		l.Late = 0 // however old, it is counted as late weight
	}
	l.Cutoff = max(l.Cutoff, s.readRisers(exact, l.Board, p))
	l.take(s.scored, p.K)
	return l.finish(first.Window, p)
}

// OnlyExact makes the list of a window that ends with its last exact hour, for when there are no estimates.
func OnlyExact(board crest.Board, w crest.Window, base *Base, p Params) (crest.List, error) {
	l := begin(board, w, base.Until, p)
	l.ExactUntil = base.Until
	l.Total, l.Duplicates, l.Cutoff = base.Total, base.Duplicates, base.Rest
	entries := make([]crest.Entry, len(base.Candidates))
	titles := map[string]string{} // exact counts don't know how items are mostly spelled
	if p.Previous != nil {
		for i := range p.Previous.Top {
			titles[p.Previous.Top[i].ID] = p.Previous.Top[i].Title
		}
	}
	for i, c := range base.Candidates {
		entries[i] = crest.Entry{ID: c.ID, Count: c.Count, Title: titles[c.ID]}
	}
	l.take(entries, p.K)
	return l.finish(w, p)
}

// take puts the best of the entries on the list, and the next one into its cutoff.
func (l *draft) take(entries []crest.Entry, k int) {
	slices.SortFunc(entries, compareEntries)
	if len(entries) > k {
		l.Cutoff = max(l.Cutoff, entries[k].Count)
		entries = entries[:k]
	}
	for len(entries) > 0 && entries[len(entries)-1].Count == 0 {
		entries = entries[:len(entries)-1] // candidates of hours that have left the window
	}
	l.Top = slices.Clone(entries)
}

// seam is where exact counts and estimates are joined.
type seam struct {
	base   *Base
	scored []crest.Entry // with bounds over the whole window
	rising []riser
}

// riser is an item that is no candidate, but that the rest of the window counts.
type riser struct {
	crest.Entry        // of the rest of the window
	late        uint64 // that it can have in the exact hours
}

// joined returns what holds for an item over the whole window, when over the exact hours it has low to high.
func joined(open crest.Entry, late, low, high uint64) crest.Entry {
	count := high + open.Count + late
	return crest.Entry{ID: open.ID, Title: open.Title, Count: count, Error: count - (low + open.Count - open.Error)}
}

// add scores the candidates of a report, and collects what else it has.
func (s *seam) add(r *Report, counts map[string]uint64) {
	asked := make(map[string]struct{}, len(r.Also))
	for _, e := range r.Also {
		asked[e.ID] = struct{}{}
		late := r.LateItems[e.ID] + r.LateRest
		if n, ok := counts[e.ID]; ok {
			s.scored = append(s.scored, joined(e, late, n, n))
		} else {
			s.rising = append(s.rising, riser{e, late})
		}
	}
	for _, e := range r.Entries {
		if _, twice := asked[e.ID]; !twice {
			s.rising = append(s.rising, riser{e, r.LateRest})
		}
	}
}

// readRisers reads the exact counts of the risers that can be on the list, and scores them. It returns what the others
// can have at most.
func (s *seam) readRisers(exact Exact, board string, p Params) (others uint64) {
	needed := s.kthLower(p.K)
	var read []riser
	for _, r := range s.rising {
		switch most := r.Count + s.base.Rest + r.late; {
		case s.base.Rest == 0:
			s.scored = append(s.scored, joined(r.Entry, r.late, 0, 0))
		case most < needed:
			others = max(others, most)
		default:
			read = append(read, r)
		}
	}
	slices.SortFunc(read, func(a, b riser) int {
		return cmp.Or(cmp.Compare(b.Count+b.late, a.Count+a.late), cmp.Compare(a.ID, b.ID))
	})
	ids := make([]string, min(len(read), maxReads))
	for i := range ids {
		ids[i] = read[i].ID
	}
	var counts []uint64
	if len(ids) > 0 {
		var err error
		if counts, err = exact.Counts(board, s.base.From, ids); err != nil && p.Problem != nil {
			p.Problem(err)
		}
	}
	for i, r := range read {
		if i < len(counts) {
			s.scored = append(s.scored, joined(r.Entry, r.late, counts[i], counts[i]))
		} else {
			s.scored = append(s.scored, joined(r.Entry, r.late, 0, s.base.Rest))
		}
	}
	return others
}

// kthLower returns the k-th largest lower bound of the items scored so far: what has less can't be on the list.
func (s *seam) kthLower(k int) uint64 {
	if len(s.scored) < k {
		return 0
	}
	lower := make([]uint64, len(s.scored))
	for i, e := range s.scored {
		lower[i] = e.Count - e.Error
	}
	slices.Sort(lower)
	return lower[len(lower)-k]
}
