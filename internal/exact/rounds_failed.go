package exact

import (
	"errors"
	"os"
	"time"

	"crest/internal/archive"
)

// failure is why something could not be counted, and the file at fault, if there is one.
type failure struct {
	err  error
	file stamp
}

func failureOf(err error) failure {
	f := failure{err: err}
	if e, ok := errors.AsType[*archive.CorruptError](err); ok {
		f.file = stampOf(e.Path)
	}
	return f
}

// stamp tells whether a file is the one that it was.
type stamp struct {
	path     string
	bytes    int64 // -1 when it is missing
	modified time.Time
}

// forgetFailed drops what could not be counted: all of it, or that whose files have changed since, as when somebody put one
// back. The rest would fail again.
func (r *Recounter) forgetFailed(all bool) {
	for id, f := range r.failed {
		if all || f.file.path == "" || stampOf(f.file.path) != f.file {
			delete(r.failed, id)
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
