package list

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"crest"
)

// checkEvery is how often lists are looked at for staleness.
const checkEvery = time.Second

// Open returns a store that serves the last good version of every list on disk. A damaged file never keeps it from
// opening: the observer is told, and an older version serves.
func Open(cfg Config) (*Store, error) {
	if err := cfg.fill(); err != nil {
		return nil, err
	}
	with, err := newCompressor()
	if err != nil {
		return nil, err
	}
	s := &Store{cfg: cfg, with: with, sizes: newSizes(cfg.MaxK, cfg.Sizes), windows: map[string]crest.Window{}}
	for _, w := range cfg.Windows {
		s.windows[w.Name] = w
	}
	s.current.Store(&snapshot{})
	if cfg.Files == nil {
		return s, nil
	}
	s.writer = &writer{store: s, files: cfg.Files, kept: map[key]*kept{}}
	lists, err := s.writer.load()
	if err != nil {
		return nil, fmt.Errorf("open lists: %w", err)
	}
	s.Publish(lists)
	return s, nil
}

// Run marks lists stale as they age and writes new versions to disk, until ctx is done; then it writes what is not
// written yet. It must be called once at most. It returns nil: nothing that fails here keeps a list from being served,
// and the observer is told.
func (s *Store) Run(ctx context.Context) error {
	var writing sync.WaitGroup
	defer writing.Wait()
	if s.writer != nil {
		writing.Go(func() { s.writer.run(ctx) })
	}
	tick := time.NewTicker(checkEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			s.Check(s.cfg.Now())
		case <-ctx.Done():
			return nil
		}
	}
}

// load returns the last good version of every list, and notes which versions there are.
func (w *writer) load() ([]crest.List, error) {
	boards, err := fs.ReadDir(w.files, ".")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var lists []crest.List
	for _, board := range boards {
		windows, err := fs.ReadDir(w.files, board.Name())
		if err != nil {
			w.corrupt(board.Name(), err)
			continue
		}
		for _, window := range windows {
			dir := path.Join(board.Name(), window.Name())
			if l := w.loadDirectory(dir); l != nil {
				lists = append(lists, *l)
			}
		}
	}
	return lists, nil
}

// loadDirectory returns the version that the pointer of a directory names; when pointer or version can't be used, the
// newest version that can; and nil when there is none, or when the list is not served any more.
func (w *writer) loadDirectory(dir string) *crest.List {
	files, err := fs.ReadDir(w.files, dir)
	if err != nil {
		w.corrupt(dir, err)
		return nil
	}
	var versions []string
	for _, f := range files {
		if version, ok := strings.CutSuffix(f.Name(), blobSuffix); ok {
			versions = append(versions, version)
		}
	}
	slices.Sort(versions)
	pointer := w.loadPointer(dir)
	candidates := slices.Clone(versions)
	slices.Reverse(candidates)
	if pointer != "" {
		candidates = append([]string{pointer}, candidates...)
	}
	for _, version := range candidates {
		l, err := w.loadBlob(dir, version)
		if err != nil {
			w.corrupt(path.Join(dir, version+blobSuffix), err)
			continue
		}
		if !w.store.serves(l) {
			return nil
		}
		have := &kept{versions: versions}
		if version == pointer {
			have.pointer = pointer
		}
		w.kept[key{l.Board, l.Window}] = have
		return l
	}
	return nil
}

// loadPointer returns "" when there is no pointer, as after a crash in the very first write, or no good one.
func (w *writer) loadPointer(dir string) string {
	name := path.Join(dir, pointerName)
	data, err := readFile(w.files, name)
	if errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	version := ""
	if err == nil {
		version, err = decodePointer(data)
	}
	if err != nil {
		w.corrupt(name, err)
		return ""
	}
	return version
}

func (w *writer) loadBlob(dir, version string) (*crest.List, error) {
	data, err := readFile(w.files, path.Join(dir, version+blobSuffix))
	if err != nil {
		return nil, err
	}
	l, err := decodeBlob(data)
	if err != nil {
		return nil, err
	}
	if l.Version != version || directory(l.Board, l.Window) != dir {
		return nil, fmt.Errorf("holds version %s of board %q, window %q, which belongs elsewhere", l.Version, l.Board, l.Window)
	}
	return l, nil
}

func (w *writer) corrupt(name string, err error) {
	if w.store.cfg.Observer.Corrupt != nil {
		w.store.cfg.Observer.Corrupt(name, err)
	}
}

// readFile is fs.ReadFile with a limit.
func readFile(files fs.FS, name string) ([]byte, error) {
	f, err := files.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxBlob+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxBlob {
		return nil, fmt.Errorf("has more than %d bytes", maxBlob)
	}
	return data, nil
}
