package exact

import (
	"errors"
	"os"
	"time"

	"crest/internal/archive"
)

// stamp tells whether a file is the one that it was.
type stamp struct {
	path     string
	bytes    int64 // -1 when it is missing
	modified time.Time
}

// forgetFailed drops what could not be counted: all of it, or that whose files have changed since, as when somebody put one
// back. The rest would fail again.
func (r *Recounter) forgetFailed(all bool) {
	for id := range r.failed {
		if s, ok := r.stamps[id]; all || !ok || stampOf(s.path) != s {
			delete(r.failed, id)
			delete(r.stamps, id)
		}
	}
}

// stampFailed takes note of the files that kept something from being counted.
func (r *Recounter) stampFailed() {
	for id, err := range r.failed {
		if _, ok := r.stamps[id]; ok {
			continue
		}
		if e, ok := errors.AsType[*archive.CorruptError](err); ok {
			r.stamps[id] = stampOf(e.Path)
		}
	}
}

func stampOf(path string) stamp {
	info, err := os.Stat(path)
	if err != nil {
		return stamp{path: path, bytes: -1}
	}
	return stamp{path, info.Size(), info.ModTime()}
}
