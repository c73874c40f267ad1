package sim

import (
	"maps"
	"slices"
	"sync"

	"crest"
	"crest/internal/list"
)

// shelf is where lists are published. Like the list store it never goes back; it keeps what is new until it is taken.
type shelf struct {
	mu      sync.Mutex
	served  map[string]*crest.List // by board and window
	fresh   []crest.List
	newest  crest.Millis
	changed chan struct{}
	skipped int // lists that were not made
	older   int // lists that came after newer ones, as they do after a restart
}

func newShelf() *shelf { return &shelf{served: map[string]*crest.List{}, changed: make(chan struct{})} }

// Publish is what the pipeline calls.
func (s *shelf) Publish(lists []crest.List) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range lists {
		l := &lists[i]
		key := l.Board + " " + l.Window
		if before := s.served[key]; before != nil && l.AsOf < before.AsOf {
			s.older++
			continue
		}
		s.served[key] = l
		s.fresh = append(s.fresh, *l)
		s.newest = max(s.newest, l.AsOf)
	}
	s.notify()
}

func (s *shelf) notify() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// skip notes that lists could not be made.
func (s *shelf) skip() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.skipped++
	s.notify()
}

// all returns what is served, by board and window.
func (s *shelf) all() []*crest.List {
	s.mu.Lock()
	defer s.mu.Unlock()
	var lists []*crest.List
	for _, key := range slices.Sorted(maps.Keys(s.served)) {
		lists = append(lists, s.served[key])
	}
	return lists
}

// Current says that there is no list before, so that nothing is rendered: that takes longer than all the rest.
func (s *shelf) Current(string, string) *list.Published { return nil }

// take returns the lists that are new, and whether those of a moment are there, or will not come.
func (s *shelf) take(t crest.Millis) (fresh []crest.List, done bool, changed <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fresh, done, changed = s.fresh, s.newest >= t || s.skipped > 0, s.changed
	s.fresh = nil
	if done {
		s.skipped = 0
	}
	return fresh, done, changed
}
