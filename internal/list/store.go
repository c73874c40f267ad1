package list

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"crest"
)

// Config says what a store keeps and where.
type Config struct {
	Dir        string                  // directory of versions and pointers; empty keeps lists in memory alone
	Files      Files                   // in place of Dir
	Windows    []crest.Window          // the windows served; lists of others on disk are ignored
	Serves     func(board string) bool // whether lists on disk of a board are served; nil means of every board
	MaxK       int                     // the longest list
	Sizes      []int                   // the only k offered, ascending; empty means any k from 1 to MaxK
	WriteEvery time.Duration           // least time between two writes of one list to disk; 10 s when 0
	Keep       int                     // versions of each list kept on disk, the newest; 10 when 0
	Now        func() time.Time        // the clock; time.Now when nil
	Observer   Observer
}

// fill checks the configuration and puts in the defaults.
func (c *Config) fill() error {
	if c.MaxK < 1 {
		return crest.Errorf(crest.CodeOutOfRange, "max_k", "is %d; a list has at least one entry", c.MaxK)
	}
	if !slices.IsSorted(c.Sizes) || len(c.Sizes) > 0 && (c.Sizes[0] < 1 || c.Sizes[len(c.Sizes)-1] > c.MaxK) {
		return crest.Errorf(crest.CodeOutOfRange, "sizes", "are %v; they must ascend and lie within 1 and %d", c.Sizes, c.MaxK)
	}
	if c.Files == nil && c.Dir != "" {
		c.Files = newDirectoryFiles(c.Dir)
	}
	if c.WriteEvery <= 0 {
		c.WriteEvery = 10 * time.Second
	}
	if c.Keep <= 0 {
		c.Keep = 10
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return nil
}

// Observer is told what the store does. Every function may be nil. They may be called from several goroutines, some of
// them while the store is locked, so they must not call it back.
type Observer struct {
	Stale       func(board, window string)            // a list has become stale
	WriteFailed func(board, window string, err error) // a new version is not on disk, or an old one could not be removed
	Corrupt     func(name string, err error)          // a file can't be used; an older version serves if there is one
}

// Store keeps the current version of every list. Reading takes no lock and never waits.
type Store struct {
	cfg     Config
	sizes   sizes
	with    *compressor
	windows map[string]crest.Window
	writer  *writer // nil without a directory
	current atomic.Pointer[snapshot]
	mu      sync.Mutex // held while a snapshot is being replaced
}

// snapshot is all current lists. It is never changed.
type snapshot map[key]*Published

type key struct{ board, window string }

// Current returns the newest list of a board and window, nil when there has been none.
func (s *Store) Current(board, window string) *Published {
	return (*s.current.Load())[key{board, window}]
}

// All returns the current lists, by board and then in the order in which the windows are configured.
func (s *Store) All() []*Published {
	order := map[string]int{}
	for i, w := range s.cfg.Windows {
		order[w.Name] = i
	}
	return slices.SortedFunc(maps.Values(*s.current.Load()), func(a, b *Published) int {
		return cmp.Or(cmp.Compare(a.list.Board, b.list.Board), cmp.Compare(order[a.list.Window], order[b.list.Window]))
	})
}

// Publish makes the lists of one refresh current, all in one step: a reader finds all of them or none. A list whose
// as_of is before that of the one being served is ignored, so that a replay after a restart never takes readers back.
// The lists belong to the store from then on.
func (s *Store) Publish(lists []crest.List) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.cfg.Now()
	next := maps.Clone(*s.current.Load())
	for i := range lists {
		l := &lists[i]
		k := key{l.Board, l.Window}
		previous := next[k]
		if previous != nil && supersedes(previous.list, l, now) {
			continue
		}
		l.Stale = s.isStale(l, now)
		next[k] = render(l, &s.sizes, s.with, previous)
	}
	s.current.Store(&next)
}

// supersedes reports whether the list being served is newer than the one offered. One from the future, of a clock that
// has been put right since, must not keep the present out.
func supersedes(served, offered *crest.List, now time.Time) bool {
	return offered.AsOf < served.AsOf && served.AsOf <= crest.MillisOf(now)
}

// Check marks the lists that have become stale by now. They keep their version.
func (s *Store) Check(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var next snapshot
	for k, p := range *s.current.Load() {
		if p.list.Stale || !s.isStale(p.list, now) {
			continue
		}
		if next == nil {
			next = maps.Clone(*s.current.Load())
		}
		l := *p.list
		l.Stale = true
		next[k] = render(&l, &s.sizes, s.with, p)
		if s.cfg.Observer.Stale != nil {
			s.cfg.Observer.Stale(l.Board, l.Window)
		}
	}
	if next != nil {
		s.current.Store(&next)
	}
}

func (s *Store) isStale(l *crest.List, now time.Time) bool {
	w := s.windows[l.Window]
	return now.Sub(l.AsOf.Time()) >= w.StaleAfter()
}

func (s *Store) serves(l *crest.List) bool {
	_, known := s.windows[l.Window]
	return known && (s.cfg.Serves == nil || s.cfg.Serves(l.Board))
}
