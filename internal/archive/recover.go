package archive

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"crest"
)

// recover gets the archive into the order of its last commit: what a commit had begun and not finished is taken back, and
// what retention had begun to delete is deleted.
func (w *Writer) recover() (record, error) {
	if err := w.removeAside(w.cfg.Dir); err != nil {
		return record{}, err
	}
	found, err := listHours(w.cfg.Dir)
	if err != nil {
		return record{}, err
	}
	r, err := w.lastState(found)
	if err != nil {
		return record{}, err
	}
	if err := w.storage.SyncDir(w.cfg.Dir); err != nil { // nothing may be deleted on the word of a state that could be lost
		return record{}, err
	}
	for _, h := range r.with(found, r.KeptFrom) {
		_, known := slices.BinarySearch(r.Hours, h)
		if err := w.tidy(h, r.State, known); err != nil {
			return record{}, fmt.Errorf("get hour %s into order: %w", h.Time().Format("2006-01-02 15h"), err)
		}
	}
	w.deleteBefore(r.KeptFrom)
	return r, nil
}

// lastState returns the state as of the last commit, from the manifests when its own file is lost.
func (w *Writer) lastState(found []crest.Millis) (record, error) {
	path := filepath.Join(w.cfg.Dir, stateName)
	var r record
	err := readDocument(path, &r)
	corrupt, damaged := errors.AsType[*CorruptError](err)
	switch {
	case err == nil:
		return r, nil
	case !damaged && !errors.Is(err, fs.ErrNotExist):
		return record{}, err
	case len(found) == 0 && !damaged:
		return record{}, nil
	}
	why := "it is missing"
	if damaged {
		why = corrupt.Reason
	}
	r, err = w.stateOfManifests(found)
	if err != nil {
		return record{}, err
	}
	w.repaired(path, why+"; the archive goes on from the last commit that its manifests prove to be finished")
	return r, writeDocument(w.storage, path, r)
}

// stateOfManifests returns the state of the newest commit that is known to be finished, because another came after it.
func (w *Writer) stateOfManifests(found []crest.Millis) (record, error) {
	var r record
	var newest []State
	for _, h := range found {
		m, err := readManifest(w.cfg.Dir, h)
		_, damaged := errors.AsType[*CorruptError](err)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil && !damaged:
			return record{}, err
		case err == nil:
			newest = append(newest, m.Now.State)
			r.State = later(r.State, m.Before.State)
		}
		r.Hours = append(r.Hours, h)
	}
	slices.SortFunc(newest, func(a, b State) int { return cmp.Compare(a.Offset, b.Offset) })
	for _, s := range newest {
		if s.Offset < newest[len(newest)-1].Offset {
			r.State = later(r.State, s)
		}
	}
	if w.cfg.Retain > 0 && len(r.Hours) > 0 { // what isn't there from here back may have been deleted
		r.KeptFrom = max(r.KeptFrom, min(r.Hours[0], r.Watermark.Add(-MinRetain).Floor(hourLength)))
	}
	return r, nil
}

func later(a, b State) State {
	if b.Offset > a.Offset {
		return b
	}
	return a
}

// tidy leaves of an hour what its manifest lists as of the state. Of a known hour something must be there.
func (w *Writer) tidy(hour crest.Millis, state State, known bool) error {
	dir := hourDir(w.cfg.Dir, hour)
	if err := makeDirs(w.storage, w.cfg.Dir, dir); err != nil {
		return err
	}
	if err := w.removeAside(dir); err != nil {
		return err
	}
	m, err := readManifest(w.cfg.Dir, hour)
	corrupt, damaged := errors.AsType[*CorruptError](err)
	switch {
	case damaged && known:
		return w.rebuild(hour, state, corrupt.Reason)
	case errors.Is(err, fs.ErrNotExist) && known:
		return w.rebuild(hour, state, "it is missing")
	case damaged, errors.Is(err, fs.ErrNotExist): // of a commit that was not finished
		m = manifest{Hour: hour, Now: listing{State: State{Offset: state.Offset + 1}}}
	case err != nil:
		return err
	}
	if m.Now.State.Offset > state.Offset {
		m.Now = m.Before
		if err := writeDocument(w.storage, filepath.Join(dir, manifestName), m); err != nil {
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
