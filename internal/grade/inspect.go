package grade

import (
	"context"
	"errors"
	"fmt"
	"time"

	"crest"
	"crest/internal/counts"
)

// Why a grade is missing, for people who read it over HTTP; the operator is told more.
const (
	reasonNoList  = "no list of this moment was published"
	reasonDamaged = "what was kept of the list is damaged"
	reasonNoTruth = "the exact counts of this time could not be read"
	reasonNoBoard = "the exact counts of this time do not have this board"
)

// inspection compares the lists of one window with the truth, side by side in the order of their boards.
type inspection struct {
	window  crest.Window
	asOf    crest.Millis
	samples *samples
	lacks   func(*crest.List) crest.Millis // see Comparison.Grade
	has     func(board string) bool        // whether the truth has a board
	list    *crest.List                    // that the truth has not got past yet
	now     *Comparison                    // of list, once the truth has got to it
	grades  []Grade
}

// window grades the lists of one window as of an hour's end.
func (g *Grader) window(ctx context.Context, truth Truth, w crest.Window, asOf crest.Millis) ([]Grade, error) {
	kept, err := openSamples(g.cfg.Dir, asOf, w.Name, g.corrupt)
	if errors.Is(err, errNoSample) {
		return g.withMissing(nil, w, asOf, reasonNoList), nil
	}
	if err != nil {
		return g.withMissing(nil, w, asOf, reasonDamaged), fmt.Errorf("open the samples of %s: %w", w.Name, err)
	}
	defer kept.Close()
	from := w.From(asOf)
	in := inspection{
		samples: kept, list: kept.next(), lacks: lacking(truth), window: w, asOf: asOf,
		has: func(board string) bool { return truth.Has(board, from, asOf) },
	}
	count := truth.Rank
	if from == from.Floor(time.Hour) {
		count = truth.Truth
	}
	if in.list != nil {
		err = count(ctx, from, asOf, func(row counts.Row) error { in.row(row); return nil })
	}
	in.finish()
	if err != nil {
		for i, one := range in.grades {
			in.grades[i] = missing(one.Board, w, asOf, reasonNoTruth)
		}
		return g.withMissing(in.grades, w, asOf, reasonNoTruth), fmt.Errorf("exact counts for the lists of %s: %w", w.Name, err)
	}
	reason := reasonNoList
	if kept.bad > 0 {
		reason = reasonDamaged
	}
	return g.withMissing(in.grades, w, asOf, reason), nil
}

// lacking returns what says from when on a list has what was received: 0 when it lacks nothing that the truth has.
func lacking(truth Truth) func(*crest.List) crest.Millis {
	reach := truth.Reach()
	began := max(reach.First, reach.Since) // nothing in the truth was received before
	return func(l *crest.List) crest.Millis {
		if l.Since <= max(l.From, began) {
			return 0
		}
		return l.Since
	}
}

// row takes in a row of the truth.
func (in *inspection) row(row counts.Row) {
	for in.list != nil && in.list.Board < row.Board {
		in.end()
	}
	if in.list == nil || in.list.Board != row.Board {
		return // there is no list of this board
	}
	if in.now == nil {
		in.now = Compare(in.list)
	}
	in.now.Add(row.Item, row.Count, row.Duplicates)
}

// end grades the list that the truth has got past.
func (in *inspection) end() {
	if in.now == nil {
		in.now = Compare(in.list)
	}
	if in.has(in.list.Board) {
		in.grades = append(in.grades, in.now.Grade(in.lacks(in.list)))
	} else {
		in.grades = append(in.grades, missing(in.list.Board, in.window, in.asOf, reasonNoBoard))
	}
	in.list, in.now = in.samples.next(), nil
}

// finish grades the lists of boards that come after the last of the truth.
func (in *inspection) finish() {
	for in.list != nil {
		in.end()
	}
}

// withMissing adds the grades of boards that should be there and are not.
func (g *Grader) withMissing(grades []Grade, w crest.Window, asOf crest.Millis, reason string) []Grade {
	have := map[string]bool{}
	for _, one := range grades {
		have[one.Board] = true
	}
	for _, board := range g.cfg.Boards {
		if !have[board] {
			grades = append(grades, missing(board, w, asOf, reason))
		}
	}
	return grades
}

func missing(board string, w crest.Window, asOf crest.Millis, reason string) Grade {
	return Grade{
		AsOf: asOf.Time(), Board: board, Window: w.Name, Missing: true, Reason: reason,
		Faults: []Fault{}, Examples: []Finding{},
	}
}
