package counts

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"

	"crest/internal/durable"
)

// The keys of a file's own metadata. Callers' keys begin otherwise.
const (
	keyPrefix    = "crest."
	keyKind      = keyPrefix + "kind"
	keyVersion   = keyPrefix + "version"
	keyDirectory = keyPrefix + "boards"

	version = "1"

	kindCounts     = "counts"
	kindLate       = "late"
	kindCandidates = "candidates"
)

// bloomBits is how many bits the filter of items has per row: one absent item in a hundred costs the reading of a page.
const bloomBits = 10

// sheetWriter writes rows, whose order its owner checks, as pages of pageRows rows in all columns alike. After an error it
// does nothing more.
type sheetWriter[T any] struct {
	out       *output
	parquet   *parquet.GenericWriter[T]
	columns   []*parquet.ColumnWriter
	page      []T
	pages     int
	directory directory
	keys      map[string]string
	keyBytes  int
	kind      string
	err       error
	closed    bool
}

func newSheetWriter[T any](files durable.Files, path, kind string, options ...parquet.WriterOption) (*sheetWriter[T], error) {
	if files == nil {
		files = durable.Disk{}
	}
	out, err := newOutput(files, path)
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", path, err)
	}
	w := &sheetWriter[T]{out: out, kind: kind, page: make([]T, 0, pageRows), keys: map[string]string{}}
	w.err = guard(func() error {
		var row T
		w.parquet = parquet.NewGenericWriter[T](out, append(options,
			parquet.NewSchema(kind, parquet.SchemaOf(row)),
			parquet.CreatedBy("crest", version, ""),
			parquet.Compression(&zstd.Codec{Level: zstd.SpeedFastest}),
			parquet.DataPageStatistics(false), // the page index has them
			// A page ends after pageRows rows, never because it is full.
			parquet.PageBufferSize(2*pageRows*(MaxItemBytes+8)),
			// The bounds of a page are whole: a bound that was cut short can't be compared with.
			parquet.ColumnIndexSizeLimit(func([]string) int { return MaxBoardBytes }),
		)...)
		w.columns = w.parquet.ColumnWriters()
		return nil
	})
	if w.err != nil {
		return nil, errors.Join(w.fail(w.err), w.abort())
	}
	return w, nil
}

// set takes a key and value of the caller into the file's metadata.
func (w *sheetWriter[T]) set(key, value string) error {
	if w.err != nil {
		return w.err
	}
	if key == "" || strings.HasPrefix(key, keyPrefix) {
		return fmt.Errorf("write %s: the key %q is reserved", w.out.path, key)
	}
	w.keyBytes += len(key) + len(value)
	if len(w.keys) == maxKeys || w.keyBytes > MaxMetadata {
		return fmt.Errorf("write %s: more than %d keys, or more than %d bytes of them", w.out.path, maxKeys, MaxMetadata)
	}
	w.keys[key] = value
	return nil
}

// append takes a row in.
func (w *sheetWriter[T]) append(board string, row T, count, duplicates uint64) error {
	if err := w.directory.add(board, count, duplicates); err != nil {
		return w.fail(err)
	}
	w.page = append(w.page, row)
	if len(w.page) == pageRows {
		return w.endPage()
	}
	return nil
}

func (w *sheetWriter[T]) endPage() error {
	err := guard(func() error {
		if _, err := w.parquet.Write(w.page); err != nil {
			return err
		}
		for _, c := range w.columns {
			if err := c.Flush(); err != nil {
				return err
			}
		}
		w.pages++
		if w.pages%groupPages == 0 {
			return w.parquet.Flush()
		}
		return nil
	})
	clear(w.page)
	w.page = w.page[:0]
	if err != nil {
		return w.fail(err)
	}
	return nil
}

// fail remembers the first error.
func (w *sheetWriter[T]) fail(err error) error {
	if w.err == nil {
		w.err = fmt.Errorf("write %s: %w", w.out.path, err)
	}
	return w.err
}

// close writes what is left and makes the file visible. After an error it removes the file instead, and returns the error.
func (w *sheetWriter[T]) close() (Info, error) {
	if w.closed {
		return Info{}, w.err
	}
	if w.err == nil && len(w.page) > 0 {
		w.err = w.endPage()
	}
	if w.err == nil {
		err := guard(func() error {
			w.parquet.SetKeyValueMetadata(keyKind, w.kind)
			w.parquet.SetKeyValueMetadata(keyVersion, version)
			w.parquet.SetKeyValueMetadata(keyDirectory, w.directory.String())
			for _, key := range slices.Sorted(maps.Keys(w.keys)) {
				w.parquet.SetKeyValueMetadata(key, w.keys[key])
			}
			return w.parquet.Close()
		})
		if err != nil {
			w.err = w.fail(err)
		}
	}
	if w.err != nil {
		return Info{}, errors.Join(w.err, w.abort())
	}
	w.closed = true
	if err := w.out.commit(); err != nil {
		return Info{}, w.fail(err)
	}
	w.err = fmt.Errorf("write %s: closed already", w.out.path)
	rows := int64(0)
	if n := len(w.directory); n > 0 {
		rows = w.directory[n-1].First + w.directory[n-1].Rows
	}
	return Info{Rows: rows, Bytes: w.out.bytes, Checksum: w.out.hash.sum(), Boards: len(w.directory)}, nil
}

// abort removes what was written, unless the file has been closed.
func (w *sheetWriter[T]) abort() error {
	if w.closed {
		return nil
	}
	w.closed = true
	if w.err == nil {
		w.err = fmt.Errorf("write %s: given up", w.out.path)
	}
	return w.out.abort()
}

// guard turns a panic into an error: what a library does with damaged bytes must not end the program.
func guard(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
	}()
	return f()
}
