package exact

import (
	"errors"
	"io"
	"sync"

	"crest/internal/counts"
)

// store has the open files of the snapshots that follow one another. A file is open while any of them holds it.
type store struct {
	dir   string
	mu    sync.Mutex
	slots map[string]*slot // by name and checksum
}

// slot is an open file: a table of counts, or one of candidates.
type slot struct {
	counts     *counts.Table
	candidates *counts.CandidateTable
	closer     io.Closer
	holders    int
}

func newStore(dir string) *store { return &store{dir: dir, slots: map[string]*slot{}} }

// acquire opens and verifies a file, unless it is open already.
func (st *store) acquire(f *fileEntry, open func(path string, info counts.Info, to *slot) error) (*slot, string, error) {
	key := f.Name + " " + f.Checksum
	st.mu.Lock()
	defer st.mu.Unlock()
	if s, ok := st.slots[key]; ok {
		s.holders++
		return s, key, nil
	}
	s := &slot{holders: 1}
	if err := open(f.path(st.dir), f.Info, s); err != nil {
		return nil, "", err
	}
	st.slots[key] = s
	return s, key, nil
}

// hold is what a snapshot holds of a store. It has no way back to the snapshot, so that it can outlive it.
type hold struct {
	store *store
	keys  []string
}

// release gives up what is held. The files that nobody else holds are closed; or they are left to be closed when the last
// reader has let go of their tables, for a snapshot that was dropped without Close may have been in use to the end.
func (h *hold) release(closing bool) error {
	h.store.mu.Lock()
	defer h.store.mu.Unlock()
	var errs []error
	for _, key := range h.keys {
		s := h.store.slots[key]
		if s.holders--; s.holders > 0 {
			continue
		}
		delete(h.store.slots, key)
		if closing {
			errs = append(errs, s.closer.Close())
		}
	}
	h.keys = nil
	return errors.Join(errs...)
}

func openCounts(path string, info counts.Info, to *slot) (err error) {
	to.counts, err = counts.Open(path, info)
	to.closer = to.counts
	return err
}

func openCandidates(path string, info counts.Info, to *slot) (err error) {
	to.candidates, err = counts.OpenCandidates(path, info)
	to.closer = to.candidates
	return err
}
