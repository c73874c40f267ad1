package grade

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"crest"
	"crest/internal/counts"
	"crest/internal/list"
)

// keepGrades is for how long grades are kept, in time of the hours.
const keepGrades = 400 * 24 * time.Hour

// Truth is where exact counts come from: those of events received before asOf, each event once. Rows come by board, then by
// item, ascending; an error of each ends the call and is returned.
type Truth interface {
	// Reach says which hours have been counted.
	Reach() list.Reach
	// Has reports whether the truth of [from, asOf), from 0 of all time, has all that it should have of a board.
	Has(board string, from, asOf crest.Millis) bool
	// Truth counts events of the whole hours [from, asOf), from 0 those of all time.
	Truth(ctx context.Context, from, asOf crest.Millis, each func(counts.Row) error) error
	// Rank counts events of [from, asOf) from the archive; neither has to be on an hour.
	Rank(ctx context.Context, from, asOf crest.Millis, each func(counts.Row) error) error
}

// Config says what is graded, and where grades and samples are.
type Config struct {
	Dir      string
	Windows  []crest.Window // in the order in which grades are shown
	Boards   []string       // that should have a list of every window: the types'. Others are graded when there are samples
	Observer Observer
}

// Observer is told what grading finds. Every function may be nil.
type Observer struct {
	Graded  func(g Grade)                // each grade of an hour, missing ones too, once they are kept
	Corrupt func(name string, err error) // a sample or an hour's grades can't be used
}

// Grader grades the lists of hours. It is used by one goroutine at a time.
type Grader struct{ cfg Config }

// NewGrader returns a grader.
func NewGrader(cfg Config) *Grader { return &Grader{cfg} }

// Due returns the hours in [first, until) that have no grades yet, ascending, as far back as samples are kept.
func (g *Grader) Due(first, until crest.Millis) ([]crest.Millis, error) {
	var due []crest.Millis
	for hour := max(first, until.Add(-keepSamples)); hour < until; hour = hour.Add(time.Hour) {
		switch _, err := os.Stat(gradePath(g.cfg.Dir, hour)); {
		case os.IsNotExist(err):
			due = append(due, hour)
		case err != nil:
			return nil, fmt.Errorf("look for grades: %w", err)
		}
	}
	return due, nil
}

// Hour grades the lists as of the end of an hour, which must have been counted, keeps the grades and returns them. Samples
// that have been graded are removed. What could not be compared, as there is no list or no truth, has a grade that says why.
// With an error nothing is kept, since trying again can help.
//
// Grading an hour again changes only what there are samples of.
func (g *Grader) Hour(ctx context.Context, truth Truth, hour crest.Millis) ([]Grade, error) {
	asOf := hour.Add(time.Hour)
	var grades []Grade
	var failed error
	for _, w := range g.cfg.Windows {
		if asOf != asOf.Floor(w.Refresh) {
			continue // there is no list of that moment
		}
		of, err := g.window(ctx, truth, w, asOf)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		failed = errors.Join(failed, err)
		grades = append(grades, of...)
	}
	if failed != nil {
		return grades, fmt.Errorf("grade the hour of %s: %w", hour.Time().Format(time.RFC3339), failed)
	}
	earlier, err := readHour(g.cfg.Dir, hour)
	if err != nil && !os.IsNotExist(err) {
		g.corrupt(gradePath(g.cfg.Dir, hour), err)
	}
	grades = merge(earlier, grades)
	g.sort(grades)
	if err := writeHour(g.cfg.Dir, hour, grades); err != nil {
		return nil, err
	}
	for _, one := range grades {
		if g.cfg.Observer.Graded != nil {
			g.cfg.Observer.Graded(one)
		}
	}
	return grades, errors.Join(removeSamples(g.cfg.Dir, asOf), g.retain(hour))
}

// merge returns the grades of an hour when some of them have been made again. One that is missing now was made earlier,
// and its sample is gone.
func merge(earlier, now []Grade) []Grade {
	merged := slices.Clone(now)
	for _, old := range earlier {
		i := slices.IndexFunc(merged, func(g Grade) bool { return g.Board == old.Board && g.Window == old.Window })
		switch {
		case i < 0:
			merged = append(merged, old)
		case merged[i].Missing && !old.Missing:
			merged[i] = old
		}
	}
	return merged
}

// sort puts grades in their order: by board, then by window as configured; windows that are not among those come last.
func (g *Grader) sort(grades []Grade) {
	place := func(window string) int {
		if i := slices.IndexFunc(g.cfg.Windows, func(w crest.Window) bool { return w.Name == window }); i >= 0 {
			return i
		}
		return len(g.cfg.Windows)
	}
	slices.SortFunc(grades, func(a, b Grade) int {
		return cmp.Or(cmp.Compare(a.Board, b.Board), cmp.Compare(place(a.Window), place(b.Window)), cmp.Compare(a.Window, b.Window))
	})
}

// retain removes the days whose grades are too old.
func (g *Grader) retain(newest crest.Millis) error {
	days, err := dates(g.cfg.Dir)
	for _, day := range days {
		if last, ok := parseHour(day, "hour=23"); ok && last < newest.Add(-keepGrades) {
			err = errors.Join(err, os.RemoveAll(filepath.Join(g.cfg.Dir, day)))
		}
	}
	if err != nil {
		return fmt.Errorf("remove old grades: %w", err)
	}
	return nil
}

func (g *Grader) corrupt(name string, err error) {
	if g.cfg.Observer.Corrupt != nil {
		g.cfg.Observer.Corrupt(name, err)
	}
}
