package list

import (
	"bytes"
	"fmt"
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
	return [encodings]string{gzipped: "gzip", zstded: "zstd"}[e]
}

// compressor makes compressed bodies. Any number of goroutines may use it at once.
type compressor struct {
	zstd *zstd.Encoder
	gzip sync.Pool // of *gzip.Writer: each is several hundred KB, so they are handed around
}

func newCompressor() (*compressor, error) {
	// The window covers the longest list; a small one keeps readers' memory small.
	z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(2), zstd.WithWindowSize(128<<10))
	if err != nil {
		return nil, fmt.Errorf("make zstd encoder: %w", err)
	}
	return &compressor{zstd: z}, nil
}

// compress returns body in a coding other than identity.
func (c *compressor) compress(enc encoding, body []byte) []byte {
	if enc == zstded {
		return c.zstd.EncodeAll(body, make([]byte, 0, len(body)/4))
	}
	w, ok := c.gzip.Get().(*gzip.Writer)
	if !ok {
		w = gzip.NewWriter(nil)
	}
	defer c.gzip.Put(w)
	var out bytes.Buffer
	out.Grow(len(body) / 4)
	w.Reset(&out)
	_, _ = w.Write(body) // a bytes.Buffer never fails
	_ = w.Close()
	return out.Bytes()
}
