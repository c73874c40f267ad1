package exact

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"crest"
	"crest/internal/counts"
)

// Load opens the newest manifest and verifies the files that lists need. What is damaged moves Until back and is told by
// Problems; it is an error only when something can't be read for another reason. A directory without counts gives a
// snapshot without hours.
func Load(config Config) (*Snapshot, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	config.setDefaults()
	return load(config, newStore(config.Dir))
}

// Next loads the newest manifest and shares with s the files that both refer to, so that they aren't verified again.
func (s *Snapshot) Next() (*Snapshot, error) { return load(s.config, s.held.store) }

// Changed reports whether there is a newer manifest, or may be. It looks at the manifest's name alone.
func (s *Snapshot) Changed() bool {
	now, err := os.Stat(filepath.Join(s.config.Dir, manifestName))
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist) || s.seen != nil
	}
	return s.seen == nil || !os.SameFile(s.seen, now) || !s.seen.ModTime().Equal(now.ModTime()) || s.seen.Size() != now.Size()
}

// Close closes the snapshot's files that no other snapshot shares. It must not be used any more. One that nobody refers to
// any more needs no Close.
func (s *Snapshot) Close() error { return s.held.release(true) }

// loadTries bounds how often loading starts again because the manifest was replaced meanwhile.
const loadTries = 5

func load(config Config, st *store) (*Snapshot, error) {
	for try := 1; ; try++ {
		s, err := loadOnce(config, st)
		if err != nil {
			return nil, fmt.Errorf("load the exact counts: %w", err)
		}
		if len(s.problems) == 0 || try == loadTries || !s.Changed() {
			return s, nil
		}
		// Files of a manifest that has been replaced may be gone by now.
		if err := s.Close(); err != nil {
			return nil, fmt.Errorf("load the exact counts: %w", err)
		}
	}
}

func loadOnce(config Config, st *store) (*Snapshot, error) {
	path := filepath.Join(config.Dir, manifestName)
	seen, err := os.Stat(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	m, version, err := readManifest(path)
	if err != nil && !isDamage(err) {
		return nil, err
	}
	before, beforeVersion, beforeErr := readManifest(filepath.Join(config.Dir, beforeName))
	if beforeErr != nil && !isDamage(beforeErr) {
		return nil, beforeErr
	}
	if err != nil && beforeErr != nil {
		s := newSnapshot(config, st, &manifest{}, "", seen)
		if !errors.Is(err, fs.ErrNotExist) || !errors.Is(beforeErr, fs.ErrNotExist) {
			s.problems = append(s.problems, Problem{Path: path, Err: fmt.Errorf("%w; nothing counts until it has been made again", err)})
		}
		return s, nil
	}
	if err != nil {
		s := newSnapshot(config, st, before, beforeVersion, seen)
		if len(before.Hours) == 0 && errors.Is(err, fs.ErrNotExist) {
			return s, nil // the first round has not ended
		}
		s.problems = append(s.problems, Problem{Path: path, Err: fmt.Errorf("%w; the manifest before it counts", err)})
		return s, s.openAll()
	}
	s := newSnapshot(config, st, m, version, seen)
	if err := s.openAll(); err != nil || s.whole() || beforeErr != nil {
		return s, err
	}
	// What the newest round made may be what is damaged: then all is as it was before.
	b := newSnapshot(config, st, before, beforeVersion, seen)
	if err := b.openAll(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if !b.whole() {
		return s, b.Close()
	}
	b.problems = s.problems
	return b, s.Close()
}

func newSnapshot(config Config, st *store, m *manifest, version string, seen os.FileInfo) *Snapshot {
	s := &Snapshot{
		config: config, m: m, version: version, until: m.Until, seen: seen, held: &hold{store: st},
		totals: map[string]*openTotal{}, begins: m.beginnings(), hours: map[crest.Millis]*slot{}, bases: map[string][]*baseEntry{},
	}
	runtime.AddCleanup(s, func(h *hold) { _ = h.release(false) }, s.held)
	return s
}

// whole reports whether nothing that lists need is damaged.
func (s *Snapshot) whole() bool { return s.until == s.m.Until && len(s.totals) == len(s.m.Totals) }

// openTotal is the totals of a window. Both tables are nil when no hour of it has events.
type openTotal struct {
	*totalEntry
	counts     *counts.Table
	candidates *counts.CandidateTable
}

// openAll opens what lists need: the totals, and the hours that the windows are made of.
func (s *Snapshot) openAll() error {
	oldest := s.m.Until
	for i := range s.m.Totals {
		t := &s.m.Totals[i]
		if t.Hours > 0 {
			oldest = min(oldest, t.From)
		}
		o, err := s.openTotal(t)
		switch {
		case err == nil:
			s.totals[t.Window] = o
		case isDamage(err):
			s.problems = append(s.problems, Problem{Path: damagedPath(err), Err: fmt.Errorf("totals of window %s: %w", t.Window, err)})
		default:
			return errors.Join(err, s.Close())
		}
	}
	for _, h := range s.m.between(0, s.m.end0()) {
		if h.Damaged != "" {
			s.problems = append(s.problems, Problem{Hour: h.Start, Err: errors.New(h.Damaged)})
		}
		if h.Counts == nil || h.Damaged != "" || h.Start < oldest || h.Start >= s.m.Until {
			continue
		}
		held, err := s.hold(h.Counts, openCounts)
		switch {
		case err == nil:
			s.hours[h.Start] = held
		case isDamage(err):
			s.problems = append(s.problems, Problem{Hour: h.Start, Path: damagedPath(err), Err: err})
			s.until = min(s.until, h.Start)
		default:
			return errors.Join(err, s.Close())
		}
	}
	if len(s.m.Hours) > 0 && s.until <= s.m.first() {
		s.until = 0
	}
	return nil
}

func (s *Snapshot) openTotal(t *totalEntry) (*openTotal, error) {
	o := &openTotal{totalEntry: t}
	if t.Counts == nil {
		return o, nil
	}
	c, err := s.hold(t.Counts, openCounts)
	if err != nil {
		return nil, err
	}
	o.counts = c.counts
	if c, err = s.hold(t.Candidates, openCandidates); err != nil {
		return nil, err
	}
	o.candidates = c.candidates
	return o, nil
}

// hold opens a file of the store until Close.
func (s *Snapshot) hold(f *fileEntry, open func(path string, info counts.Info, to *slot) error) (*slot, error) {
	held, key, err := s.held.store.acquire(f, open)
	if err != nil {
		return nil, err
	}
	s.held.keys = append(s.held.keys, key)
	return held, nil
}
