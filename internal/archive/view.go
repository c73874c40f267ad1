package archive

import (
	"fmt"
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
	state, err := readState(dir) // before the hours: they have at least what it says
	if err != nil {
		return nil, err
	}
	hours, err := listHours(dir)
	if err != nil {
		return nil, fmt.Errorf("list the archive: %w", err)
	}
	hours = slices.DeleteFunc(hours, func(h crest.Millis) bool { return h < state.KeptFrom })
	return &View{State: state, dir: dir, hours: hours}, nil
}

// Dir returns the archive's directory.
func (v *View) Dir() string { return v.dir }

// Hours returns the starts of the hours that have a directory, ascending. It may have no files yet. The slice is the caller's.
func (v *View) Hours() []crest.Millis { return slices.Clone(v.hours) }

// Closed is [State.Closed].
func (v *View) Closed(start crest.Millis) bool { return v.State.Closed(start) }

// Hour returns what the archive has of the hour that begins at start, at least all up to the state; without files when there
// is nothing. A damaged manifest is a *CorruptError.
func (v *View) Hour(start crest.Millis) (Hour, error) {
	if start < v.State.KeptFrom {
		return Hour{Start: start}, nil
	}
	m, err := readManifest(v.dir, start)
	if err != nil {
		return Hour{}, err
	}
	return Hour{Start: start, Files: m.as(v.State.Offset)}, nil
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
		t, err := time.ParseInLocation("date=2006-01-02/hour=15", filepath.ToSlash(rel), time.UTC)
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
