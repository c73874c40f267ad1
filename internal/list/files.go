package list

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
)

// Files is the directory tree that a store writes to and reads from. Names are relative, with slashes. An implementation
// may fail anywhere and may lose whatever had not been synced: no list is lost by that, but its newest versions may be.
type Files interface {
	fs.FS
	// Write makes a file of these bytes, and its directories, and returns once they are on disk.
	Write(name string, data []byte) error
	// Rename puts a file in the place of another in one step.
	Rename(from, to string) error
	// SyncDir returns once the files made in and removed from a directory are so on disk.
	SyncDir(name string) error
	Remove(name string) error
}

// directoryFiles are the files of a directory of the operating system.
type directoryFiles struct {
	fs.FS
	root string
}

func newDirectoryFiles(root string) directoryFiles {
	return directoryFiles{FS: os.DirFS(root), root: root}
}

func (d directoryFiles) path(name string) string {
	return filepath.Join(d.root, filepath.FromSlash(name))
}

func (d directoryFiles) Write(name string, data []byte) error {
	p := d.path(name)
	f, err := os.OpenFile(p, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		if err := d.makeDirectories(name); err != nil {
			return err
		}
		f, err = os.OpenFile(p, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	}
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// makeDirectories makes the directories above a file, and returns once they are on disk.
func (d directoryFiles) makeDirectories(name string) error {
	if err := os.MkdirAll(filepath.Dir(d.path(name)), 0o700); err != nil {
		return err
	}
	for dir := path.Dir(path.Dir(name)); ; dir = path.Dir(dir) {
		if err := d.SyncDir(dir); err != nil {
			return err
		}
		if dir == "." {
			return nil
		}
	}
}

func (d directoryFiles) Rename(from, to string) error { return os.Rename(d.path(from), d.path(to)) }

func (d directoryFiles) Remove(name string) error { return os.Remove(d.path(name)) }

func (d directoryFiles) SyncDir(name string) error {
	f, err := os.Open(d.path(name))
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
