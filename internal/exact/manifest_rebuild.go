package exact

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"crest"
	"crest/internal/archive"
	"crest/internal/counts"
)

// aboutHour is what an hour's files say of themselves.
type aboutHour struct {
	hourCount
	Shapes []string `json:"shapes"` // the kinds of boards that were counted
}

// maxAbout bounds what is decoded of it, bytes.
const maxAbout = 1 << 20

// rebuild makes a manifest from what the hours' files say of themselves, when no manifest can be read. Totals are missing in it.
func (x *round) rebuild(ctx context.Context, cause error) (*manifest, error) {
	paths, err := filepath.Glob(filepath.Join(x.dir, "date=*", "hour=*", countsPrefix+"*"+parquetSuffix))
	if err != nil {
		return nil, err
	}
	m := &manifest{Boards: map[string][]string{}}
	if len(paths) == 0 {
		if !errors.Is(cause, fs.ErrNotExist) {
			x.note(Problem{Path: filepath.Join(x.dir, manifestName), Err: fmt.Errorf("%w; there are no counts either", cause)})
		}
		return m, nil
	}
	x.note(Problem{Path: filepath.Join(x.dir, manifestName), Err: fmt.Errorf("%w; it is made again from the counts", cause)})
	found := map[crest.Millis]hourEntry{}
	for i, path := range paths {
		x.progress(Progress{Phase: PhaseVerify, Fraction: float64(i) / float64(len(paths))})
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		h, shapes, err := x.examineFound(path)
		if err != nil {
			if !isDamage(err) {
				return nil, err
			}
			x.note(Problem{Path: path, Err: err})
			continue
		}
		if had, ok := found[h.Start]; !ok || had.Cut < h.Cut {
			found[h.Start] = h
		}
		m.Boards[h.Boards] = shapes
		m.Since, m.Cut = max(m.Since, h.Since), max(m.Cut, h.Cut)
	}
	x.line(m, found)
	return m, nil
}

// examineFound reads an hour's files as what they say they are.
func (x *round) examineFound(path string) (hourEntry, []string, error) {
	t, info, err := counts.Examine(path)
	if err != nil {
		return hourEntry{}, nil, err
	}
	text, _ := t.Metadata(hourKey)
	if err := t.Close(); err != nil {
		return hourEntry{}, nil, err
	}
	var about aboutHour
	if len(text) > maxAbout || json.Unmarshal([]byte(text), &about) != nil {
		return hourEntry{}, nil, &CorruptError{path, "it doesn't say of which hour it is"}
	}
	h := hourEntry{hourCount: about.hourCount, Checked: about.Cut}
	below := hourDir(h.Start)
	h.Counts = &fileEntry{below + "/" + countsPrefix + h.ID + parquetSuffix, info}
	if h.Start != h.Start.Floor(hourLength) || h.Counts.path(x.dir) != path {
		return hourEntry{}, nil, &CorruptError{path, fmt.Sprintf("it is of hour %s", hourText(h.Start))}
	}
	if h.LateWeight > 0 {
		h.Late = &fileEntry{Name: below + "/" + latePrefix + h.ID + parquetSuffix}
		late, info, err := counts.ExamineLate(h.Late.path(x.dir))
		if err != nil {
			return hourEntry{}, nil, err
		}
		text2, _ := late.Metadata(hourKey)
		if err := late.Close(); err != nil {
			return hourEntry{}, nil, err
		}
		if text2 != text {
			return hourEntry{}, nil, &CorruptError{h.Late.path(x.dir), "it doesn't belong to " + path}
		}
		h.Late.Info = info
	}
	return h, about.Shapes, nil
}

// line puts the hours found in a row. An hour of which nothing is found had no events, or its counts are lost: the archive
// says which, as far back as it goes, and before that totals do.
func (x *round) line(m *manifest, found map[crest.Millis]hourEntry) {
	hours := slices.SortedFunc(maps.Values(found), func(a, b hourEntry) int { return cmp.Compare(a.Start, b.Start) })
	if len(hours) == 0 {
		return
	}
	first, end := hours[0].Start, hours[len(hours)-1].Start.Add(hourLength)
	known := x.knownSpans(hours)
	for _, s := range known {
		if s.from <= end && s.until >= first {
			first, end = min(first, s.from), max(end, s.until)
		}
	}
	for h := first; h < end; h = h.Add(hourLength) {
		e, ok := found[h]
		if !ok {
			// Whenever it was that it had no events, it had been closed.
			cut := min(h.Add(hourLength+archive.CloseAfter), m.Cut)
			e = hourEntry{hourCount: hourCount{Start: h, Cut: cut}, Checked: cut}
		}
		if !ok && !slices.ContainsFunc(known, func(s span) bool { return s.from <= h && h < s.until }) {
			e.Damaged = "its counts are lost, if it had any"
			x.sight.damaged[h] = errors.New(e.Damaged)
		}
		m.Hours = append(m.Hours, e)
	}
	m.Until = m.run()
}

// span is a run of hours.
type span struct{ from, until crest.Millis }

// knownSpans returns hours of which totals show that all that had events are among those found: the name of totals comes of
// the hours in them.
func (x *round) knownSpans(found []hourEntry) []span {
	var known []span
	paths, _ := filepath.Glob(filepath.Join(x.dir, totalsDir, "*"+parquetSuffix)) // the pattern is right
	for _, path := range paths {
		if strings.HasSuffix(path, candidatesSuffix) {
			continue
		}
		t, _, err := counts.Examine(path)
		if err != nil {
			continue // it will be made again
		}
		text, _ := t.Metadata(totalKey)
		_ = t.Close()
		var about totalEntry
		if len(text) > maxAbout || json.Unmarshal([]byte(text), &about) != nil {
			continue
		}
		hours := slices.DeleteFunc(slices.Clone(found), func(h hourEntry) bool { return h.Start < about.From || h.Start >= about.Until })
		if totalID(&about, hours, x.config.Candidates) == about.ID {
			known = append(known, span{about.From, about.Until})
		}
	}
	slices.SortFunc(known, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	return known
}

// restore makes an hour's damaged counts again without its events, which are no longer there: they are what totals of all
// time have beyond the other hours. The checksum proves that they are the same.
func (x *round) restore(ctx context.Context, h *hourEntry) (hourEntry, error) {
	var t *totalEntry
	for i := range x.old.Totals {
		if o := &x.old.Totals[i]; o.Hours == 0 && o.Counts != nil && !x.stale[o.Window] && o.From <= h.Start && h.Start < o.Until {
			t = o
		}
	}
	if t == nil || h.Counts == nil {
		return hourEntry{}, &CorruptError{filepath.Join(x.dir, totalsDir), "there are no totals of all time that the hour is in"}
	}
	if h.Late != nil {
		if table, err := counts.OpenLate(h.Late.path(x.dir), h.Late.Info); err != nil {
			return hourEntry{}, err
		} else if err := table.Close(); err != nil {
			return hourEntry{}, err
		}
	}
	others := slices.DeleteFunc(slices.Clone(x.old.between(t.From, t.Until)), func(o hourEntry) bool {
		return o.Counts == nil || o.Start == h.Start
	})
	inputs, remove, err := x.reduce(ctx, inputsOf(others))
	if err != nil {
		return hourEntry{}, err
	}
	for i := range inputs {
		inputs[i].subtract = true
	}
	return *h, errors.Join(x.restoreFrom(ctx, h, append(inputs, input{file: *t.Counts})), remove())
}

func (x *round) restoreFrom(ctx context.Context, h *hourEntry, inputs []input) error {
	about, err := json.Marshal(aboutHour{h.hourCount, x.old.Boards[h.Boards]})
	if err != nil {
		return err
	}
	if err := makeDirs(x.storage, x.dir, hourDir(h.Start)); err != nil {
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
