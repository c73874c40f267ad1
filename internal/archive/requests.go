package archive

import (
	"slices"
	"time"

	"crest"
	"crest/internal/eventlog"
)

// wanted reports whether somebody waits for a commit of what has been read up to an offset, and takes it that one is made.
func (w *Writer) wanted(log eventlog.Log, offset eventlog.Offset) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	wanted := false
	for _, r := range w.requests {
		if r.until < 0 {
			_, r.until = log.Range()
		}
		if r.until <= offset && !r.asked {
			r.asked = true
			wanted = true
		}
	}
	return wanted
}

// committed notes a commit, and tells whoever waited for it.
func (w *Writer) committed(state State, done Commit) {
	w.offset.Store(int64(state.Offset))
	w.watermark.Store(int64(state.Watermark))
	w.mu.Lock()
	w.requests = slices.DeleteFunc(w.requests, func(r *request) bool {
		if r.until < 0 || r.until > state.Offset {
			return false
		}
		r.done <- nil
		return true
	})
	w.mu.Unlock()
	if fn := w.cfg.Observer.Committed; fn != nil {
		fn(done)
	}
}

// failed lets whoever waits for a commit wait for the next attempt's.
func (w *Writer) failed(err error, retry time.Duration) {
	w.mu.Lock()
	for _, r := range w.requests {
		r.asked = false
	}
	w.mu.Unlock()
	w.noteFailed(err, retry)
}

// end refuses those who still wait for a commit.
func (w *Writer) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = true
	for _, r := range w.requests {
		r.done <- crest.Errorf(crest.CodeShuttingDown, "", "the archive is no longer written")
	}
	w.requests = nil
}

// Needed returns the oldest offset that the archive has yet to read. The log must keep what comes after it.
func (w *Writer) Needed() eventlog.Offset { return eventlog.Offset(w.offset.Load()) }

// Watermark returns the received time before which everything is in the archive.
func (w *Writer) Watermark() crest.Millis { return crest.Millis(w.watermark.Load()) }

// Close gives up the archive, for another writer to open. Run must have returned.
func (w *Writer) Close() error { return w.lock.Close() }

func (w *Writer) noteSkipped(err error) {
	if fn := w.cfg.Observer.Skipped; fn != nil {
		fn(err)
	}
}

func (w *Writer) repaired(path, what string) {
	if fn := w.cfg.Observer.Repaired; fn != nil {
		fn(path, what)
	}
}

func (w *Writer) noteFailed(err error, retry time.Duration) {
	if fn := w.cfg.Observer.Failed; fn != nil {
		fn(err, retry)
	}
}
