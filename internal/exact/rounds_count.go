package exact

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"

	"crest"
	"crest/internal/archive"
	"crest/internal/counts"
	"crest/internal/durable"
)

// hourFormat changes when other counts, or the same in other bytes, come of the same events.
const hourFormat = 1

// hourKey is under what an hour's files say what they are.
const hourKey = "hour"

// readTries bounds how often an hour is looked up again because the archive replaced its files meanwhile.
const readTries = 5

// countAll counts what is planned and says whether anything has changed by that. An hour that can't be counted
// stays as it is.
func (x *round) countAll(ctx context.Context, p plan) (changed bool, err error) {
	if p.empty() {
		return false, nil
	}
	if x.version == "" && x.before == nil && len(x.old.Hours) == 0 {
		// So that what an interrupted first round leaves is not taken for counts whose manifest is lost.
		if err := x.keepOld(); err != nil {
			return false, err
		}
		x.before = x.old
	}
	known := x.m.Cut
	x.m.Cut = max(x.m.Cut, x.sight.cut)
	x.m.Since = max(x.m.Since, x.view.State.Since)
	if len(x.m.Hours) == 0 && x.view.State.KeptFrom > 0 {
		x.m.Since = max(x.m.Since, x.view.State.KeptFrom)
	}
	if x.m.Boards == nil {
		x.m.Boards = map[string][]string{}
	}
	for _, shapes := range [][]string{x.sight.shapes, x.ownShapes()} {
		x.m.Boards[boardsID(shapes)] = shapes
	}
	if n := len(x.m.Hours); n > 0 && p.first < x.m.first() {
		// Until the last round these hours had no events.
		var earlier []hourEntry
		for h := p.first; h < x.m.first(); h = h.Add(hourLength) {
			earlier = append(earlier, hourEntry{hourCount: hourCount{Start: h, Cut: known}, Checked: known})
		}
		x.m.Hours = append(earlier, x.m.Hours...)
		changed = true
	}
	for _, j := range p.judge {
		h := x.m.hour(j.hour)
		h.Checked, h.Settled = j.checked, j.settled
	}
	for _, a := range p.again {
		ok, err := x.countAgain(ctx, a)
		if err != nil {
			return false, err
		}
		changed = changed || ok
	}
	if p.next == 0 {
		return changed, nil
	}
	entry, err := x.count(ctx, p.next, x.sight.cut)
	switch {
	case err == nil:
		x.m.Hours = append(x.m.Hours, entry)
		x.report(entry, ReasonClosed)
		x.tellWanted(entry, hourEntry{})
		return true, nil
	case isArchiveDamage(err):
		x.result.Problems = append(x.result.Problems, Problem{Hour: p.next, Err: fmt.Errorf("it can't be counted: %w", err)})
		x.result.Next = p.next
		x.result.Closes = p.next.Add(hourLength + crest.CloseAfter)
		return changed, nil
	}
	return false, err
}

// countAgain replaces the count of an hour.
func (x *round) countAgain(ctx context.Context, a recount) (changed bool, err error) {
	h := x.m.hour(a.hour)
	var entry hourEntry
	if a.reason == ReasonDamaged {
		entry, err = x.repair(ctx, h)
	} else {
		entry, err = x.count(ctx, a.hour, x.sight.cut)
	}
	switch {
	case err == nil:
		if a.reason == ReasonDamaged {
			x.result.Repaired = append(x.result.Repaired, entry.paths(x.dir)...)
		}
		x.report(entry, a.reason)
		x.tellWanted(entry, *h)
		*h = entry
		return true, nil
	case a.reason == ReasonDamaged && isDamage(err) || isArchiveDamage(err):
	default:
		return false, err
	}
	if a.reason != ReasonDamaged {
		x.result.Problems = append(x.result.Problems, Problem{Hour: a.hour, Err: fmt.Errorf("it can't be counted again: %w", err)})
		return false, nil
	}
	why := fmt.Sprintf("%s; it can't be counted again: %s", x.sight.damaged[a.hour], err)
	if h.Damaged != "" {
		return false, nil
	}
	h.Damaged = why
	return true, nil
}

// tellWanted tells of an hour that has too many boards, unless that was known.
func (x *round) tellWanted(h, before hourEntry) {
	if h.Wanted == "" || h.Wanted == before.Wanted {
		return
	}
	x.result.Problems = append(x.result.Problems, Problem{Hour: h.Start, Err: fmt.Errorf(
		"it has more than %d narrowed boards, so it is counted for the types' own boards alone: list the values that dimensions may have", x.config.maxNarrow)})
}

// report adds a count to the result.
func (x *round) report(h hourEntry, reason Reason) {
	i := h.info()
	r := HourResult{
		Hour: i.Hour, Cut: i.Cut, Reason: reason,
		Rows: i.Rows, Weight: i.Weight, Duplicates: i.Duplicates, Late: i.Late, Items: i.Items, Bytes: i.Bytes,
	}
	if h.Counts != nil {
		r.Boards = h.Counts.Boards
	}
	x.result.Counted = append(x.result.Counted, r)
}

// count counts an hour from the archive, by what was received before a cut.
func (x *round) count(ctx context.Context, hour, cut crest.Millis) (hourEntry, error) {
	view := x.view
	for try := 1; ; try++ {
		entry, err := x.countFrom(ctx, view, hour, cut)
		if !errors.Is(err, archive.ErrReplaced) || try == readTries {
			return entry, err
		}
		replaced := err
		if view, err = archive.Read(x.config.Archive); err != nil {
			return hourEntry{}, err
		}
		if kept := view.State.KeptFrom; kept > x.view.State.KeptFrom && hour.Add(-hourLength) < kept {
			return hourEntry{}, replaced // it, or the hour before, has been deleted
		}
	}
}

func (x *round) countFrom(ctx context.Context, view *archive.View, hour, cut crest.Millis) (hourEntry, error) {
	in, err := inputOf(view, hour, cut, x.config.Edge)
	if err != nil {
		return hourEntry{}, err
	}
	over := cut >= hour.Add(eventsEnd)
	entry := hourEntry{hourCount: hourCount{Start: hour, Cut: cut, Since: x.m.Since}, Checked: cut, Settled: over}
	if len(in.own) == 0 {
		return entry, nil
	}
	entry.ID, entry.Boards = x.identify(&in), boardsID(x.sight.shapes)
	if done, ok := x.memo[entry.ID]; ok {
		return done, nil
	}
	if f, ok := x.failed[entry.ID]; ok {
		return hourEntry{}, f.err
	}
	if err := x.write(ctx, in, &entry); err != nil {
		if isArchiveDamage(err) {
			x.failed[entry.ID] = failureOf(err)
		}
		return hourEntry{}, err
	}
	x.memo[entry.ID] = entry
	return entry, nil
}

// identify hashes all that a count depends on: the same gives the same bytes.
func (x *round) identify(in *hourInput) string {
	var id identity
	id.add("hour", hourFormat, in.hour, in.cut, in.edge, boardsID(x.sight.shapes), x.m.Since)
	for _, sources := range [][]source{in.own, in.before, in.after} {
		id.add(len(sources))
		for _, s := range sources {
			id.add(s.hour, s.file.Name, s.file.Checksum)
		}
	}
	return id.text()
}

// write counts an hour into its files. One that has too many boards is counted as if its types had no narrowed ones.
func (x *round) write(ctx context.Context, in hourInput, entry *hourEntry) error {
	err := x.writeBoards(ctx, in, entry, x.config.Types)
	if !errors.Is(err, errTooManyBoards) {
		return err
	}
	entry.Wanted, entry.Boards = entry.Boards, boardsID(x.ownShapes())
	return x.writeBoards(ctx, in, entry, withoutNarrow(x.config.Types))
}

// ownShapes returns those of types' own boards.
func (x *round) ownShapes() []string { return shapesOf(withoutNarrow(x.config.Types), nil) }

func (x *round) writeBoards(ctx context.Context, in hourInput, entry *hourEntry, types []TypeBoards) error {
	below := hourDir(in.hour)
	if err := durable.MakeDirs(x.storage, x.dir, below); err != nil {
		return err
	}
	entry.Counts = &fileEntry{Name: below + "/" + countsPrefix + entry.ID + parquetSuffix}
	entry.Late = &fileEntry{Name: below + "/" + latePrefix + entry.ID + parquetSuffix}
	out, err := counts.CreateIn(x.storage, entry.Counts.path(x.dir))
	if err != nil {
		return err
	}
	defer func() { _ = out.Abort() }() // nothing after Close
	late, err := counts.CreateLateIn(x.storage, entry.Late.path(x.dir))
	if err != nil {
		return err
	}
	defer func() { _ = late.Abort() }() // nothing after Close
	config := *x.config
	config.Types = types
	s, err := newCounter(config, filepath.Join(x.dir, below)).hour(ctx, in, out, late)
	if err != nil {
		return err
	}
	entry.Rows, entry.Weight, entry.Duplicates, entry.LateWeight, entry.Items = s.rows, s.weight, s.duplicates, s.late, s.items
	return x.finish(entry, out, late)
}

// finish ends an hour's files. Those without rows are not kept.
func (x *round) finish(entry *hourEntry, out *counts.Writer, late *counts.LateWriter) error {
	about, err := json.Marshal(aboutHour{entry.hourCount, x.m.Boards[entry.Boards]})
	if err != nil {
		return err
	}
	if entry.LateWeight == 0 {
		entry.Late = nil
	} else {
		if err := late.Set(hourKey, string(about)); err != nil {
			return err
		}
		if entry.Late.Info, err = late.Close(); err != nil {
			return err
		}
	}
	if entry.Weight == 0 && entry.Duplicates == 0 {
		entry.Counts = nil
		return nil
	}
	if err := out.Set(hourKey, string(about)); err != nil {
		return err
	}
	entry.Counts.Info, err = out.Close()
	return err
}

// isArchiveDamage reports whether events can't be read, as opposed to counts.
func isArchiveDamage(err error) bool {
	_, ok := errors.AsType[*archive.CorruptError](err)
	return ok || errors.Is(err, archive.ErrReplaced)
}

func (h *hourEntry) paths(dir string) []string {
	var all []string
	for _, f := range h.files() {
		all = append(all, f.path(dir))
	}
	return all
}
