package list

import (
	"bytes"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// encoding is a content coding of HTTP.
type encoding int

const (
	identity encoding = iota
	gzipped
	zstded
	encodings
)

// minCompressed is the size in bytes below which a body is sent as it is: it fits one packet either way.
const minCompressed = 1 << 10

func encodingOf(name string) encoding {
	switch name {
	case "gzip":
		return gzipped
	case "zstd":
		return zstded
	}
	return identity
}

// String returns the coding's name in HTTP headers, "" for identity.
func (e encoding) String() string {
	switch e {
	case gzipped:
		return "gzip"
	case zstded:
		return "zstd"
	}
	return ""
}

// The compressors are big, so they are made once and handed around.
//
//nolint:gochecknoglobals // pools of scratch memory; they hold no state that a caller could notice
var (
	gzipWriters  = sync.Pool{New: func() any { return newGzipWriter() }}
	zstdEncoders = sync.Pool{New: func() any { return newZstdEncoder() }}
)

func newGzipWriter() *gzip.Writer {
	w, err := gzip.NewWriterLevel(nil, 5)
	if err != nil {
		return gzip.NewWriter(nil) // can't be: the level is a valid one
	}
	return w
}

func newZstdEncoder() *zstd.Encoder {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedDefault),
		zstd.WithWindowSize(128<<10), zstd.WithLowerEncoderMem(true))
	if err != nil {
		e, _ = zstd.NewWriter(nil) // can't be: the options are valid ones
	}
	return e
}

// compress returns body in a coding other than identity.
func compress(enc encoding, body []byte) []byte {
	if enc == zstded {
		e := zstdEncoders.Get().(*zstd.Encoder)
		defer zstdEncoders.Put(e)
		return e.EncodeAll(body, make([]byte, 0, len(body)/4))
	}
	w := gzipWriters.Get().(*gzip.Writer)
	defer gzipWriters.Put(w)
	var out bytes.Buffer
	out.Grow(len(body) / 4)
	w.Reset(&out)
	_, _ = w.Write(body) // a bytes.Buffer never fails
	_ = w.Close()
	return out.Bytes()
}
