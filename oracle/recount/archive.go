package recount

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"crest"
)

// raw is what the archive's state and manifests say.
type raw struct {
	dir   string
	state archiveState
	hours []crest.Millis
}

type archiveState struct {
	Offset    int64        `json:"offset"`
	Watermark crest.Millis `json:"watermark"`
	KeptFrom  crest.Millis `json:"kept_from"`
}

// archiveManifest lists an hour's files as of two commits; the state says which of them has been finished.
type archiveManifest struct {
	Now    archiveListing `json:"now"`
	Before archiveListing `json:"before"`
}

type archiveListing struct {
	Offset int64         `json:"offset"`
	Files  []archiveFile `json:"files"`
}

type archiveFile struct {
	Name string `json:"name"`
}

func readArchive(dir string) (*raw, error) {
	a := &raw{dir: dir}
	if err := readContent(filepath.Join(dir, "state.json"), "content", &a.state); err != nil {
		return nil, fmt.Errorf("read the archive's state: %w", err)
	}
	paths, err := filepath.Glob(filepath.Join(dir, "date=*", "hour=*", "manifest.json"))
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		rel, err := filepath.Rel(dir, filepath.Dir(path))
		if err != nil {
			return nil, err
		}
		t, err := time.ParseInLocation("date=2006-01-02/hour=15", filepath.ToSlash(rel), time.UTC)
		if err != nil {
			return nil, fmt.Errorf("%s is not the directory of an hour", rel)
		}
		if hour := crest.MillisOf(t); hour >= a.state.KeptFrom {
			a.hours = append(a.hours, hour)
		}
	}
	slices.Sort(a.hours)
	return a, nil
}

// files returns the paths of an hour's files in order, none when the archive has nothing of it.
func (a *raw) files(hour crest.Millis) ([]string, error) {
	if _, ok := slices.BinarySearch(a.hours, hour); !ok {
		return nil, nil
	}
	dir := filepath.Join(a.dir, filepath.FromSlash(hourPath(hour)))
	var m archiveManifest
	if err := readContent(filepath.Join(dir, "manifest.json"), "content", &m); err != nil {
		return nil, fmt.Errorf("read the manifest of hour %s: %w", hourText(hour), err)
	}
	listing := m.Now
	if listing.Offset > a.state.Offset {
		listing = m.Before
	}
	var paths []string
	for _, f := range listing.Files {
		paths = append(paths, filepath.Join(dir, f.Name))
	}
	return paths, nil
}

// readContent reads one member of a JSON document.
func readContent(path, member string, into any) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var d map[string]json.RawMessage
	if err := json.Unmarshal(data, &d); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if d[member] == nil {
		return fmt.Errorf("%s has no %q", path, member)
	}
	return json.Unmarshal(d[member], into)
}

func missing(err error) bool { return errors.Is(err, fs.ErrNotExist) }

func hourPath(hour crest.Millis) string { return hour.Time().Format("date=2006-01-02/hour=15") }

func hourText(hour crest.Millis) string { return hour.Time().Format("2006-01-02T15") }
