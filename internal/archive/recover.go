package archive

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"crest"
	"crest/internal/eventlog"
)

// recovered is an archive in order.
type recovered struct {
	state  State
	oldest crest.Millis // hour that there is something of
}

// recover gets the archive into the order of its last commit: what a commit had begun and not finished is taken back, and
// what retention had begun to delete is deleted.
func (w *Writer) recover() (recovered, error) {
	if err := w.removeAside(w.cfg.Dir); err != nil {
		return recovered{}, err
	}
	hours, err := listHours(w.cfg.Dir)
	if err != nil {
		return recovered{}, err
	}
	state, err := w.lastState(hours)
	if err != nil {
		return recovered{}, err
	}
	r := recovered{state: state, oldest: math.MaxInt64}
	for _, h := range hours {
		if h < state.KeptFrom {
			continue
		}
		if err := w.tidy(h, state); err != nil {
			return recovered{}, fmt.Errorf("get hour %s into order: %w", h.Time().Format("2006-01-02 15h"), err)
		}
		r.oldest = min(r.oldest, h)
	}
	w.deleteBefore(state.KeptFrom)
	return r, nil
}

// lastState returns the state as of the last commit, from the manifests when its own file is lost.
func (w *Writer) lastState(hours []crest.Millis) (State, error) {
	path := filepath.Join(w.cfg.Dir, stateName)
	var s State
	err := readDocument(path, stateVersion, &s)
	var corrupt *CorruptError
	switch {
	case err == nil:
		return s, nil
	case !errors.As(err, &corrupt) && !errors.Is(err, os.ErrNotExist):
		return State{}, err
	case len(hours) == 0 && corrupt == nil:
		return State{}, nil
	}
	s, err = w.stateOfManifests(hours)
	if err != nil {
		return State{}, err
	}
	w.repaired(path, "it is damaged or missing; the archive goes on from the last commit that its manifests prove to be finished")
	return s, nil
}

// stateOfManifests returns the state of the newest commit that is known to be finished: one that another came after.
func (w *Writer) stateOfManifests(hours []crest.Millis) (State, error) {
	var states []State
	for _, h := range hours {
		m, err := readManifest(w.cfg.Dir, h)
		if _, damaged := errors.AsType[*CorruptError](err); damaged {
			continue
		}
		if err != nil {
			return State{}, err
		}
		states = append(states, m.Now.State, m.Before.State)
	}
	slices.SortFunc(states, func(a, b State) int { return compareOffsets(b.Offset, a.Offset) })
	states = slices.CompactFunc(states, State.equal)
	if len(states) < 2 {
		return State{}, nil
	}
	s := states[1]
	if w.cfg.Retain > 0 { // hours may have been deleted since: what is not there from here back counts as deleted
		s.KeptFrom = max(s.KeptFrom, min(hours[0], s.Watermark.Add(-MinRetain).Floor(hourLength)))
	}
	return s, nil
}

func compareOffsets(a, b eventlog.Offset) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// tidy leaves of an hour what its manifest lists as of the state.
func (w *Writer) tidy(hour crest.Millis, state State) error {
	dir := hourDir(w.cfg.Dir, hour)
	if err := w.removeAside(dir); err != nil {
		return err
	}
	m, err := readManifest(w.cfg.Dir, hour)
	if corrupt, ok := errors.AsType[*CorruptError](err); ok {
		return w.rebuild(hour, state, corrupt)
	}
	if err != nil {
		return err
	}
	if m.Now.State.Offset > state.Offset {
		m.Now = m.Before
		if err := writeDocument(w.storage, filepath.Join(dir, manifestName), manifestVersion, m); err != nil {
			return err
		}
	}
	listed := map[string]bool{}
	for _, f := range m.Now.Files {
		listed[f.Name] = true
	}
	names, err := parquetNames(dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		if !listed[name] {
			if err := w.storage.Remove(filepath.Join(dir, name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// removeAside removes the files of a directory that were not finished.
func (w *Writer) removeAside(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), asideSuffix) && !e.IsDir() {
			if err := w.storage.Remove(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// parquetNames returns the names of a directory's finished Parquet files, in their order.
func parquetNames(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), parquetSuffix) && !e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names, nil
}
