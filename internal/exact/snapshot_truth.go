package exact

import (
	"context"
	"errors"
	"io"
	"slices"

	"crest"
	"crest/internal/archive"
	"crest/internal/counts"
)

// Truth counts the events of the hours [from, asOf), from 0 those of all time, that were received before asOf: what a list
// as of then should have said. AsOf is the end of a counted hour. Each is called by board, then item.
//
// What came for an hour after it had been counted, and waits for it to be counted again, may be new or sent again: its
// weight is among an item's duplicates, not in its count. So the truth lies between the count and the sum of both, and it is the
// count itself in the newest hour. The other duplicates are all that are known by now. Has says of which boards it is the truth.
func (s *Snapshot) Truth(ctx context.Context, from, asOf crest.Millis, each func(counts.Row) error) (err error) {
	if s.until == 0 || asOf <= s.m.first() || asOf > s.until || asOf != asOf.Floor(hourLength) || from != from.Floor(hourLength) || from >= asOf {
		return crest.Errorf(crest.CodeOutOfRange, "window", "%s to %s are no counted hours", fromText(from), hourText(asOf))
	}
	r := reading{s: s}
	defer func() { err = errors.Join(err, r.close()) }()
	if err := r.addHours(from, asOf); err != nil {
		return err
	}
	for _, h := range s.m.between(max(from, asOf.Add(-eventsEnd)), asOf) {
		if h.LateWeight == 0 || h.Cut <= asOf {
			continue
		}
		if h.Late == nil {
			return crest.Errorf(crest.CodeNotReady, "window", "the late weights of hour %s are lost", hourText(h.Start))
		}
		if err := r.takeLate(&h, asOf); err != nil {
			return err
		}
	}
	p, err := s.pendingIn(ctx, from, asOf, asOf)
	if err != nil {
		return err
	}
	if p != nil {
		r.opened = append(r.opened, p)
		r.inputs = append(r.inputs, counts.Input{Cursor: p.table.All()})
	}
	rows := 0
	inputs := r.inputs
	r.inputs = nil // Merge closes their cursors
	return counts.Merge(nil, inputs, func(row counts.Row, _ []uint64) error {
		if rows++; rows%ctxRows == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return each(row)
	})
}

// Has reports whether Truth has all of a board in the hours [from, asOf), from 0 those of all time; or Rank, of any moments. It
// does not when some of them had too many boards, or have been counted without boards that were declared before. Of a board
// that was declared within the hours, it has what came since.
func (s *Snapshot) Has(board string, from, asOf crest.Millis) bool {
	until := asOf
	if len(s.m.Hours) > 0 && from <= s.m.first() { // totals of all time may be what is read
		until = s.m.Until
		for _, t := range s.m.Totals {
			if t.Hours == 0 && t.Wide && isNarrow(board) {
				return false
			}
		}
	}
	if from != from.Floor(hourLength) && isNarrow(board) && s.tooMany(from, asOf) {
		return false
	}
	shape, declared := shapeOf(board), false
	for _, h := range s.m.between(0, until.Add(hourLength-1).Floor(hourLength)) {
		switch {
		case h.ID == "":
		case slices.Contains(s.m.Boards[h.Boards], shape):
			declared = true
		case h.Start.Add(hourLength) > from && (declared || h.Wanted != ""):
			return false
		}
	}
	return true
}

// tooMany reports whether some hour of [from, until) had too many boards, or all of them together may have.
func (s *Snapshot) tooMany(from, until crest.Millis) bool {
	boards := 0
	for _, h := range s.m.between(from.Floor(hourLength), until.Add(hourLength-1).Floor(hourLength)) {
		if h.Wanted != "" {
			return true
		}
		if h.Counts != nil {
			boards += h.Counts.Boards
		}
	}
	return boards > s.config.maxNarrow
}

// reading is what a merge reads, and what has to be closed after it.
type reading struct {
	s      *Snapshot
	skip   func(*hourEntry) func(board string) bool // of an hour's boards, what is not in the totals; nil when there are no totals
	inputs []counts.Input
	opened []io.Closer
}

// addHours adds the counts of [from, until). For all time that is the totals less the hours after, unless those are more.
func (r *reading) addHours(from, until crest.Millis) error {
	hours, subtract := r.s.m.between(from, until), false
	after := r.s.m.between(until, r.s.m.Until)
	if total, err := r.s.covering("", 0); err == nil && from <= r.s.m.first() && len(after) < len(hours) && total.Until == r.s.m.Until {
		hours, subtract = after, true
		r.skip = r.s.begins.skip
		if total.Wide {
			r.skip = func(*hourEntry) func(string) bool { return isNarrow }
		}
		for _, t := range total.terms() {
			r.inputs = append(r.inputs, counts.Input{Cursor: t.table.All()})
		}
	}
	for _, h := range hours {
		if h.Counts == nil {
			continue
		}
		t, held, err := r.s.tableOf(&h)
		if err != nil {
			return err
		}
		if !held {
			r.opened = append(r.opened, t)
		}
		r.add(&h, t.All(), subtract)
	}
	return nil
}

func (r *reading) add(h *hourEntry, c counts.Cursor, subtract bool) {
	if r.skip != nil {
		c = without(c, r.skip(h))
	}
	r.inputs = append(r.inputs, counts.Input{Cursor: c, Subtract: subtract})
}

// takeLate takes away what an hour received from a moment on.
func (r *reading) takeLate(h *hourEntry, since crest.Millis) error {
	t, err := counts.OpenLate(h.Late.path(r.s.config.Dir), h.Late.Info)
	if err != nil {
		return err
	}
	r.opened = append(r.opened, t)
	r.add(h, t.Since(since), true)
	return nil
}

func (r *reading) close() error {
	var errs []error
	for _, in := range r.inputs {
		errs = append(errs, in.Cursor.Close())
	}
	for _, c := range r.opened {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

// Rank counts the events of [from, asOf), of any length, that were received before asOf, straight from the archive. Each is called by
// board, then item.
func (s *Snapshot) Rank(ctx context.Context, from, asOf crest.Millis, each func(counts.Row) error) error {
	for try := 1; ; try++ {
		view, err := archive.Read(s.config.Archive)
		if err != nil {
			return err
		}
		switch {
		case view.State.Watermark < asOf:
			return crest.Errorf(crest.CodeNotReady, "window", "ends at %s; the archive has all received before %s",
				timeText(asOf), timeText(view.State.Watermark))
		case view.State.KeptFrom > 0 && from.Floor(hourLength).Add(-hourLength) < view.State.KeptFrom:
			return crest.Errorf(crest.CodeOutOfRange, "window", "begins at %s; the archive goes back to %s", timeText(from), hourText(view.State.KeptFrom))
		}
		types := s.config.Types
		if s.tooMany(from, asOf) {
			types = withoutNarrow(types)
		}
		// Every file has been opened before the first row is handed on, so that it can begin again.
		_, err = Rank(ctx, view, RankConfig{
			Types: types, Dimensions: s.config.Dimensions, From: from, To: asOf, By: asOf,
			Edge: s.config.Edge, Memory: s.config.Memory, Workers: s.config.Workers,
		}, each)
		if !errors.Is(err, archive.ErrReplaced) || try == readTries {
			return err
		}
	}
}
