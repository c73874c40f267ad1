package exact

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/zeebo/xxh3"

	"crest"
	"crest/internal/counts"
)

// manifest says what has been counted and which files hold it. It is replaced as a whole: that is the moment at which a
// round counts.
type manifest struct {
	Since  crest.Millis        `json:"since"` // events received before may be in no hour
	Cut    crest.Millis        `json:"cut"`   // of the archive when the round was made; no hour's is later
	Until  crest.Millis        `json:"until"` // end of the unbroken run of hours that are whole; 0 without hours
	Boards map[string][]string `json:"boards,omitempty"`
	Hours  []hourEntry         `json:"hours"` // one for each hour from the first that had events, ascending
	Totals []totalEntry        `json:"totals"`
}

// hourEntry is one hour. An hour without events has no files.
type hourEntry struct {
	hourCount
	Checked crest.Millis `json:"checked"` // nothing that is not in the count was received before; not before Cut
	Settled bool         `json:"settled,omitempty"`
	Damaged string       `json:"damaged,omitempty"` // why its counts can't be used, and can't be counted again
	Counts  *fileEntry   `json:"counts,omitempty"`
	Late    *fileEntry   `json:"late,omitempty"`
}

// hourCount is what an hour's files say of themselves as well, so that a manifest can be made from them.
type hourCount struct {
	Start      crest.Millis `json:"start"`
	Cut        crest.Millis `json:"cut"`              // everything received before is in the count
	ID         string       `json:"id,omitempty"`     // of all that the count depends on; empty without events
	Boards     string       `json:"boards,omitempty"` // key in manifest.Boards
	Wanted     string       `json:"wanted,omitempty"` // such a key, of what it has too many boards for; so it has its types' own alone
	Since      crest.Millis `json:"since,omitempty"`  // the manifest's when it was counted
	Rows       int64        `json:"rows"`             // of the archive, received before the cut
	Weight     uint64       `json:"weight"`           // of all types
	Duplicates uint64       `json:"duplicates"`       // weight dropped as sent before
	LateWeight uint64       `json:"late_weight"`      // of Weight, received after the hour's end
	Items      int64        `json:"items"`            // over all boards
}

// totalEntry is the sum of a window's hours.
type totalEntry struct {
	Window     string       `json:"window"`
	Hours      int          `json:"hours"` // 0 for all time
	From       crest.Millis `json:"from"`  // start of its first hour
	Until      crest.Millis `json:"until"`
	ID         string       `json:"id"`               // of the hours in it
	Wide       bool         `json:"wide,omitempty"`   // it has too many narrowed boards, so it has none
	Counts     *fileEntry   `json:"counts,omitempty"` // absent when no hour has events
	Candidates *fileEntry   `json:"candidates,omitempty"`
}

// fileEntry is a file, by its path below the directory, with slashes.
type fileEntry struct {
	Name string `json:"name"`
	counts.Info
}

const (
	manifestFormat = 1
	manifestName   = "manifest.json"
	beforeName     = "manifest-before.json" // the one before it, whose files are still there
	maxManifest    = 256 << 20              // bytes: of more than 50 years
)

// document is the file that holds a manifest.
type document struct {
	Format   int             `json:"format"`
	Checksum string          `json:"checksum"` // xxh3-128 of the manifest's bytes as they are here, 32 hexadecimal digits
	Manifest json.RawMessage `json:"manifest"`
}

// CorruptError says that a file of the exact counts is damaged or missing.
type CorruptError struct {
	Path   string
	Reason string
}

// Error names the file and what is wrong with it.
func (e *CorruptError) Error() string { return fmt.Sprintf("%s is damaged: %s", e.Path, e.Reason) }

// encode returns the bytes of the file, and the manifest's checksum.
func (m *manifest) encode() (file []byte, checksum string, err error) {
	content, err := json.Marshal(m)
	if err != nil {
		return nil, "", err
	}
	checksum = hash128(content)
	file, err = json.Marshal(document{manifestFormat, checksum, content})
	return append(file, '\n'), checksum, err
}

// readManifest returns fs.ErrNotExist when there is none, a *VersionError when it is of a later format, and a *CorruptError when
// it is damaged.
func readManifest(path string) (m *manifest, checksum string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, "", err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxManifest+1))
	if err != nil {
		return nil, "", err
	}
	return decodeManifest(path, b)
}

func decodeManifest(path string, b []byte) (*manifest, string, error) {
	var d document
	err := json.Unmarshal(b, &d)
	if err != nil {
		d.Format = leadingFormat(b)
	}
	switch {
	case d.Format > manifestFormat:
		return nil, "", &VersionError{path, d.Format}
	case len(b) > maxManifest:
		return nil, "", &CorruptError{path, fmt.Sprintf("it is larger than %d bytes", maxManifest)}
	case err != nil:
		return nil, "", &CorruptError{path, err.Error()}
	}
	if d.Format != manifestFormat {
		return nil, "", &CorruptError{path, fmt.Sprintf("it is of format %d; this program knows format %d", d.Format, manifestFormat)}
	}
	if hash128(d.Manifest) != d.Checksum {
		return nil, "", &CorruptError{path, "its checksum is wrong"}
	}
	m := new(manifest)
	if err := json.Unmarshal(d.Manifest, m); err != nil {
		return nil, "", &CorruptError{path, err.Error()}
	}
	if err := m.check(); err != nil {
		return nil, "", &CorruptError{path, err.Error()}
	}
	return m, d.Checksum, nil
}

// check reports what can't be in a manifest, whoever wrote it: the rest of the package relies on it.
func (m *manifest) check() error {
	for i, h := range m.Hours {
		switch {
		case h.Start != h.Start.Floor(hourLength):
			return errors.New("an hour begins within an hour")
		case i > 0 && h.Start != m.Hours[i-1].Start.Add(hourLength):
			return errors.New("hours are missing or out of order")
		}
		if err := errors.Join(h.Counts.check(), h.Late.check()); err != nil {
			return err
		}
	}
	if len(m.Hours) > 0 && (m.Until < m.first() || m.Until > m.end() || m.Until != m.Until.Floor(hourLength)) ||
		len(m.Hours) == 0 && m.Until != 0 {
		return errors.New("its end is not that of an hour")
	}
	for _, t := range m.Totals {
		if t.Hours < 0 || t.Hours > maxTotalHours {
			return errors.New("a window has too many hours")
		}
		if err := errors.Join(t.Counts.check(), t.Candidates.check()); err != nil {
			return err
		}
	}
	return nil
}

func (f *fileEntry) check() error {
	if f != nil && !filepath.IsLocal(filepath.FromSlash(f.Name)) {
		return fmt.Errorf("the file %q is elsewhere", f.Name)
	}
	return nil
}

// first returns the start of the first hour. There must be one.
func (m *manifest) first() crest.Millis { return m.Hours[0].Start }

// end returns the end of the last hour. There must be one.
func (m *manifest) end() crest.Millis { return m.Hours[len(m.Hours)-1].Start.Add(hourLength) }

// end0 is end, 0 without hours.
func (m *manifest) end0() crest.Millis {
	if len(m.Hours) == 0 {
		return 0
	}
	return m.end()
}

// hour returns the entry of an hour, nil when it is none of the manifest's.
func (m *manifest) hour(start crest.Millis) *hourEntry {
	if len(m.Hours) == 0 || start < m.first() || start >= m.end() || start != start.Floor(hourLength) {
		return nil
	}
	return &m.Hours[hoursBetween(m.first(), start)]
}

// between returns the entries of the hours in [from, until).
func (m *manifest) between(from, until crest.Millis) []hourEntry {
	if len(m.Hours) == 0 {
		return nil
	}
	from, until = max(from, m.first()), min(until, m.end())
	if from >= until {
		return nil
	}
	return m.Hours[hoursBetween(m.first(), from):hoursBetween(m.first(), until)]
}

// total returns the entry of a window, nil when it has none.
func (m *manifest) total(window string) *totalEntry {
	for i := range m.Totals {
		if m.Totals[i].Window == window {
			return &m.Totals[i]
		}
	}
	return nil
}

// files returns all files that the manifest refers to.
func (m *manifest) files() []*fileEntry {
	var all []*fileEntry
	for i := range m.Hours {
		all = append(all, m.Hours[i].files()...)
	}
	for i := range m.Totals {
		all = append(all, m.Totals[i].files()...)
	}
	return all
}

func (h *hourEntry) files() []*fileEntry { return present(h.Counts, h.Late) }

func (t *totalEntry) files() []*fileEntry { return present(t.Counts, t.Candidates) }

// present leaves out files that are not there.
func present(files ...*fileEntry) []*fileEntry {
	return slices.DeleteFunc(files, func(f *fileEntry) bool { return f == nil })
}

// run returns the end of the hours from the first on that are whole.
func (m *manifest) run() crest.Millis {
	if len(m.Hours) == 0 {
		return 0
	}
	for _, h := range m.Hours {
		if h.Damaged != "" {
			return h.Start
		}
	}
	return m.end()
}

// prune leaves out kinds of boards that no hour has been counted for.
func (m *manifest) prune() {
	used := map[string]bool{}
	for _, h := range m.Hours {
		used[h.Boards] = true
	}
	maps.DeleteFunc(m.Boards, func(id string, _ []string) bool { return !used[id] })
}

func (m *manifest) clone() *manifest {
	c := *m
	c.Hours = append([]hourEntry(nil), m.Hours...)
	c.Totals = append([]totalEntry(nil), m.Totals...)
	c.Boards = maps.Clone(m.Boards)
	return &c
}

// begin returns the start of a window's first hour, which may lie before the first hour counted.
func (t *totalEntry) begin() crest.Millis { return t.Until.Add(-time.Duration(t.Hours) * hourLength) }

// path returns where a file is.
func (f *fileEntry) path(dir string) string { return filepath.Join(dir, filepath.FromSlash(f.Name)) }

// hourDir returns the directory of an hour, "date=2026-11-30/hour=09".
func hourDir(start crest.Millis) string { return start.Time().Format(hourDirLayout) }

const hourDirLayout = "date=2006-01-02/hour=15"

// hoursBetween returns how many hours lie between two starts.
func hoursBetween(from, to crest.Millis) int {
	return int((to - from) / crest.Millis(hourLength.Milliseconds()))
}

func hash128(b []byte) string {
	sum := xxh3.Hash128(b).Bytes()
	return fmt.Sprintf("%x", sum[:])
}

// identity hashes, in order, all that something depends on. Each part ends with a line break, which no part has.
type identity struct{ b bytes.Buffer }

func (i *identity) add(parts ...any) {
	for _, p := range parts {
		fmt.Fprintf(&i.b, "%v\n", p)
	}
}

// text returns 16 hexadecimal digits.
func (i *identity) text() string { return hash128(i.b.Bytes())[:16] }

// isDamage reports whether an error says that a file is damaged or missing, as opposed to one that can't be read now.
func isDamage(err error) bool {
	if _, ok := errors.AsType[*CorruptError](err); ok {
		return true
	}
	_, ok := errors.AsType[*counts.CorruptError](err)
	return ok || errors.Is(err, fs.ErrNotExist)
}
