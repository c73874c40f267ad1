package archive

import (
	"fmt"
	"path/filepath"

	"crest"
	"crest/internal/eventlog"
)

// File is one Parquet file of an hour. It never changes, and its name is never used again.
type File struct {
	Name     string `json:"name"`
	Rows     int64  `json:"rows"`
	Bytes    int64  `json:"bytes"`
	Checksum string `json:"checksum"` // xxh3-128 of the whole file, 32 hex digits
	Received Span   `json:"received"` // all in one slot, unless it was made for a closed hour
	Time     Span   `json:"time"`     // of events, clamped to received
	Weight   uint64 `json:"weight"`
}

// Span is from the first to the last moment, both included.
type Span struct {
	First crest.Millis `json:"first"`
	Last  crest.Millis `json:"last"`
}

func (s *Span) add(t crest.Millis) {
	s.First, s.Last = min(s.First, t), max(s.Last, t)
}

// Hour is what the archive has of one event hour.
type Hour struct {
	Start crest.Millis
	Files []File // in the order of their rows: ascending by received time
}

// manifest lists an hour's files as of one commit and as of the one before. Which of them counts, the state says: until it
// has reached the offset of Now, that commit is not finished.
type manifest struct {
	Hour   crest.Millis `json:"hour"`
	Next   int          `json:"next"`           // number of the next file
	Lost   string       `json:"lost,omitempty"` // why rows of the hour are known to be lost
	Now    listing      `json:"now"`
	Before listing      `json:"before"`
}

type listing struct {
	Offset eventlog.Offset `json:"offset"` // of the log, that the commit reached
	Files  []File          `json:"files"`
}

// as returns the files when the log has been archived to an offset.
func (m *manifest) as(offset eventlog.Offset) []File {
	if m.Now.Offset > offset {
		return m.Before.Files
	}
	return m.Now.Files
}

const (
	manifestName  = "manifest.json"
	parquetSuffix = ".parquet"
)

func fileName(number int) string { return fmt.Sprintf("%06d%s", number, parquetSuffix) }

// hourLayout is the name of an hour's directory, below that of its day.
const hourLayout = "date=2006-01-02/hour=15"

// hourName returns the name of an hour's directory, "date=2026-11-30/hour=09".
func hourName(start crest.Millis) string { return start.Time().Format(hourLayout) }

// hourDir returns the directory of an hour.
func hourDir(dir string, start crest.Millis) string {
	return filepath.Join(dir, filepath.FromSlash(hourName(start)))
}

// readManifest fails with fs.ErrNotExist when the hour has none.
func readManifest(dir string, start crest.Millis) (manifest, error) {
	path := filepath.Join(hourDir(dir, start), manifestName)
	m := manifest{}
	err := readDocument(path, &m)
	if err != nil {
		return manifest{}, fmt.Errorf("read the manifest of an hour: %w", err)
	}
	if m.Hour != start {
		return manifest{}, &CorruptError{path, fmt.Sprintf("it is of another hour, %s", m.Hour.Time())}
	}
	return m, nil
}
