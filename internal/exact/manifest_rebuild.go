package exact

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	pathpkg "path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"crest"
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
	found, lost := map[crest.Millis]hourEntry{}, map[crest.Millis]hourEntry{}
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
			h, ok := x.unreadable(path, err)
			if ok {
				lost[h.Start] = h
			}
			x.note(Problem{Hour: h.Start, Path: path, Err: err})
			continue
		}
		if had, ok := found[h.Start]; !ok || had.Cut < h.Cut {
			found[h.Start] = h
		}
		m.Boards[h.Boards] = shapes
		m.Since, m.Cut = max(m.Since, h.Since), max(m.Cut, h.Cut)
	}
	x.line(m, found, lost)
	x.settle(m)
	return m, nil
}

// unreadable is the entry of an hour of which all that is known is that it had counts, by the path of their file. The file
// stays where it is.
func (x *round) unreadable(path string, why error) (h hourEntry, ok bool) {
	rel, err := filepath.Rel(x.dir, path)
	if err != nil {
		return hourEntry{}, false
	}
	rel = filepath.ToSlash(rel)
	start, err := time.Parse(hourDirLayout, pathpkg.Dir(rel))
	if err != nil {
		return hourEntry{}, false
	}
	h.Start = crest.MillisOf(start)
	h.Damaged = why.Error()
	h.Counts = &fileEntry{Name: rel}
	return h, true
}

// settle takes it that rounds did, of hours that have been deleted from the archive since, what they do before that: they
// count late events when no more can come. Nobody can look any more.
func (x *round) settle(m *manifest) {
	reached := m.Cut
	if len(m.Hours) > 0 {
		reached = max(reached, m.end().Add(crest.CloseAfter)) // the last hours may have had no events, so no files
	}
	for i := range m.Hours {
		h := &m.Hours[i]
		over := h.Start.Add(eventsEnd)
		if h.Damaged == "" && h.Start < x.view.State.KeptFrom && over <= reached {
			h.Checked, h.Settled = max(h.Checked, over), true
		}
	}
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
		err := x.examineLate(h.Late, text)
		if err != nil && !isDamage(err) {
			return hourEntry{}, nil, err
		}
		if err != nil {
			x.note(Problem{Hour: h.Start, Path: damagedPath(err), Err: err})
			x.sight.damaged[h.Start] = err
		}
	}
	return h, about.Shapes, nil
}

// examineLate reads late weights that belong to counts which say text of themselves.
func (x *round) examineLate(f *fileEntry, text string) error {
	t, info, err := counts.ExamineLate(f.path(x.dir))
	if err != nil {
		return err
	}
	got, _ := t.Metadata(hourKey)
	if err := t.Close(); err != nil {
		return err
	}
	if got != text {
		return &CorruptError{f.path(x.dir), "it belongs to other counts"}
	}
	f.Info = info
	return nil
}

// line puts the hours found in a row, with those whose counts can't be read. An hour of which nothing is found had no events, or its counts are lost: the archive
// says which, as far back as it goes, and before that totals do.
func (x *round) line(m *manifest, found, lost map[crest.Millis]hourEntry) {
	hours := slices.SortedFunc(maps.Values(found), func(a, b hourEntry) int { return cmp.Compare(a.Start, b.Start) })
	starts := slices.Sorted(maps.Keys(found))
	starts = append(starts, slices.Sorted(maps.Keys(lost))...)
	if len(starts) == 0 {
		return
	}
	first, end := slices.Min(starts), slices.Max(starts).Add(hourLength)
	known := x.knownSpans(m.Boards, hours)
	for _, s := range known {
		if s.from <= end && s.until >= first {
			first, end = min(first, s.from), max(end, s.until)
		}
	}
	for h := first; h < end; h = h.Add(hourLength) {
		e, ok := found[h]
		if !ok {
			// Whenever it was that it had no events, it had been closed.
			cut := min(h.Add(hourLength+crest.CloseAfter), m.Cut)
			e = hourEntry{hourCount: hourCount{Start: h, Cut: cut}, Checked: cut}
		}
		unread, isLost := lost[h]
		if !ok && isLost {
			e.Damaged, e.Counts = unread.Damaged, unread.Counts
			x.sight.damaged[h] = errors.New(e.Damaged)
		} else if !ok && !slices.ContainsFunc(known, func(s span) bool { return s.from <= h && h < s.until }) {
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
func (x *round) knownSpans(boards map[string][]string, found []hourEntry) []span {
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
		before := slices.DeleteFunc(slices.Clone(found), func(h hourEntry) bool { return h.Start >= about.Until })
		b := beginningsOf(boards, before)
		hours := slices.DeleteFunc(before, func(h hourEntry) bool { return h.Start < about.From })
		if totalID(&about, hours, b, x.config.Candidates) == about.ID {
			known = append(known, span{about.From, about.Until})
		}
	}
	slices.SortFunc(known, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	return known
}
