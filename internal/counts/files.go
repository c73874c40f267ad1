package counts

import (
	"errors"
	"io"
	"os"
	"path/filepath"
)

// Files is where a writer puts its file. An implementation may fail anywhere: nothing is then visible under the file's name
// that is not whole.
type Files interface {
	// Create makes an empty file, in the place of one of that name.
	Create(name string) (File, error)
	// Rename puts a file in the place of another in one step.
	Rename(from, to string) error
	Remove(name string) error
	// SyncDir returns once the files made in and removed from a directory are so on disk.
	SyncDir(name string) error
}

// File is a file that is being written.
type File interface {
	io.Writer
	// Sync returns once all that was written is on disk.
	Sync() error
	Close() error
}

// osFiles are the files of the operating system.
type osFiles struct{}

const fileMode = 0o640 // any tool reads them, as the archive's

func (osFiles) Create(name string) (File, error) {
	return os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, fileMode)
}

func (osFiles) Rename(from, to string) error { return os.Rename(from, to) }

func (osFiles) Remove(name string) error { return os.Remove(name) }

func (osFiles) SyncDir(name string) error {
	d, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// output is a file on its way: written aside, hashed as it is written.
type output struct {
	files Files
	path  string
	file  File
	hash  *hasher
	bytes int64
}

// aside is what a file's name ends in until it is whole.
const aside = ".tmp"

func newOutput(files Files, path string) (*output, error) {
	f, err := files.Create(path + aside)
	if err != nil {
		return nil, err
	}
	return &output{files: files, path: path, file: f, hash: newHasher()}, nil
}

func (o *output) Write(p []byte) (int, error) {
	n, err := o.file.Write(p)
	o.hash.write(p[:n])
	o.bytes += int64(n)
	return n, err
}

// commit makes the file visible under its name.
func (o *output) commit() error {
	if err := o.file.Sync(); err != nil {
		return errors.Join(err, o.abort())
	}
	if err := o.file.Close(); err != nil {
		return errors.Join(err, o.files.Remove(o.path+aside))
	}
	if err := o.files.Rename(o.path+aside, o.path); err != nil {
		return errors.Join(err, o.files.Remove(o.path+aside))
	}
	return o.files.SyncDir(filepath.Dir(o.path))
}

// abort removes what was written.
func (o *output) abort() error {
	return errors.Join(o.file.Close(), o.files.Remove(o.path+aside))
}
