package archive

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"crest"
)

// deleteBefore deletes the hours before one, whole; the state has said before that they are not kept. What can't be deleted
// is tried again when the next hour goes, and by Open.
func (w *Writer) deleteBefore(from crest.Millis) {
	hours, err := listHours(w.cfg.Dir)
	if err != nil {
		w.noteFailed(err, 0)
		return
	}
	deleted, bytes := 0, int64(0)
	for _, h := range hours {
		if h >= from {
			break
		}
		n, err := w.deleteHour(h)
		if err != nil {
			w.noteFailed(err, 0)
			break
		}
		deleted++
		bytes += n
	}
	if fn := w.cfg.Observer.Deleted; fn != nil && deleted > 0 {
		fn(deleted, bytes)
	}
}

// deleteHour removes an hour's directory and, if it was the last of its day, the day's. It returns the bytes freed.
func (w *Writer) deleteHour(hour crest.Millis) (int64, error) {
	dir := hourDir(w.cfg.Dir, hour)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0, err
	}
	freed := int64(0)
	for _, e := range entries {
		info, err := e.Info()
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return 0, err
		}
		if err := w.storage.Remove(filepath.Join(dir, e.Name())); err != nil {
			return 0, err
		}
		if info != nil {
			freed += info.Size()
		}
	}
	if err := w.storage.Remove(dir); err != nil {
		return 0, err
	}
	day := filepath.Dir(dir)
	if rest, err := os.ReadDir(day); err == nil && len(rest) == 0 {
		return freed, w.storage.Remove(day)
	}
	return freed, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
