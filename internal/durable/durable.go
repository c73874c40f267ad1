// Package durable is how files are written that must survive a crash or a loss of power: whole or not at all under their
// names, through an interface behind which tests put both.
package durable

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// AsideSuffix ends the names of files that are not finished.
const AsideSuffix = ".tmp"

// Files is what is written through. An implementation may fail anywhere.
type Files interface {
	Create(path string) (File, error) // or empties it
	Rename(from, to string) error     // in one step, in the place of what is there
	Remove(path string) error         // a file, or an empty directory
	MakeDir(path string) error        // its parent exists; no error when it exists
	SyncDir(path string) error        // makes created, renamed and removed names durable
}

// File is one that is being written.
type File interface {
	io.Writer
	io.Closer
	Sync() error // makes the contents durable
}

// Any tool of the group's may read what is written.
const (
	FileMode fs.FileMode = 0o640
	DirMode  fs.FileMode = 0o750
)

// Disk is the files of the operating system.
type Disk struct{}

// Create implements Files.
func (Disk) Create(path string) (File, error) {
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, FileMode)
}

// Rename implements Files.
func (Disk) Rename(from, to string) error { return os.Rename(from, to) }

// Remove implements Files.
func (Disk) Remove(path string) error { return os.Remove(path) }

// MakeDir implements Files.
func (Disk) MakeDir(path string) error {
	err := os.Mkdir(path, DirMode)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// SyncDir implements Files.
func (Disk) SyncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil {
		return fmt.Errorf("sync directory: %w", err)
	}
	return nil
}

// MakeDirs makes the directories of a path below dir, which exists, and returns once they are on disk.
func MakeDirs(files Files, dir, below string) error {
	for part := range strings.SplitSeq(filepath.ToSlash(below), "/") {
		next := filepath.Join(dir, part)
		if info, err := os.Stat(next); err != nil || !info.IsDir() {
			if err := files.MakeDir(next); err != nil {
				return err
			}
			if err := files.SyncDir(dir); err != nil {
				return err
			}
		}
		dir = next
	}
	return nil
}

// Replace gives a file new contents, all of them or none. Its name is durable once its directory is synced.
func Replace(files Files, path string, content []byte) error {
	f, err := files.Create(path + AsideSuffix)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	return files.Rename(path+AsideSuffix, path)
}
