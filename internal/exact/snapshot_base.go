package exact

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"crest"
	"crest/internal/counts"
	"crest/internal/list"
)

// baseEntry is a base that is made once.
type baseEntry struct {
	from crest.Millis
	mu   sync.Mutex
	base *list.Base
}

// Base implements list.Exact. The base of one board and moment is the same pointer each time. Of a board that some hour has
// not been counted for, as it was declared later or the hour had too many boards, From is after that hour. It is an error
// that there are too many boards in the window.
func (s *Snapshot) Base(board string, from crest.Millis) (*list.Base, error) {
	e := s.baseOf(board, from)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.base == nil {
		base, err := s.makeBase(board, from)
		if err != nil {
			return nil, err
		}
		e.base = base
	}
	return e.base, nil
}

// baseOf returns the place of a base. Of each board those are kept that were used last: a window has one beginning at a time,
// and soon another. Whoever asks knows the board from counting, so there are no more boards than are counted.
func (s *Snapshot) baseOf(board string, from crest.Millis) *baseEntry {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.bases[board]
	e := &baseEntry{from: from}
	if i := slices.IndexFunc(all, func(e *baseEntry) bool { return e.from == from }); i >= 0 {
		e = all[i]
		all = slices.Delete(all, i, i+1)
	}
	if len(all) > 2*len(s.config.Windows) {
		all = slices.Delete(all, 0, 1)
	}
	s.bases[strings.Clone(board)] = append(all, e)
	return e
}

func (s *Snapshot) makeBase(board string, from crest.Millis) (*list.Base, error) {
	base := &list.Base{From: from, Until: s.until}
	if s.until == 0 || from >= s.until {
		return base, nil
	}
	if since := s.boardSince(board); since > max(from, s.m.first()) {
		base.From = since
	}
	if base.From >= s.until {
		return base, nil
	}
	terms, err := s.termsOf(board, from)
	if err != nil {
		return nil, err
	}
	for _, t := range terms {
		if b, ok := t.table.Board(board); ok {
			base.Total = t.apply(base.Total, b.Count)
			base.Duplicates = t.apply(base.Duplicates, b.Duplicates)
		}
	}
	total, err := s.covering(board, from)
	if err != nil || total.candidates == nil {
		return base, err
	}
	found, rest, err := total.candidates.Board(board)
	if err != nil {
		return nil, err
	}
	base.Rest = rest
	base.Candidates, err = s.candidates(board, total, found, from, terms)
	return base, err
}

// candidates returns, by rank, what candidates of totals have over [from, until).
func (s *Snapshot) candidates(board string, total *openTotal, found []counts.Candidate, from crest.Millis, terms []term) ([]list.Candidate, error) {
	all := make([]list.Candidate, len(found))
	for i, c := range found {
		all[i] = list.Candidate{ID: c.ID, Count: c.Count}
	}
	switch {
	case total.Hours > 0:
		begin := total.begin()
		low, high := max(hoursBetween(begin, from), 0), total.Hours-hoursBetween(s.until, total.Until)
		for i, c := range found {
			all[i].Count = 0
			for _, n := range c.Hours[low:high] {
				all[i].Count += n
			}
		}
	case s.until < total.Until:
		ids := make([]string, len(all))
		for i, c := range all {
			ids[i] = c.ID
		}
		sums, err := lookUp(terms, board, ids)
		if err != nil {
			return nil, err
		}
		for i, n := range sums {
			all[i].Count = n
		}
	}
	all = slices.DeleteFunc(all, func(c list.Candidate) bool { return c.Count == 0 })
	slices.SortFunc(all, func(a, b list.Candidate) int { return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.ID, b.ID)) })
	return all, nil
}

// boardSince returns the start of the first hour from which on all have been counted for the shape of a board. Totals
// have nothing of the board that is before.
func (s *Snapshot) boardSince(board string) crest.Millis {
	return min(max(s.begins.of(shapeOf(board)), s.m.first()), s.until)
}

// Counts implements list.Exact.
func (s *Snapshot) Counts(board string, from crest.Millis, ids []string) ([]uint64, error) {
	if s.until == 0 || from >= s.until {
		return make([]uint64, len(ids)), nil
	}
	since := s.boardSince(board)
	if since >= s.until {
		return make([]uint64, len(ids)), nil
	}
	if from <= since {
		from = 0 // there is nothing before
	}
	terms, err := s.termsOf(board, from)
	if err != nil && from == 0 {
		terms, err = s.termsOf(board, since)
	}
	if err != nil {
		return nil, err
	}
	return lookUp(terms, board, ids)
}

// HourCounts reads what an hour in [First, Until) counts of items of a board, in their order; zero rows for those without.
func (s *Snapshot) HourCounts(hour crest.Millis, board string, items []string) ([]counts.Row, error) {
	h, err := s.counted(hour)
	if err != nil {
		return nil, err
	}
	if h.Counts == nil {
		return make([]counts.Row, len(items)), nil
	}
	t, held, err := s.tableOf(h)
	if err != nil {
		return nil, err
	}
	if !held {
		defer t.Close()
	}
	return t.Lookup(board, items)
}
