package exact

import (
	"context"

	"crest"
	"crest/internal/counts"
)

// term is a table whose numbers are added, or taken away.
type term struct {
	table    *counts.Table
	subtract bool
}

func (t *term) apply(sum, n uint64) uint64 {
	if t.subtract {
		return sum - n
	}
	return sum + n
}

// covering returns the totals, of the shortest window, that all of [from, until) of a board is in; from 0 means all time.
func (s *Snapshot) covering(board string, from crest.Millis) (*openTotal, error) {
	var best *openTotal
	wide := false
	for i := range s.m.Totals {
		t := s.totals[s.m.Totals[i].Window]
		if t != nil && t.Wide && isNarrow(board) {
			wide, t = true, nil
		}
		if t == nil || from == 0 && t.Hours > 0 || t.Hours > 0 && t.begin() > from {
			continue
		}
		if from > s.m.first() && t.Hours == 0 {
			continue // it has hours before
		}
		if best == nil || best.Hours == 0 || t.Hours > 0 && t.Hours < best.Hours {
			best = t
		}
	}
	if best == nil && wide {
		return nil, crest.Errorf(crest.CodeNotReady, "window", "there are more than %d narrowed boards from %s on: list the values that dimensions may have",
			s.config.maxNarrow, fromText(from))
	}
	if best == nil {
		return nil, crest.Errorf(crest.CodeNotReady, "window", "there are no totals of the hours from %s on, or they are damaged", fromText(from))
	}
	return best, nil
}

func fromText(from crest.Millis) string {
	if from == 0 {
		return "the first"
	}
	return hourText(from)
}

// termsOf returns tables whose sum has a board's hours [from, until), from 0 all, as far as they are not before its beginning:
// few, as each is read.
func (s *Snapshot) termsOf(board string, from crest.Millis) ([]term, error) {
	if from%crest.Millis(hourLength.Milliseconds()) != 0 {
		return nil, crest.Errorf(crest.CodeOutOfRange, "from", "is not the start of an hour")
	}
	total, err := s.covering(board, from)
	if from == 0 {
		if err != nil {
			return nil, err
		}
		return s.allTerms(board, total)
	}
	since := s.boardSince(board)
	single, whole := s.hourTerms(max(from, since), s.until, false)
	if err == nil && total.Hours > 0 && s.until == s.m.Until {
		gone, ok := s.hourTerms(max(total.From, since), from, true)
		if ok && (!whole || len(gone)+1 < len(single)) {
			return append(gone, total.terms()...), nil
		}
	}
	switch {
	case whole:
		return single, nil
	case err != nil:
		return nil, err
	case from <= s.m.first():
		return s.allTerms(board, total)
	}
	return nil, crest.Errorf(crest.CodeOutOfRange, "from", "%s is before the hours that windows are made of", hourText(from))
}

// allTerms returns what makes up all hours of a board before until, out of the totals of all time.
func (s *Snapshot) allTerms(board string, total *openTotal) ([]term, error) {
	if s.until == total.Until {
		return total.terms(), nil
	}
	// An hour is damaged. What lies before it is all, less a window that it is in, with those of the window that are before.
	for i := range s.m.Totals {
		w := s.totals[s.m.Totals[i].Window]
		if w == nil || w.Hours == 0 || w.From > s.until || w.Wide && isNarrow(board) {
			continue
		}
		if before, ok := s.hourTerms(max(w.From, s.boardSince(board)), s.until, false); ok {
			terms := append(total.terms(), before...)
			for _, t := range w.terms() {
				terms = append(terms, term{t.table, true})
			}
			return terms, nil
		}
	}
	return nil, crest.Errorf(crest.CodeNotReady, "window", "hour %s is damaged", hourText(s.until))
}

func (t *openTotal) terms() []term {
	if t.counts == nil {
		return nil
	}
	return []term{{t.counts, false}}
}

// hourTerms returns the hours of [from, until) that have events, false when one of them isn't open.
func (s *Snapshot) hourTerms(from, until crest.Millis, subtract bool) ([]term, bool) {
	var terms []term
	for _, h := range s.m.between(max(from, s.m.first()), until) {
		if h.Counts == nil {
			continue
		}
		open := s.hours[h.Start]
		if open == nil {
			return nil, false
		}
		terms = append(terms, term{open.counts, subtract})
	}
	return terms, true
}

// lookUp sums what the terms have of items, reading several tables at once.
func lookUp(terms []term, board string, ids []string) ([]uint64, error) {
	rows := make([][]counts.Row, len(terms))
	err := each(context.Background(), lookUps, len(terms), func(_ context.Context, _, i int) (err error) {
		rows[i], err = terms[i].table.Lookup(board, ids)
		return err
	})
	if err != nil {
		return nil, err
	}
	sums := make([]uint64, len(ids))
	for i, t := range terms {
		for j, row := range rows[i] {
			sums[j] = t.apply(sums[j], row.Count)
		}
	}
	return sums, nil
}

// lookUps is how many tables are read at once.
const lookUps = 4
