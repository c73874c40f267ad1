package exact

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"crest"
	"crest/internal/counts"
	"crest/internal/durable"
)

// totalFormat changes when other totals, or the same in other bytes, come of the same hours.
const totalFormat = 2

// totalKey is under what totals say what they are.
const totalKey = "total"

const candidatesSuffix = "-candidates" + parquetSuffix

// makeTotals sums the hours of each window, and selects candidates, unless that has been done for the very same hours.
func (x *round) makeTotals(ctx context.Context) error {
	x.m.Totals = nil
	for _, w := range x.config.Windows {
		t, hours := totalOf(x.m, w, x.config.Candidates)
		old := x.old.total(w.Name)
		switch {
		case old != nil && old.ID == t.ID && !x.stale[w.Name]:
			t = *old
		case len(hours) == 0:
		default:
			if err := x.makeTotal(ctx, w, &t, hours); err != nil {
				return fmt.Errorf("totals of window %s: %w", w.Name, err)
			}
			if x.stale[w.Name] {
				x.result.Repaired = append(x.result.Repaired, t.Counts.path(x.dir), t.Candidates.path(x.dir))
			}
		}
		x.m.Totals = append(x.m.Totals, t)
	}
	return nil
}

// totalsMade reports whether the totals are those that the configuration asks for, and whole.
func (x *round) totalsMade() bool {
	for _, w := range x.config.Windows {
		t, _ := totalOf(x.m, w, x.config.Candidates)
		if old := x.old.total(w.Name); old == nil || old.ID != t.ID || x.stale[w.Name] {
			return false
		}
	}
	return len(x.old.Totals) == len(x.config.Windows)
}

// totalOf returns what the totals of a window are to be, without files, and the hours with events that make them up.
func totalOf(m *manifest, w crest.Window, candidates int) (totalEntry, []hourEntry) {
	t := totalEntry{Window: w.Name, Hours: int(w.Length / hourLength), Until: m.Until}
	if m.Until == 0 {
		return t, nil
	}
	t.From = m.first()
	if !w.AllTime() {
		t.From = max(t.From, m.Until.Add(-w.Length))
	}
	hours := slices.DeleteFunc(slices.Clone(m.between(t.From, t.Until)), func(h hourEntry) bool { return h.Counts == nil })
	t.ID = totalID(&t, hours, m.beginnings(), candidates)
	return t, hours
}

// totalID hashes all that totals depend on.
func totalID(t *totalEntry, hours []hourEntry, b beginnings, candidates int) string {
	var id identity
	id.add("total", totalFormat, t.Window, t.Hours, t.From, t.Until, candidates)
	for _, h := range hours {
		id.add(h.Start, h.ID)
	}
	for _, shape := range b.all() {
		if begin := b.of(shape); begin > t.From {
			id.add(shape, begin)
		}
	}
	return id.text()
}

func (x *round) makeTotal(ctx context.Context, w crest.Window, t *totalEntry, hours []hourEntry) error {
	if err := durable.MakeDirs(x.storage, x.dir, totalsDir); err != nil {
		return err
	}
	base := totalsDir + "/" + w.Name + "-" + t.ID
	t.Counts, t.Candidates = &fileEntry{Name: base + parquetSuffix}, &fileEntry{Name: base + candidatesSuffix}
	sum := x.sumHours
	if w.AllTime() {
		sum = x.sumAll
	}
	err := sum(ctx, t, hours)
	if errors.Is(err, errTooManyBoards) {
		t.Wide = true
		err = sum(ctx, t, hours)
	}
	return err
}

// sumHours makes the totals of some hours.
func (x *round) sumHours(ctx context.Context, t *totalEntry, hours []hourEntry) error {
	return x.writeTotal(ctx, t, x.inputsOf(x.m, hours, t.Wide), func(row counts.Row, byInput []uint64, s *selection) error {
		return s.add(row, s.hoursOf(t, hours, byInput))
	})
}

// sumAll makes the totals of all time.
func (x *round) sumAll(ctx context.Context, t *totalEntry, hours []hourEntry) error {
	all := func(row counts.Row, _ []uint64, s *selection) error { return s.add(row, nil) }
	if inputs, ok := x.changes(t, hours); ok {
		err := x.writeTotal(ctx, t, inputs, all)
		if err == nil || ctx.Err() != nil || errors.Is(err, errTooManyBoards) {
			return err
		}
		if !isDamage(err) {
			x.result.Problems = append(x.result.Problems, Problem{Err: fmt.Errorf("totals of all time are summed again from all hours: %w", err)})
		}
	}
	inputs, remove, err := x.reduce(ctx, x.inputsOf(x.m, hours, t.Wide))
	if err != nil {
		return err
	}
	return errors.Join(x.writeTotal(ctx, t, inputs, all), remove())
}

// input is a counts file to be added or taken away.
type input struct {
	file     fileEntry
	subtract bool
	skip     func(board string) bool // boards that are left out; nil when none is
}

// inputsOf returns the counts of a manifest's hours, as far as totals have them. Wide totals have no narrowed boards.
func (x *round) inputsOf(m *manifest, hours []hourEntry, wide bool) []input {
	var inputs []input
	b := m.beginnings()
	for _, h := range hours {
		in := input{file: *h.Counts, skip: b.skip(&h)}
		if wide {
			in.skip = isNarrow
		}
		inputs = append(inputs, in)
	}
	return inputs
}

// changes returns what makes new totals of all time out of the old ones: the hours that have come, and the old versions of
// hours that have been counted again. It returns false when there are no old ones, or that would be no less work.
func (x *round) changes(t *totalEntry, hours []hourEntry) ([]input, bool) {
	old := x.old.total(t.Window)
	if old == nil || old.Counts == nil || x.stale[t.Window] || old.Hours != 0 {
		return nil, false
	}
	if as, _ := totalOf(x.old, crest.Window{Name: t.Window}, x.config.Candidates); as.ID != old.ID {
		return nil, false // of another format
	}
	anew, ok := x.beginAnew(old, t)
	if !ok {
		return nil, false
	}
	had := map[string]bool{}
	for _, h := range x.old.between(old.From, old.Until) {
		if h.Counts != nil {
			had[h.ID] = true
		}
	}
	var come, gone []hourEntry
	has := map[string]bool{}
	for _, h := range hours {
		has[h.ID] = true
		if !had[h.ID] {
			come = append(come, h)
		}
	}
	for _, h := range x.old.between(old.From, old.Until) {
		if h.Counts != nil && !has[h.ID] {
			gone = append(gone, h)
		}
	}
	inputs := append([]input{{file: *old.Counts}}, x.inputsOf(x.old, gone, old.Wide)...)
	for i := range inputs {
		inputs[i].subtract = i > 0
		inputs[i].skip = either(inputs[i].skip, anew)
		if t.Wide {
			inputs[i].skip = isNarrow
		}
	}
	inputs = append(inputs, x.inputsOf(x.m, come, t.Wide)...)
	return inputs, len(inputs) <= min(len(hours), x.fanIn())
}

// beginAnew says which boards of old totals are not in new ones because their shapes begin later now. It returns false when new
// totals can't be made out of the old ones. Of wide totals as many boards come wide ones.
func (x *round) beginAnew(old, t *totalEntry) (skip func(board string) bool, ok bool) {
	now, then := x.m.beginnings(), x.old.beginnings()
	anew, stay := map[string]bool{}, false
	for _, shape := range slices.Concat(now.all(), then.all()) {
		switch begin := now.of(shape); {
		case begin == then.of(shape):
			stay = stay || isNarrow(shape)
		case begin >= old.Until:
			anew[shape] = true
		default:
			return nil, false // hours count again that did not
		}
	}
	if old.Wide && stay {
		if len(anew) > 0 {
			return nil, false // those that stay may be few enough
		}
		t.Wide = true
	}
	if len(anew) == 0 {
		return nil, true
	}
	return func(board string) bool { return anew[shapeOf(board)] }, true
}

// either says of which boards one of two says so; both may be nil.
func either(a, b func(board string) bool) func(board string) bool {
	if a == nil || b == nil {
		if a == nil {
			return b
		}
		return a
	}
	return func(board string) bool { return a(board) || b(board) }
}

// writeTotal merges inputs into the files of a total. Take says how a row becomes a candidate.
func (x *round) writeTotal(ctx context.Context, t *totalEntry, inputs []input,
	take func(row counts.Row, byInput []uint64, s *selection) error,
) (err error) {
	about, err := json.Marshal(totalEntry{Window: t.Window, Hours: t.Hours, From: t.From, Until: t.Until, ID: t.ID})
	if err != nil {
		return err
	}
	out, err := counts.CreateIn(x.storage, t.Counts.path(x.dir))
	if err != nil {
		return err
	}
	defer func() { _ = out.Abort() }() // nothing after Close
	candidates, err := counts.CreateCandidatesIn(x.storage, t.Candidates.path(x.dir))
	if err != nil {
		return err
	}
	defer func() { _ = candidates.Abort() }() // nothing after Close
	if err := errors.Join(out.Set(totalKey, string(about)), candidates.Set(totalKey, string(about))); err != nil {
		return err
	}
	s := newSelection(x.config.Candidates, candidates)
	if err := x.merge(ctx, out, inputs, func(row counts.Row, byInput []uint64) error { return take(row, byInput, s) }); err != nil {
		return err
	}
	if err := s.end(); err != nil {
		return err
	}
	if t.Counts.Info, err = out.Close(); err != nil {
		return err
	}
	t.Candidates.Info, err = candidates.Close()
	return err
}

// ctxRows is after how many rows a merge looks whether it is to end.
const ctxRows = 1 << 14

// merge merges counts files into w, and hands each row to each, unless that is nil.
func (x *round) merge(ctx context.Context, w *counts.Writer, inputs []input, each func(counts.Row, []uint64) error) (err error) {
	var tables []*counts.Table
	defer func() {
		for _, t := range tables {
			err = errors.Join(err, t.Close())
		}
	}()
	var cursors []counts.Input
	all, done := int64(0), int64(0)
	for _, in := range inputs {
		t, err := counts.Open(in.file.path(x.dir), in.file.Info)
		if err != nil {
			return err
		}
		tables = append(tables, t)
		all = max(all, t.Rows())
		cursors = append(cursors, counts.Input{Cursor: without(t.All(), in.skip), Subtract: in.subtract})
	}
	limit, board := narrowLimit{boards: x.config.maxNarrow}, ""
	return counts.Merge(w, cursors, func(row counts.Row, byInput []uint64) error {
		if row.Board != board {
			board = strings.Clone(row.Board)
			if err := limit.add(board); err != nil {
				return err
			}
		}
		if done++; done%ctxRows == 0 {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			// The largest input is most of the result.
			x.progress(Progress{Phase: PhaseTotals, Fraction: min(1, float64(done)/float64(all))})
		}
		if each == nil {
			return nil
		}
		return each(row, byInput)
	})
}

// fanIn is how many inputs are merged at a time.
func (x *round) fanIn() int { return int(min(max(x.config.Memory>>23, 8), 64)) }

// reduce sums inputs into intermediate files until they are few enough to be merged at once. Remove removes those.
func (x *round) reduce(ctx context.Context, inputs []input) (reduced []input, remove func() error, err error) {
	var made []string
	remove = func() error {
		var errs []error
		for _, path := range made {
			errs = append(errs, x.storage.Remove(path))
		}
		return errors.Join(errs...)
	}
	for n := x.fanIn(); len(inputs) > n; {
		name := fmt.Sprintf("%s/part-%d%s", totalsDir, len(made), parquetSuffix)
		f := fileEntry{Name: name}
		w, err := counts.CreateIn(x.storage, filepath.Join(x.dir, filepath.FromSlash(name)))
		if err != nil {
			return nil, nil, errors.Join(err, remove())
		}
		err = x.merge(ctx, w, inputs[:n], nil)
		if err == nil {
			f.Info, err = w.Close()
		}
		if err != nil {
			return nil, nil, errors.Join(err, w.Abort(), remove())
		}
		made = append(made, f.path(x.dir))
		inputs = append(slices.Clone(inputs[n:]), input{file: f})
	}
	return inputs, remove, nil
}

func verifyTotal(dir string, t *totalEntry) error {
	if err := verifyFile(dir, t.Counts, counts.Open); err != nil {
		return err
	}
	return verifyFile(dir, t.Candidates, counts.OpenCandidates)
}
