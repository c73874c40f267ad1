package list

import (
	"context"
	"fmt"
	"path"
	"slices"
	"time"

	"crest"
)

// writer puts new versions on disk. Only the goroutine that runs it uses it.
type writer struct {
	store *Store
	files Files
	kept  map[key]*kept
}

// kept is what is on disk of one list.
type kept struct {
	versions []string  // ascending, so oldest first
	pointer  string    // the version that the pointer names
	tried    time.Time // when a version was last written, or failed to be
}

// run writes until ctx is done, and then once more whatever has not been written yet.
func (w *writer) run(ctx context.Context) {
	tick := time.NewTicker(min(time.Second, w.store.cfg.WriteEvery))
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			w.writeDue(false)
		case <-ctx.Done():
			w.writeDue(true)
			return
		}
	}
}

// writeDue writes the current version of every list that has a new one and was not written lately, or, at the end, of
// every list that has a new one.
func (w *writer) writeDue(end bool) {
	for k, p := range *w.store.current.Load() {
		have := w.kept[k]
		if have == nil {
			have = &kept{}
			w.kept[k] = have
		}
		now := w.store.cfg.Now()
		if have.pointer == p.list.Version || !end && now.Sub(have.tried) < w.store.cfg.WriteEvery {
			continue
		}
		have.tried = now
		if err := w.write(have, p.list); err != nil && w.store.cfg.Observer.WriteFailed != nil {
			w.store.cfg.Observer.WriteFailed(k.board, k.window, err)
		}
	}
}

// write puts one version on disk: first the version whole, then the pointer to it, and only then goes what is too old.
func (w *writer) write(have *kept, l *crest.List) error {
	dir := directory(l.Board, l.Window)
	if err := w.files.Write(path.Join(dir, l.Version+blobSuffix), encodeBlob(l)); err != nil {
		return fmt.Errorf("write version: %w", err)
	}
	if at, found := slices.BinarySearch(have.versions, l.Version); !found {
		have.versions = slices.Insert(have.versions, at, l.Version)
	}
	pointer := path.Join(dir, pointerName)
	if err := w.files.Write(pointer+asideSuffix, encodePointer(l.Version)); err != nil {
		return fmt.Errorf("write pointer: %w", err)
	}
	if err := w.files.Rename(pointer+asideSuffix, pointer); err != nil {
		return fmt.Errorf("move pointer: %w", err)
	}
	if err := w.files.SyncDir(dir); err != nil {
		return fmt.Errorf("sync directory: %w", err)
	}
	have.pointer = l.Version
	return w.prune(dir, have)
}

// prune removes all but the newest versions, and never the one that the pointer names.
func (w *writer) prune(dir string, have *kept) error {
	for len(have.versions) > w.store.cfg.Keep && have.versions[0] != have.pointer {
		if err := w.files.Remove(path.Join(dir, have.versions[0]+blobSuffix)); err != nil {
			return fmt.Errorf("remove old version: %w", err)
		}
		have.versions = have.versions[1:]
	}
	return nil
}
