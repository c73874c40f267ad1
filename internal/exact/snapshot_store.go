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

func (st *store) release(keys []string) error {
	st.mu.Lock()
	defer st.mu.Unlock()
	var errs []error
	for _, key := range keys {
		s := st.slots[key]
		if s.holders--; s.holders == 0 {
			delete(st.slots, key)
			errs = append(errs, s.closer.Close())
		}
	}
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
