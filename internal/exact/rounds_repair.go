package exact

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"

	"crest/internal/counts"
	"crest/internal/durable"
)

// repair makes an hour's damaged files as they were, if that is possible, so that nothing else changes; else it counts the
// hour anew. Without the hour's events it makes do with what there is.
func (x *round) repair(ctx context.Context, h *hourEntry) (hourEntry, error) {
	whole := *h
	whole.Damaged = ""
	if h.Damaged != "" && h.Counts != nil && verifyHour(x.dir, h) == nil {
		return whole, nil // somebody has put it back
	}
	if gone := recountable(x.m, x.sight, h); gone != nil {
		err := x.makeDo(ctx, &whole)
		if err != nil && isDamage(err) {
			err = &CorruptError{damagedPath(x.sight.damaged[h.Start]), gone.Error()}
		}
		return whole, err
	}
	in, err := inputOf(x.view, h.Start, h.Cut, x.config.Edge)
	if err != nil {
		return hourEntry{}, err
	}
	if h.ID != "" && x.identify(&in) == h.ID {
		entry, err := x.count(ctx, h.Start, h.Cut)
		entry.Checked, entry.Settled = h.Checked, h.Settled
		return entry, err
	}
	return x.count(ctx, h.Start, x.sight.cut)
}

// makeDo repairs an hour whose events are no longer there. Its late weights can't be made again; who needs them, to grade
// lists of some hours after, is refused.
func (x *round) makeDo(ctx context.Context, h *hourEntry) error {
	if err := verifyHour(x.dir, &hourEntry{Late: h.Late}); err != nil {
		if !isDamage(err) {
			return err
		}
		h.Late = nil
	}
	err := verifyHour(x.dir, &hourEntry{Counts: h.Counts})
	if (err == nil && h.Counts != nil) || err != nil && !isDamage(err) {
		return err
	}
	return x.restore(ctx, h)
}

// restore makes an hour's damaged counts again without its events, which are no longer there: they are what totals of all
// time have beyond the other hours. The checksum proves that they are the same.
func (x *round) restore(ctx context.Context, h *hourEntry) error {
	var t *totalEntry
	for i := range x.old.Totals {
		if o := &x.old.Totals[i]; o.Hours == 0 && o.Counts != nil && !x.stale[o.Window] && o.From <= h.Start && h.Start < o.Until {
			t = o
		}
	}
	if t == nil || h.Counts == nil {
		return &CorruptError{filepath.Join(x.dir, totalsDir), "there are no totals of all time that the hour is in"}
	}
	others := slices.DeleteFunc(slices.Clone(x.old.between(t.From, t.Until)), func(o hourEntry) bool {
		return o.Counts == nil || o.Start == h.Start
	})
	inputs, remove, err := x.reduce(ctx, x.inputsOf(x.old, others, t.Wide))
	if err != nil {
		return err
	}
	for i := range inputs {
		inputs[i].subtract = true
	}
	return errors.Join(x.restoreFrom(ctx, h, append(inputs, input{file: *t.Counts})), remove())
}

func (x *round) restoreFrom(ctx context.Context, h *hourEntry, inputs []input) error {
	about, err := json.Marshal(aboutHour{h.hourCount, x.old.Boards[h.Boards]})
	if err != nil {
		return err
	}
	if err := durable.MakeDirs(x.storage, x.dir, hourDir(h.Start)); err != nil {
		return err
	}
	w, err := counts.CreateIn(x.storage, h.Counts.path(x.dir))
	if err != nil {
		return err
	}
	defer func() { _ = w.Abort() }() // nothing after Close
	if err := w.Set(hourKey, string(about)); err != nil {
		return err
	}
	if err := x.merge(ctx, w, inputs, nil); err != nil {
		if _, ok := errors.AsType[*fs.PathError](err); ok || ctx.Err() != nil || isDamage(err) {
			return err
		}
		return &CorruptError{h.Counts.path(x.dir), err.Error()} // more was to be taken away than there is
	}
	info, err := w.Close()
	if err == nil && info != h.Counts.Info {
		return &CorruptError{h.Counts.path(x.dir), "what totals have beyond the other hours is not what it held"}
	}
	return err
}
