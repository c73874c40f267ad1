package exact

import (
	"strings"

	"crest/internal/counts"
)

// selection selects the candidates of each board while the rows of totals go by.
type selection struct {
	out   *counts.CandidateWriter
	top   *counts.Top
	board string
	hours []uint64
}

func newSelection(n int, out *counts.CandidateWriter) *selection {
	return &selection{out: out, top: counts.NewTop(n)}
}

// add takes a row, with its count of each hour of the window.
func (s *selection) add(row counts.Row, hours []uint64) error {
	if row.Board != s.board {
		if err := s.end(); err != nil {
			return err
		}
		s.board = strings.Clone(row.Board)
	}
	s.top.Add(row.Item, row.Count, hours)
	return nil
}

// end writes the candidates of the board that ends.
func (s *selection) end() error {
	list, rest := s.top.Take()
	if len(list) == 0 {
		return nil
	}
	return s.out.AppendBoard(s.board, list, rest)
}

// hoursOf spreads the counts by input, which are of the hours that have events, over all hours of the window. The result is
// valid until the next call.
func (s *selection) hoursOf(t *totalEntry, hours []hourEntry, byInput []uint64) []uint64 {
	if len(byInput) == t.Hours {
		return byInput
	}
	if s.hours == nil {
		s.hours = make([]uint64, t.Hours)
	}
	begin := t.begin()
	for i, h := range hours {
		s.hours[hoursBetween(begin, h.Start)] = byInput[i]
	}
	return s.hours
}
