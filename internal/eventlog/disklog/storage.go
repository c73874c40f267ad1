package disklog

import (
	"io"
	"os"

	"crest/internal/durable"
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
	return &diskFile{File: f}, nil
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
	return &diskFile{File: f, size: info.Size(), reserved: info.Size()}, info.Size(), nil
}

func (disk) Remove(path string) error { return os.Remove(path) }

func (disk) SyncDir(dir string) error { return durable.Disk{}.SyncDir(dir) }

// reserveBytes is how much of the disk is reserved at once for what will be appended: a sync that need not allocate is
// quicker (docs/decisions/002-disk-log.md has figures).
const reserveBytes = 16 << 20

type diskFile struct {
	*os.File
	size     int64
	reserved int64 // up to where
}

func (f *diskFile) WriteAt(b []byte, at int64) (int, error) {
	if end := at + int64(len(b)); end > f.reserved {
		reserve(f.File, at, int64(len(b))+reserveBytes)
		f.reserved = end + reserveBytes
	}
	n, err := f.File.WriteAt(b, at)
	f.size = max(f.size, at+int64(n))
	return n, err
}

func (f *diskFile) Truncate(size int64) error {
	f.size, f.reserved = size, size // which gives back what is reserved beyond
	return f.File.Truncate(size)
}

func (f *diskFile) Sync() error { return syncData(f.File) }

func (f *diskFile) Close() error {
	if f.reserved > f.size {
		_ = f.File.Truncate(f.size) // it only gives back what is reserved
	}
	return f.File.Close()
}
