package archive

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"crest"
	"crest/internal/durable"
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

// lastState returns the state as of the last commit.
func (w *Writer) lastState(found []crest.Millis) (record, error) {
	path := filepath.Join(w.cfg.Dir, stateName)
	if err := w.mend(path); err != nil {
		return record{}, err
	}
	var r record
	err := readDocument(path, &r)
	missing := errors.Is(err, fs.ErrNotExist)
	switch {
	case missing && len(found) == 0: // from now on a missing state is known for a loss
		return record{}, writeDocument(w.storage, path, record{})
	case missing:
		err = &CorruptError{path, "it is missing, and so is its copy"}
	}
	if _, damaged := errors.AsType[*CorruptError](err); damaged {
		err = fmt.Errorf("%w. Without it nothing can be added. Put it back, or move the archive aside, so that a new one begins", err)
	}
	return r, err
}

func (w *Writer) mend(path string) error {
	wrong, err := mendDocument(w.storage, path)
	if wrong != "" {
		w.repaired(path, wrong+"; it was made again from its copy")
	}
	return err
}

// tidy leaves of an hour what its manifest lists as of the state. A known hour has a manifest, or has lost it.
func (w *Writer) tidy(hour crest.Millis, state State, known bool) error {
	dir := hourDir(w.cfg.Dir, hour)
	if err := durable.MakeDirs(w.storage, w.cfg.Dir, hourName(hour)); err != nil {
		return err
	}
	if err := w.removeAside(dir); err != nil {
		return err
	}
	path := filepath.Join(dir, manifestName)
	if err := w.mend(path); err != nil {
		return err
	}
	m, err := readManifest(w.cfg.Dir, hour)
	_, damaged := errors.AsType[*CorruptError](err)
	damaged = damaged || errors.Is(err, fs.ErrNotExist)
	switch {
	case damaged && known:
		return w.lose(hour, path)
	case damaged: // of a commit that was not finished
		m = manifest{Hour: hour, Now: listing{Offset: state.Offset + 1}}
	case err != nil:
		return err
	}
	if m.Now.Offset > state.Offset {
		m.Now = m.Before
		if err := writeDocument(w.storage, path, m); err != nil {
			return err
		}
	}
	if m.Lost != "" {
		return nil // files that may be of use to somebody stay
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

// lose notes that an hour's manifest is lost, and with it what its files are worth. They are left where they are.
func (w *Writer) lose(hour crest.Millis, path string) error {
	names, err := parquetNames(filepath.Dir(path))
	if err != nil {
		return err
	}
	m := manifest{Hour: hour, Lost: "it and its copy were damaged or missing: what its hour had is lost"}
	for _, name := range names {
		number := 0
		if _, err := fmt.Sscanf(name, "%d"+parquetSuffix, &number); err == nil {
			m.Next = max(m.Next, number+1)
		}
	}
	w.repaired(path, m.Lost)
	return writeDocument(w.storage, path, m)
}

// removeAside removes the files of a directory that were not finished.
func (w *Writer) removeAside(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), durable.AsideSuffix) && !e.IsDir() {
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
