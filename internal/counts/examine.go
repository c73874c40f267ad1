package counts

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/bloom"
)

// examineSheet opens a file of which nothing is known and reads all of it: whatever reading relies on later is compared with
// the rows themselves.
func examineSheet(path string, l layout) (*sheet, Info, error) {
	v, info, err := openVerified(path, nil)
	if err != nil {
		return nil, Info{}, err
	}
	s, err := newSheet(v, l)
	if err != nil {
		return nil, Info{}, err
	}
	if err := s.examine(); err != nil {
		return nil, Info{}, errors.Join(err, s.close())
	}
	info.Rows, info.Boards = s.rows, len(s.directory)
	return s, info, nil
}

func (s *sheet) examine() error {
	c := newSheetCursor(s, 0, s.rows)
	defer c.close()
	e := examination{sheet: s}
	for c.next() {
		if err := e.row(c); err != nil {
			return s.wrap(fmt.Sprintf("row %d", c.row), err)
		}
	}
	if c.err != nil {
		return c.err
	}
	if err := e.end(); err != nil {
		return s.wrap("its directory", err)
	}
	return s.wrap("its column of boards", guard(s.examineBoards))
}

// examineBoards compares the column of boards, which nothing else reads, with the directory.
func (s *sheet) examineBoards() error {
	row, left := int64(0), s.directory
	values := make([]parquet.Value, pageRows)
	for _, g := range s.parquet.RowGroups() {
		pages := g.ColumnChunks()[columnBoard].Pages()
		end := row + g.NumRows()
		for row < end {
			page, err := pages.ReadPage()
			if err != nil {
				return errors.Join(err, pages.Close())
			}
			n, err := page.Values().ReadValues(values)
			parquet.Release(page)
			if n == 0 || int64(n) > end-row {
				return errors.Join(fmt.Errorf("%d values on the page of row %d", n, row), err, pages.Close())
			}
			for _, v := range values[:n] {
				if row == left[0].First+left[0].Rows {
					left = left[1:]
				}
				if string(v.ByteArray()) != left[0].Board {
					return errors.Join(fmt.Errorf("row %d has another board", row), pages.Close())
				}
				row++
			}
		}
		if err := pages.Close(); err != nil {
			return err
		}
	}
	return nil
}

// examination compares rows with the parts of a file by which rows are found.
type examination struct {
	sheet     *sheet
	directory directory // of the rows that have been seen
	item      string    // of the row before
	a         int64
	low, high []byte // smallest and largest item of the page
	filter    bloom.SplitBlockFilter
}

// row takes the next row.
func (e *examination) row(c *sheetCursor) error {
	count, duplicates := c.page.a[c.at], c.page.b[c.at]
	if e.sheet.late {
		count, duplicates = duplicates, 0
	}
	n := len(e.directory)
	if err := e.directory.add(c.board, uint64(count), uint64(duplicates)); err != nil {
		return err
	}
	item := c.item()
	same := e.sheet.late && item == e.item && e.a < c.page.a[c.at]
	switch {
	case len(item) > MaxItemBytes:
		return fmt.Errorf("an item of %d bytes", len(item))
	case n == len(e.directory) && item <= e.item && !same:
		return errors.New("it is out of order")
	case count == 0 && duplicates == 0:
		return errors.New("nothing was counted")
	}
	e.item, e.a = item, c.page.a[c.at]
	return e.index(c, []byte(item))
}

// index compares an item with the filter of its row group and, at the end of a page, the items with the page's bounds.
func (e *examination) index(c *sheetCursor, item []byte) error {
	if c.row%groupRows == 0 && !e.sheet.late {
		if err := e.loadFilter(int(c.row / groupRows)); err != nil {
			return err
		}
	}
	if !e.sheet.late && !e.filter.Check(bloom.XXH64{}.Sum64(item)) {
		return errors.New("the filter doesn't have its item")
	}
	if c.at == 0 || bytes.Compare(item, e.low) < 0 {
		e.low = item
	}
	if c.at == 0 || bytes.Compare(item, e.high) > 0 {
		e.high = item
	}
	if c.at < c.page.n-1 {
		return nil
	}
	low, high, err := e.sheet.bounds(int(c.row / pageRows))
	if err != nil {
		return err
	}
	if !bytes.Equal(low, e.low) || !bytes.Equal(high, e.high) {
		return errors.New("the bounds of its page are others")
	}
	return nil
}

// loadFilter reads a row group's filter.
func (e *examination) loadFilter(group int) error {
	return guard(func() error {
		f, err := e.sheet.filter(group)
		if err != nil {
			return err
		}
		if f.Size() < bloom.BlockSize || f.Size()%bloom.BlockSize != 0 || f.Size() > e.sheet.size {
			return fmt.Errorf("a filter of %d bytes", f.Size())
		}
		b := make([]byte, f.Size())
		if _, err := f.ReadAt(b, 0); err != nil {
			return err
		}
		e.filter = bloom.MakeSplitBlockFilter(b)
		return nil
	})
}

// end compares what the boards add up to.
func (e *examination) end() error {
	for i, b := range e.sheet.directory {
		if e.directory[i] != b {
			return fmt.Errorf("the rows of board %q don't add up to what it says", b.Board)
		}
	}
	return nil
}

// filter returns the filter of a row group's items.
func (s *sheet) filter(group int) (*parquet.FileBloomFilter, error) {
	chunk, ok := s.parquet.RowGroups()[group].ColumnChunks()[columnItem].(*parquet.FileColumnChunk)
	if !ok {
		return nil, errors.New("no column of items")
	}
	f, err := chunk.BloomFilterFrom(s.verified)
	if err == nil && f == nil {
		err = errors.New("a filter of another kind")
	}
	return f, err
}
