package sim

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// maxCopies is how often a copy is begun again because something was written meanwhile.
const maxCopies = 50

// copyAtOnce copies a data directory in which a node is at work, as it is at one moment. Only the log may grow meanwhile: what is in
// it is never less than what the rest has seen, since it is copied last.
func copyAtOnce(from, to string) error {
	for range maxCopies {
		before, err := filesOf(from)
		if err != nil {
			return err
		}
		if err := copyTree(from, to); err != nil {
			return err
		}
		after, err := filesOf(from)
		if err != nil {
			return err
		}
		if maps.Equal(before, after) {
			return nil
		}
		if err := os.RemoveAll(to); err != nil {
			return err
		}
	}
	return fmt.Errorf("%s never stood still", from)
}

// stamp tells whether a file has been written to.
type stamp struct {
	size     int64
	modified time.Time
}

// filesOf returns the files of a data directory, but for the log's.
func filesOf(dir string) (map[string]stamp, error) {
	files := map[string]stamp{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) || err == nil && (d.IsDir() || strings.HasPrefix(path, filepath.Join(dir, "log"))) {
			return nil
		}
		if err != nil {
			return err
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		files[path] = stamp{info.Size(), info.ModTime()}
		return nil
	})
	return files, err
}

// copyTree copies a directory in which files may come and go. It goes by name, so that the log comes last.
func copyTree(from, to string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			return os.MkdirAll(filepath.Join(to, rel), 0o700)
		}
		return copyFile(path, filepath.Join(to, rel))
	})
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		return errors.Join(err, out.Close())
	}
	return out.Close()
}
