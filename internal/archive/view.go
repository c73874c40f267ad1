package archive

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"crest"
)

// View is an archive as a reader found it. A writer may go on beside it: files that it replaces meanwhile are told of by
// [ErrReplaced]. Methods may be called concurrently.
type View struct {
	State State

	dir   string
	hours []crest.Millis
}

// Read looks at the archive in a directory, which may be empty or absent: then the state is zero.
func Read(dir string) (*View, error) {
	r, err := readState(dir)
	if errors.Is(err, fs.ErrNotExist) {
		hours, listErr := listHours(dir)
		if listErr != nil {
			return nil, fmt.Errorf("list the archive: %w", listErr)
		}
		if len(hours) > 0 {
			return nil, &CorruptError{filepath.Join(dir, stateName), "it is missing, and so is its copy"}
		}
		return &View{dir: dir}, nil
	}
	if err != nil {
		return nil, err
	}
	return &View{State: r.State, dir: dir, hours: r.Hours}, nil
}

// Dir returns the archive's directory.
func (v *View) Dir() string { return v.dir }

// Hours returns the starts of the hours that have events, ascending. The slice is the caller's.
func (v *View) Hours() []crest.Millis { return slices.Clone(v.hours) }

// Closed is [State.Closed].
func (v *View) Closed(start crest.Millis) bool { return v.State.Closed(start) }

// Hour returns what the archive has of the hour that begins at start: as of the state, or of one commit after it. It has no
// files when there are no events. A damaged or missing manifest is a *CorruptError.
func (v *View) Hour(start crest.Millis) (Hour, error) {
	if _, ok := slices.BinarySearch(v.hours, start); !ok {
		return Hour{Start: start}, nil
	}
	path := filepath.Join(hourDir(v.dir, start), manifestName)
	m, err := readManifest(v.dir, start)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Hour{}, v.gone(start, &CorruptError{path, "it is missing"})
	case err != nil:
		return Hour{}, err
	case m.Lost != "":
		return Hour{}, &CorruptError{path, m.Lost}
	}
	return Hour{Start: start, Files: m.as(v.State.Offset)}, nil
}

// gone returns err, unless the hour has been deleted since the view was read: then it is ErrReplaced.
func (v *View) gone(start crest.Millis, err error) error {
	if now, stateErr := readState(v.dir); stateErr == nil && start < now.KeptFrom {
		return fmt.Errorf("%w: %s", ErrReplaced, hourDir(v.dir, start))
	}
	return err
}

// Path returns where a file of an hour is.
func (v *View) Path(hour crest.Millis, f File) string {
	return filepath.Join(hourDir(v.dir, hour), f.Name)
}

// listHours returns the hours that have a directory, ascending. Other names are left alone.
func listHours(dir string) ([]crest.Millis, error) {
	dates, err := filepath.Glob(filepath.Join(dir, "date=*", "hour=*"))
	if err != nil {
		return nil, err
	}
	var hours []crest.Millis
	for _, path := range dates {
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return nil, err
		}
		t, err := time.ParseInLocation(hourLayout, filepath.ToSlash(rel), time.UTC)
		if err != nil {
			continue
		}
		if info, err := os.Stat(path); err != nil || !info.IsDir() {
			continue
		}
		hours = append(hours, crest.MillisOf(t))
	}
	slices.Sort(hours)
	return hours, nil
}
