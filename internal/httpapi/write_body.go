package httpapi

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"crest"
)

const (
	// firstBytes is the least capacity of a body's buffer, and the most that a client gets for a promise: it gets more
	// as it sends more.
	firstBytes = 16 << 10
	// keptBytes is the capacity above which a buffer is not kept for the next body.
	keptBytes = 1 << 20
	// maxWindow is how far back zstd may refer, which is memory that a body costs before it has any size. It is the
	// most that zstd's levels up to 19 use.
	maxWindow = 8 << 20
)

// bodies reads the bodies of requests, within limits on each and on all at once.
type bodies struct {
	maxBody, maxDecompressed int64
	inFlight                 budget
	decoding                 chan struct{} // holds a token per decompression going on
	buffers                  sync.Pool     // of *body
	gzips                    sync.Pool     // of *gzip.Reader
	zstds                    sync.Pool     // of *zstd.Decoder
}

func newBodies(cfg WriteConfig) *bodies {
	b := &bodies{
		maxBody: cfg.MaxBody, maxDecompressed: cfg.MaxDecompressed,
		inFlight: budget{limit: cfg.MaxInFlight},
		decoding: make(chan struct{}, runtime.GOMAXPROCS(0)),
	}
	b.buffers.New = func() any { return &body{budget: &b.inFlight, pool: &b.buffers} }
	return b
}

// read returns the request's body, decompressed. The caller releases it.
func (b *bodies) read(rw http.ResponseWriter, r *http.Request) (*body, error) {
	encoding := strings.ToLower(strings.TrimSpace(r.Header.Get("Content-Encoding")))
	switch encoding {
	case "", "identity", "gzip", "x-gzip", "zstd":
	default:
		rw.Header().Set("Accept-Encoding", "gzip, zstd")
		return nil, crest.Errorf(crest.CodeUnsupportedEncoding, "Content-Encoding", "is %.80q; it can be gzip or zstd", encoding)
	}
	if r.ContentLength > b.maxBody {
		return nil, &http.MaxBytesError{Limit: b.maxBody}
	}
	sent, err := b.receive(rw, r)
	if err != nil {
		return nil, err
	}
	if encoding == "" || encoding == "identity" || len(sent.bytes) == 0 {
		return sent, nil
	}
	defer sent.release()
	return b.decompress(r.Context(), encoding, sent.bytes)
}

// receive reads the body as it was sent.
func (b *bodies) receive(rw http.ResponseWriter, r *http.Request) (*body, error) {
	sent, err := b.open(r.ContentLength)
	if err != nil {
		return nil, err
	}
	err = sent.readFrom(http.MaxBytesReader(rw, r.Body, b.maxBody), b.maxBody+1)
	if err == nil {
		return sent, nil
	}
	sent.release()
	if _, ok := errors.AsType[*crest.Error](err); ok {
		return nil, err
	}
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, err
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, crest.Errorf(crest.CodeTimeout, "", "the body took too long to arrive")
	}
	return nil, crest.Errorf(crest.CodeClientClosed, "", "the body ended too early")
}

// decompress returns what the body is when it is decompressed. It works from memory, so that a slow client holds no
// decoder, and as few at a time as there are processors.
func (b *bodies) decompress(ctx context.Context, encoding string, sent []byte) (*body, error) {
	select {
	case b.decoding <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-b.decoding }()
	plain, err := b.open(4 * int64(len(sent)))
	if err != nil {
		return nil, err
	}
	decode := b.gunzip
	if encoding == "zstd" {
		decode = b.unzstd
	}
	if err := decode(plain, bytes.NewReader(sent)); err != nil {
		plain.release()
		if _, ok := errors.AsType[*crest.Error](err); ok {
			return nil, err
		}
		if errors.Is(err, zstd.ErrWindowSizeExceeded) {
			return nil, crest.Errorf(crest.CodeUnsupportedEncoding, "Content-Encoding",
				"is zstd with a window of more than %d bytes; compress without --long and --ultra", maxWindow)
		}
		return nil, crest.Errorf(crest.CodeCorruptEncoding, "", "the body is not whole and sound %s: %.100v", encoding, err)
	}
	if int64(len(plain.bytes)) > b.maxDecompressed {
		plain.release()
		return nil, crest.Errorf(crest.CodeBodyTooLarge, "", "the body has more than %d bytes when decompressed; send less at a time", b.maxDecompressed)
	}
	return plain, nil
}

func (b *bodies) gunzip(to *body, from io.Reader) error {
	z, ok := b.gzips.Get().(*gzip.Reader)
	if !ok {
		z = new(gzip.Reader)
	}
	defer b.gzips.Put(z)
	if err := z.Reset(from); err != nil {
		return err
	}
	return to.readFrom(z, b.maxDecompressed+1)
}

func (b *bodies) unzstd(to *body, from io.Reader) error {
	z, ok := b.zstds.Get().(*zstd.Decoder)
	if !ok {
		var err error
		z, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderMaxMemory(maxWindow))
		if err != nil {
			return err
		}
	}
	defer b.zstds.Put(z)
	if err := z.Reset(from); err != nil {
		return err
	}
	defer z.Reset(nil) //nolint:errcheck // it only lets go of the body
	return to.readFrom(z, b.maxDecompressed+1)
}

// body is a body, or as much of it as has been read.
type body struct {
	bytes    []byte
	reserved int64 // in the budget
	budget   *budget
	pool     *sync.Pool
}

// open returns an empty body with some capacity: not more than a buffer's usual one, whatever size is expected.
func (b *bodies) open(expected int64) (*body, error) {
	d := b.buffers.Get().(*body) //nolint:forcetypeassert // New puts nothing else there
	d.bytes = d.bytes[:0]
	if err := d.reserve(int64(cap(d.bytes))); err != nil {
		d.release()
		return nil, err
	}
	if room := min(max(expected+1, 512), firstBytes); room > int64(cap(d.bytes)) {
		if err := d.grow(room); err != nil {
			d.release()
			return nil, err
		}
	}
	return d, nil
}

// readFrom reads all of r, or its first limit bytes.
func (d *body) readFrom(r io.Reader, limit int64) error {
	for int64(len(d.bytes)) < limit {
		if len(d.bytes) == cap(d.bytes) {
			if err := d.grow(min(2*int64(cap(d.bytes)), limit)); err != nil {
				return err
			}
		}
		n, err := r.Read(d.bytes[len(d.bytes):min(int64(cap(d.bytes)), limit)])
		d.bytes = d.bytes[:len(d.bytes)+n]
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (d *body) grow(capacity int64) error {
	if err := d.reserve(capacity - int64(cap(d.bytes))); err != nil {
		return err
	}
	grown := make([]byte, len(d.bytes), capacity)
	copy(grown, d.bytes)
	d.bytes = grown
	return nil
}

func (d *body) reserve(n int64) error {
	if !d.budget.take(n) {
		return crest.Errorf(crest.CodeTooManyRequests, "", "too many bytes are being worked on; try again in a moment")
	}
	d.reserved += n
	return nil
}

// release gives back the body's memory. Its bytes must not be used any more.
func (d *body) release() {
	d.budget.give(d.reserved)
	d.reserved = 0
	if cap(d.bytes) > keptBytes {
		d.bytes = nil
	}
	d.pool.Put(d)
}
