package archive

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/parquet-go/parquet-go"
	"github.com/zeebo/xxh3"

	"crest"
)

// ErrReplaced is wrapped by errors about what the writer has replaced or deleted since the view was read: Read again, and go
// on with what there is now.
var ErrReplaced = errors.New("the archive has replaced or deleted")

// OpenFile verifies a file's size and checksum, reading it once, and opens it. The file is read through the closer's
// descriptor, so it can be used until that is closed, even when the writer deletes it. A damaged or missing file is a
// *CorruptError, a replaced one ErrReplaced.
func (v *View) OpenFile(hour crest.Millis, f File) (*parquet.File, io.Closer, error) {
	h, err := v.openRaw(hour, f)
	if err != nil {
		return nil, nil, err
	}
	p, err := openVerified(h, f)
	if err != nil {
		_ = h.Close()
		return nil, nil, err
	}
	return p, h, nil
}

// openRaw opens a file that has the right size.
func (v *View) openRaw(hour crest.Millis, f File) (*os.File, error) {
	path := v.Path(hour, f)
	h, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, v.missing(hour, f)
	}
	if err != nil {
		return nil, fmt.Errorf("open archive file: %w", err)
	}
	info, err := h.Stat()
	if err != nil {
		_ = h.Close()
		return nil, fmt.Errorf("open archive file: %w", err)
	}
	if info.Size() != f.Bytes {
		_ = h.Close()
		return nil, &CorruptError{path, fmt.Sprintf("it has %d bytes, not %d", info.Size(), f.Bytes)}
	}
	return h, nil
}

// missing says whether a file is gone because it was replaced, or is missing.
func (v *View) missing(hour crest.Millis, f File) error {
	now, err := Read(v.dir)
	if err != nil {
		return err
	}
	current, err := now.Hour(hour)
	if err != nil {
		return err
	}
	for _, c := range current.Files {
		if c.Name == f.Name {
			return &CorruptError{v.Path(hour, f), "it is missing"}
		}
	}
	return fmt.Errorf("%w: %s", ErrReplaced, v.Path(hour, f))
}

func openVerified(h *os.File, f File) (*parquet.File, error) {
	if err := verify(h, f); err != nil {
		return nil, err
	}
	return openParquet(h, f)
}

// verify compares a file's bytes with its checksum.
func verify(h *os.File, f File) error {
	sum := xxh3.New()
	if _, err := io.CopyBuffer(sum, io.NewSectionReader(h, 0, f.Bytes), make([]byte, 256<<10)); err != nil {
		return fmt.Errorf("read archive file: %w", err)
	}
	if checksumText(sum.Sum128()) != f.Checksum {
		return &CorruptError{h.Name(), "its checksum is wrong"}
	}
	return nil
}

// openParquet reads the footer alone: page indexes and bloom filters are left for who needs them. The library may panic on
// bytes that are not what they should be.
func openParquet(h *os.File, f File) (p *parquet.File, err error) {
	defer func() {
		if r := recover(); r != nil {
			p, err = nil, &CorruptError{h.Name(), fmt.Sprint(r)}
		}
	}()
	p, err = parquet.OpenFile(h, f.Bytes, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return nil, &CorruptError{h.Name(), err.Error()}
	}
	if p.NumRows() != f.Rows {
		return nil, &CorruptError{h.Name(), fmt.Sprintf("it has %d rows, not %d", p.NumRows(), f.Rows)}
	}
	return p, nil
}
