package counts

import (
	"errors"
	"path/filepath"

	"crest/internal/durable"
)

// output is a file on its way: written aside, hashed as it is written.
type output struct {
	files durable.Files
	path  string
	file  durable.File
	hash  *hasher
	bytes int64
}

func newOutput(files durable.Files, path string) (*output, error) {
	f, err := files.Create(path + durable.AsideSuffix)
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
		return errors.Join(err, o.files.Remove(o.path+durable.AsideSuffix))
	}
	if err := o.files.Rename(o.path+durable.AsideSuffix, o.path); err != nil {
		return errors.Join(err, o.files.Remove(o.path+durable.AsideSuffix))
	}
	return o.files.SyncDir(filepath.Dir(o.path))
}

// abort removes what was written.
func (o *output) abort() error {
	return errors.Join(o.file.Close(), o.files.Remove(o.path+durable.AsideSuffix))
}
