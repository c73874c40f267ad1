package archive

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"crest"
)

// smallFile is the size, in bytes, below which an hour's last file is written again together with rows that come later.
const smallFile = 4 << 20

// takeUp begins an hour's new file with the rows of its last one, if that is small and the hour closed: otherwise events
// that come late one by one would leave hundreds of files. Likewise when the last file is of the same slot.
func (s *sink) takeUp(c *change, received crest.Millis) error {
	files := c.manifest.Now.Files
	if len(files) == 0 {
		return nil
	}
	last := files[len(files)-1]
	sameSlot := last.Received.First.Floor(crest.Slot) == received.Floor(crest.Slot)
	if last.Bytes >= smallFile || !sameSlot && !s.state.Closed(c.manifest.Hour) {
		return nil
	}
	taken, err := s.copyRows(c.output, filepath.Join(hourDir(s.dir, c.manifest.Hour), last.Name), last)
	if err != nil {
		return fmt.Errorf("take up the rows of %s: %w", last.Name, err)
	}
	if taken {
		c.replaced = []File{last}
	}
	return nil
}

// copyRows writes the rows of a file that is listed. A damaged file, or one with other columns, is left as it is: it returns
// false, and has written nothing.
func (s *sink) copyRows(o *output, path string, f File) (bool, error) {
	h, err := os.Open(path)
	if err != nil {
		s.w.repaired(path, "it can't be opened, and is left as it is: "+err.Error())
		return false, nil
	}
	defer h.Close()
	p, err := openVerified(h, f)
	if corrupt, ok := errors.AsType[*CorruptError](err); ok {
		s.w.repaired(path, corrupt.Reason+"; it is left as it is")
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if p.Schema().String() != o.parquet.Schema().String() {
		return false, nil
	}
	r := newParquetReader(p, s.w.cfg.Dimensions)
	defer r.Close()
	o.note(f.Rows, f.Received, f.Time, f.Weight)
	rows := make([]row, blockRows)
	for {
		n, err := r.Read(rows)
		if err := o.write(rows[:n]); err != nil {
			return false, err
		}
		if errors.Is(err, io.EOF) {
			return true, nil
		}
		if err != nil {
			return false, fmt.Errorf("read archive file: %w", err)
		}
	}
}
