package disklog

import (
	"fmt"
	"io"
	"os"
)

// storage is what the log writes through; tests put failures and power loss behind it.
type storage interface {
	Create(path string) (file, error) // or empties it
	Open(path string) (f file, size int64, err error)
	Remove(path string) error
	SyncDir(dir string) error // makes created and removed names durable
}

// file is a segment being written or recovered.
type file interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	Truncate(size int64) error
	Sync() error // makes the contents, and the size, durable
}

// disk is the storage of the operating system.
type disk struct{}

const fileMode = 0o600

func (disk) Create(path string) (file, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, fileMode)
	if err != nil {
		return nil, err
	}
	return diskFile{f}, nil
}

func (disk) Open(path string) (file, int64, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err != nil {
		_ = f.Close()
		return nil, 0, err
	}
	return diskFile{f}, info.Size(), nil
}

func (disk) Remove(path string) error { return os.Remove(path) }

func (disk) SyncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Sync(); err != nil {
		return fmt.Errorf("sync directory: %w", err)
	}
	return nil
}

type diskFile struct{ *os.File }

func (f diskFile) Sync() error { return syncData(f.File) }
