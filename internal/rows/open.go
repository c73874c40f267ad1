package rows

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"crest"
)

// maxZstdMemory bounds what a crafted zstd file can make its decoder allocate. Files of zstd --ultra --long=27 still fit.
const maxZstdMemory = 256 << 20

// Input is a file that is to be read.
type Input struct {
	Name  string    // for messages and for the format, when it has to be guessed
	From  io.Reader // as stored: compressed or not
	Size  int64     // bytes as stored; 0 when unknown
	close func() error
	read  atomic.Int64
}

// Open opens a file by name; "-" is stdin.
func Open(name string, stdin io.Reader) (*Input, error) {
	if name == "-" {
		return &Input{Name: "standard input", From: stdin}, nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && info.IsDir() {
		err = crest.Errorf(crest.CodeMalformed, "", "%s is a directory; name the files in it", name)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	in := &Input{Name: name, From: f, close: f.Close}
	if info.Mode().IsRegular() {
		in.Size = info.Size()
	}
	return in, nil
}

// BytesRead returns how much was read so far, as stored. It may be called while another goroutine reads.
func (in *Input) BytesRead() int64 { return in.read.Load() }

// Close closes the file.
func (in *Input) Close() error {
	if in.close == nil {
		return nil
	}
	return in.close()
}

// Read reads the file as stored.
func (in *Input) Read(p []byte) (int, error) {
	n, err := in.From.Read(p)
	in.read.Add(int64(n))
	return n, err
}

// decompressed returns the file's content. What it is compressed with is told by its first bytes, whatever its name
// says: browsers and proxies like to unpack a .gz and leave its name.
func (in *Input) decompressed() (io.Reader, error) {
	stored := bufio.NewReaderSize(in, 256<<10)
	magic, err := stored.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read %s: %w", in.Name, err)
	}
	switch {
	case bytes.HasPrefix(magic, []byte{0x1f, 0x8b}):
		z, err := gzip.NewReader(stored)
		if err != nil {
			return nil, in.corrupt("gzip", err)
		}
		return &unpacked{in, "gzip", z}, nil
	case bytes.Equal(magic, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		z, err := zstd.NewReader(stored, zstd.WithDecoderMaxWindow(maxZstdMemory/2), zstd.WithDecoderMaxMemory(maxZstdMemory),
			zstd.WithDecoderConcurrency(1))
		if err != nil {
			return nil, in.corrupt("zstd", err)
		}
		return &unpacked{in, "zstd", z}, nil
	}
	return stored, nil
}

func (in *Input) corrupt(method string, err error) error {
	return crest.Errorf(crest.CodeCorruptEncoding, "", "%s is not intact %s: %v", in.Name, method, err)
}

// unpacked gives the errors of a decompressor the file's name.
type unpacked struct {
	in     *Input
	method string
	from   io.Reader
}

func (u *unpacked) Read(p []byte) (int, error) {
	n, err := u.from.Read(p)
	if err != nil && !errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = u.in.corrupt(u.method, err)
	}
	return n, err
}
