package grade

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"crest"
)

// The limits of what is kept and read back of samples.
const (
	keepSamples = 7 * 24 * time.Hour // of received time
	maxSample   = 16 << 20           // bytes of one list
	maxEntries  = 100_000            // of one list; far above what a configuration allows
)

// errNoSample says that nothing was kept of a moment and window.
var errNoSample = errors.New("no sample was kept")

// writeSamples keeps lists of one moment and window. One that is there already of the same board makes room.
func writeSamples(dir string, asOf crest.Millis, window string, lists []crest.List) error {
	byBoard := map[string]*crest.List{}
	switch earlier, err := openSamples(dir, asOf, window, nil); {
	case err == nil:
		defer earlier.Close()
		for l := earlier.next(); l != nil; l = earlier.next() {
			byBoard[l.Board] = l
		}
	case !errors.Is(err, errNoSample):
		return fmt.Errorf("read earlier samples: %w", err)
	}
	for i := range lists {
		byBoard[lists[i].Board] = &lists[i]
	}
	var data []byte
	for _, board := range slices.Sorted(maps.Keys(byBoard)) {
		data = append(data, seal(bare(byBoard[board]).AppendJSON(nil))...)
	}
	if err := writeFile(samplePath(dir, asOf, window), data); err != nil {
		return fmt.Errorf("write samples: %w", err)
	}
	return nil
}

// bare returns a list without what grading has no use for.
func bare(l *crest.List) *crest.List {
	b := *l
	b.Top = slices.Clone(l.Top)
	for i := range b.Top {
		b.Top[i].Title, b.Top[i].Thumbnail, b.Top[i].PreviousRank = "", "", 0
	}
	return &b
}

// samples reads the lists that were kept of one moment and window, by board ascending.
type samples struct {
	path    string
	asOf    crest.Millis
	window  string
	damaged func(name string, err error) // is told of lines that can't be used; may be nil
	file    *os.File
	lines   *bufio.Scanner
	line    int
	bad     int    // lines that could not be used
	last    string // board of the last list
}

// openSamples returns errNoSample when there is no file.
func openSamples(dir string, asOf crest.Millis, window string, damaged func(name string, err error)) (*samples, error) {
	path := samplePath(dir, asOf, window)
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errNoSample
	}
	if err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(f)
	lines.Buffer(make([]byte, 64<<10), maxSample)
	return &samples{path: path, asOf: asOf, window: window, damaged: damaged, file: f, lines: lines}, nil
}

// next returns the next list that can be used, nil when there is none.
func (s *samples) next() *crest.List {
	for s.lines.Scan() {
		s.line++
		l, err := decodeSample(s.lines.Bytes())
		if err == nil {
			err = checkSample(l, s.asOf, s.window, s.last)
		}
		if err == nil {
			s.last = l.Board
			return l
		}
		s.tell(err)
	}
	if err := s.lines.Err(); err != nil {
		s.line++
		s.tell(err)
		s.lines = bufio.NewScanner(strings.NewReader(""))
	}
	return nil
}

func (s *samples) tell(err error) {
	s.bad++
	if s.damaged != nil {
		s.damaged(fmt.Sprintf("%s:%d", s.path, s.line), err)
	}
}

// Close closes the file.
func (s *samples) Close() error { return s.file.Close() }

func decodeSample(line []byte) (*crest.List, error) {
	document, err := unseal(line)
	if err != nil {
		return nil, err
	}
	l := new(crest.List)
	return l, l.UnmarshalJSON(document)
}

// checkSample reports what would make a grade say something of another list, or use up memory.
func checkSample(l *crest.List, asOf crest.Millis, window, last string) error {
	switch {
	case l.AsOf != asOf || l.Window != window:
		return fmt.Errorf("is a list of %s as of %d, which belongs elsewhere", l.Window, l.AsOf)
	case l.Board <= last:
		return fmt.Errorf("is of board %q, which does not come after %q", l.Board, last)
	case l.K < len(l.Top) || l.K > maxEntries || l.Proven < 0 || l.Proven > len(l.Top):
		return fmt.Errorf("has %d entries and %d proven ranks with a k of %d", len(l.Top), l.Proven, l.K)
	}
	seen := make(map[string]bool, len(l.Top))
	for i := range l.Top {
		e := &l.Top[i]
		if seen[e.ID] || e.Error > e.Count {
			return fmt.Errorf("has an entry %d that no list has", i+1)
		}
		seen[e.ID] = true
	}
	return nil
}

// sampleHours returns the moments of which there are samples, ascending.
func sampleHours(dir string) ([]crest.Millis, error) {
	root := filepath.Join(dir, samplesName)
	days, err := dates(root)
	var all []crest.Millis
	for _, day := range days {
		var of []crest.Millis
		if of, err = hours(root, day, ""); err != nil {
			return nil, err
		}
		all = append(all, of...)
	}
	return all, err
}

// removeSamples removes the samples of a moment.
func removeSamples(dir string, asOf crest.Millis) error {
	hour := sampleDirectory(dir, asOf)
	if err := os.RemoveAll(hour); err != nil {
		return fmt.Errorf("remove samples: %w", err)
	}
	_ = os.Remove(filepath.Dir(hour)) // the day's, if that was its last
	return nil
}

// pruneSamples removes samples older than keepSamples before the newest, and the oldest of them beyond so many bytes.
func pruneSamples(dir string, newest crest.Millis, maxBytes int64) error {
	all, err := sampleHours(dir)
	if err != nil {
		return err
	}
	slices.Reverse(all)
	used := int64(0)
	for _, asOf := range all {
		size, err := sizeOfSamples(dir, asOf)
		if err != nil {
			return err
		}
		if used += size; asOf == newest || asOf >= newest.Add(-keepSamples) && used <= maxBytes {
			continue
		}
		if err := removeSamples(dir, asOf); err != nil {
			return err
		}
	}
	return nil
}

func sizeOfSamples(dir string, asOf crest.Millis) (bytes int64, err error) {
	hour := sampleDirectory(dir, asOf)
	files, err := names(hour, func(name string) bool { return strings.HasSuffix(name, sampleSuffix) })
	for _, name := range files {
		info, statErr := os.Stat(filepath.Join(hour, name))
		if errors.Is(statErr, fs.ErrNotExist) { // graded meanwhile
			continue
		}
		if statErr != nil {
			return 0, statErr
		}
		bytes += info.Size()
	}
	return bytes, err
}
