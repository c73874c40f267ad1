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
	Dir        string            // directory for versions and pointers; empty keeps lists in memory alone
	Windows    []crest.Window    // the windows served; lists of others are ignored
	Serves     func(string) bool // whether a board of that name is still served; nil means every board
	MaxK       int               // the longest list
	Sizes      []int             // the only k offered, ascending; empty means any k from 1 to MaxK
	WriteEvery time.Duration     // least time between two writes of one list to disk; 10 s when 0
	Keep       int               // versions kept on disk of each list, the newest; 10 when 0
	Now        func() time.Time  // the clock; time.Now when nil
	Observer   Observer
}

// Observer is told what the store does. Every function may be nil. They are called by whoever called the store, one
// after another, and must not call it back.
type Observer struct {
	Published   func(lists int, took time.Duration)        // one refresh is being served
	Ignored     func(l *crest.List)                        // a list older than the one being served was not published
	Stale       func(board, window string, stale bool)     // a list has become stale, or fresh again
	Wrote       func(board, window, version string, n int) // a version of n bytes is on disk
	WriteFailed func(board, window string, err error)      // it is not; it is tried again with the next version
	Corrupt     func(path string, err error)               // a file on disk can't be used; an older one is
}

// Store keeps the current version of every list. Reading takes no lock and never waits; one goroutine publishes.
type Store struct {
	cfg     Config
	sizes   sizes
	windows map[string]crest.Window
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

// All returns the current lists, by type, board and the order of the windows in the configuration.
func (s *Store) All() []*Published {
	all := slices.Collect(maps.Values(*s.current.Load()))
	slices.SortFunc(all, func(a, b *Published) int {
		return cmp.Or(cmp.Compare(a.list.Board, b.list.Board),
			cmp.Compare(s.order(a.list.Window), s.order(b.list.Window)), cmp.Compare(a.list.Window, b.list.Window))
	})
	return all
}

func (s *Store) order(window string) int {
	return slices.IndexFunc(s.cfg.Windows, func(w crest.Window) bool { return w.Name == window })
}

// Publish makes the lists of one refresh current, all in one step: a reader finds all of them or none. A list whose
// as_of is before that of the one being served is ignored, so that a replay after a restart never takes readers back.
// The lists belong to the store from then on.
func (s *Store) Publish(lists []crest.List) {
	s.mu.Lock()
	defer s.mu.Unlock()
	began := s.cfg.Now()
	next := maps.Clone(*s.current.Load())
	published := 0
	for i := range lists {
		l := &lists[i]
		k := key{l.Board, l.Window}
		previous := next[k]
		if previous != nil && l.AsOf < previous.list.AsOf {
			if s.cfg.Observer.Ignored != nil {
				s.cfg.Observer.Ignored(l)
			}
			continue
		}
		l.Stale = s.isStale(l, began)
		next[k] = render(l, s.sizes, previous)
		published++
	}
	s.current.Store(&next)
	if s.cfg.Observer.Published != nil {
		s.cfg.Observer.Published(published, s.cfg.Now().Sub(began))
	}
}

func (s *Store) isStale(l *crest.List, now time.Time) bool {
	w := s.windows[l.Window]
	return now.Sub(l.AsOf.Time()) >= w.StaleAfter()
}
