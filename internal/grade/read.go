package grade

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"sync"
	"time"

	"crest"
)

// The bounds of one answer of a reader. What is beyond them is told by Next.
const (
	maxGrades  = 5000
	maxFiles   = 64
	cacheBytes = 32 << 20 // of files whose grades are kept in memory, which take somewhat more there
	maxDamaged = 20       // that are told
)

// Filter says which grades are wanted. The zero value wants all.
type Filter struct {
	Board  string       // "" for all
	Window string       // "" for all
	From   crest.Millis // of as_of
	To     crest.Millis // of as_of, not included; 0 for no end
	Limit  int          // hours, the newest that have such grades; 0 for all
}

// Answer is the grades that a filter lets through, as far as one answer goes.
type Answer struct {
	Grades  []Grade      // the newest hour first; within an hour by board and then window
	Next    crest.Millis // a filter with this as To gets what follows; 0 when there is no more
	Damaged []Damaged    // the first few files that can't be used
}

// Damaged is an hour whose grades can't be read.
type Damaged struct {
	Hour crest.Millis
	Path string
	Err  error
}

// Reader reads the grades of a directory, which a grader may write meanwhile. It keeps some of what it has read in memory.
// Methods may be called concurrently.
type Reader struct {
	dir    string
	room   int64      // for bytes of files whose grades are kept
	mu     sync.Mutex // one reads at a time: an answer costs so much at most
	cached map[crest.Millis]*cachedHour
	bytes  int64
	uses   int
}

// cachedHour is the content of a file.
type cachedHour struct {
	bytes    int64
	modified time.Time
	grades   []Grade
	used     int
}

// NewReader returns a reader of a directory, which need not exist yet.
func NewReader(dir string) *Reader {
	return &Reader{dir: dir, room: cacheBytes, cached: map[crest.Millis]*cachedHour{}}
}

// Read returns all grades of a directory that a filter lets through.
func Read(dir string, f Filter) (Answer, error) { return All(NewReader(dir).Read, f) }

// All reads all that a filter lets through, in as many answers as it takes.
func All(read func(Filter) (Answer, error), f Filter) (Answer, error) {
	all := Answer{Grades: []Grade{}}
	hours, last := 0, time.Time{}
	for next := f; ; next.To = all.Next {
		if f.Limit > 0 {
			next.Limit = f.Limit - hours
		}
		a, err := read(next)
		if err != nil {
			return all, err
		}
		for _, g := range a.Grades {
			if !g.AsOf.Equal(last) {
				hours, last = hours+1, g.AsOf
			}
		}
		all.Grades = append(all.Grades, a.Grades...)
		all.Damaged = append(all.Damaged, a.Damaged...)
		all.Next = a.Next
		if a.Next == 0 || f.Limit > 0 && hours >= f.Limit || next.To != 0 && a.Next >= next.To {
			return all, nil
		}
	}
}

// Read returns grades. A damaged file is named and passed over.
func (r *Reader) Read(f Filter) (Answer, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	a := Answer{Grades: []Grade{}}
	days, err := dates(r.dir)
	if err != nil {
		return a, err
	}
	slices.Reverse(days)
	found, files, last := 0, 0, crest.Millis(0)
	for _, day := range days {
		of, err := hours(r.dir, day, gradeSuffix)
		if err != nil {
			return a, err
		}
		slices.Reverse(of)
		for _, hour := range of {
			asOf := hour.Add(time.Hour)
			switch {
			case f.To != 0 && asOf >= f.To:
				continue
			case asOf < f.From:
				return a, nil
			case files == maxFiles || len(a.Grades) >= maxGrades || f.Limit > 0 && found == f.Limit:
				a.Next = last
				return a, nil
			}
			files, last = files+1, asOf
			grades, err := r.hour(hour)
			if err != nil {
				if !errors.Is(err, fs.ErrNotExist) && len(a.Damaged) < maxDamaged {
					a.Damaged = append(a.Damaged, Damaged{hour, gradePath(r.dir, hour), err})
				}
				continue
			}
			before := len(a.Grades)
			for _, g := range grades {
				if (f.Board == "" || f.Board == g.Board) && (f.Window == "" || f.Window == g.Window) {
					a.Grades = append(a.Grades, g)
				}
			}
			if len(a.Grades) > before {
				found++
			}
		}
	}
	return a, nil
}

// hour returns the grades of an hour, from memory if the file has not changed.
func (r *Reader) hour(hour crest.Millis) ([]Grade, error) {
	info, err := os.Stat(gradePath(r.dir, hour))
	if err != nil {
		return nil, err
	}
	r.uses++
	if c := r.cached[hour]; c != nil {
		if c.bytes == info.Size() && c.modified.Equal(info.ModTime()) {
			c.used = r.uses
			return c.grades, nil
		}
		r.forget(hour)
	}
	grades, err := readHour(r.dir, hour)
	if err != nil {
		return nil, err
	}
	r.cached[hour] = &cachedHour{bytes: info.Size(), modified: info.ModTime(), grades: grades, used: r.uses}
	for r.bytes += info.Size(); r.bytes > r.room && len(r.cached) > 1; {
		r.forget(r.longestUnused())
	}
	return grades, nil
}

func (r *Reader) forget(hour crest.Millis) {
	r.bytes -= r.cached[hour].bytes
	delete(r.cached, hour)
}

func (r *Reader) longestUnused() crest.Millis {
	oldest := crest.Millis(-1)
	for hour, c := range r.cached {
		if oldest < 0 || c.used < r.cached[oldest].used {
			oldest = hour
		}
	}
	return oldest
}
