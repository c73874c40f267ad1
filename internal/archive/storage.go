package archive

import (
	"fmt"
	"io"
	"os"
)

// asideSuffix marks files that are not finished.
const asideSuffix = ".tmp"

// storage is what the writer writes through; tests put failures and power loss behind it.
type storage interface {
	Create(path string) (file, error) // or empties it
	Rename(from, to string) error
	Remove(path string) error  // a file, or an empty directory
	MakeDir(path string) error // its parent exists; no error when it exists
	SyncDir(path string) error // makes created, renamed and removed names durable
}

// file is one that is being written.
type file interface {
	io.Writer
	io.Closer
	Sync() error // makes the contents durable
}

// disk is the storage of the operating system.
type disk struct{}

const (
	fileMode = 0o640
	dirMode  = 0o750
)

func (disk) Create(path string) (file, error) {
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, fileMode)
}

func (disk) Rename(from, to string) error { return os.Rename(from, to) }

func (disk) Remove(path string) error { return os.Remove(path) }

func (disk) MakeDir(path string) error {
	err := os.Mkdir(path, dirMode)
	if os.IsExist(err) {
		return nil
	}
	return err
}

func (disk) SyncDir(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Sync(); err != nil {
		return fmt.Errorf("sync directory: %w", err)
	}
	return nil
}
