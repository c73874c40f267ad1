package counts

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// maxFooter bounds the footer that is decoded, bytes.
const maxFooter = 256 << 20

// The columns of a sheet, by number.
const (
	columnBoard = iota
	columnItem
	columnA // count, or received
	columnB // duplicates, or weight
	sheetColumns
)

// layout says what an open file must be.
type layout struct {
	kind    string
	columns [sheetColumns]string
}

func countsLayout() layout {
	return layout{kindCounts, [...]string{"board", "item", "count", "duplicates"}}
}

func lateLayout() layout {
	return layout{kindLate, [...]string{"board", "item", "received", "weight"}}
}

// sheet is an open file of four columns, whose pages of all columns have the same rows: page p of the file has the rows from
// p*pageRows. It may be used concurrently.
type sheet struct {
	*verified
	late      bool
	parquet   *parquet.File
	rows      int64
	directory directory
	groups    []group
	readers   sync.Pool // of *pageReader
}

// group is the page index of a row group, read when it is first needed.
type group struct {
	once  sync.Once
	err   error
	pages int
	where [sheetColumns][]place
	low   [][]byte // the smallest item of each page, over all boards that it has rows of
	high  [][]byte // the largest
}

// place is where a page lies in the file.
type place struct {
	offset int64
	bytes  int32
}

func openSheet(path string, want *Info, l layout) (*sheet, error) {
	v, _, err := openVerified(path, want)
	if err != nil {
		return nil, err
	}
	return newSheet(v, l)
}

func newSheet(v *verified, l layout) (*sheet, error) {
	s := &sheet{verified: v, late: l.kind == kindLate}
	err := guard(func() (err error) {
		if s.parquet, s.directory, err = openParquet(v, l.kind, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true)); err != nil {
			return err
		}
		return s.check(l)
	})
	if err != nil {
		return nil, errors.Join(v.wrap("it is not a file of "+l.kind, err), v.file.Close())
	}
	return s, nil
}

// openParquet reads the footer and the directory of boards.
func openParquet(v *verified, kind string, options ...parquet.FileOption) (*parquet.File, directory, error) {
	if err := checkFooter(v); err != nil {
		return nil, nil, err
	}
	f, err := parquet.OpenFile(v, v.size, options...)
	if err != nil {
		return nil, nil, err
	}
	if got, _ := f.Lookup(keyKind); got != kind {
		return nil, nil, fmt.Errorf("it is of kind %q", got)
	}
	got, _ := f.Lookup(keyVersion)
	if err := checkVersion(v.path, got); err != nil {
		return nil, nil, err
	}
	if f.NumRows() < 0 {
		return nil, nil, fmt.Errorf("it has %d rows", f.NumRows())
	}
	text, _ := f.Lookup(keyDirectory)
	d, err := parseDirectory(text, f.NumRows())
	return f, d, err
}

// checkFooter sees to it that decoding the footer takes no more memory than a footer can need.
func checkFooter(v *verified) error {
	var tail [8]byte
	if v.size < int64(len(tail)) {
		return fmt.Errorf("%d bytes are too few", v.size)
	}
	end := v.size - int64(len(tail))
	if _, err := v.ReadAt(tail[:], end); err != nil {
		return err
	}
	n := int64(binary.LittleEndian.Uint32(tail[:]))
	if n > min(maxFooter, end) {
		return fmt.Errorf("a footer of %d bytes can't be", n)
	}
	footer := make([]byte, n)
	if _, err := v.ReadAt(footer, end-n); err != nil {
		return err
	}
	return (&thriftWalk{footer}).structure(thriftDepth)
}

// check compares the footer with the rules that reading relies on.
func (s *sheet) check(l layout) error {
	leaves := s.parquet.Schema().Columns()
	if len(leaves) != sheetColumns {
		return fmt.Errorf("it has %d columns", len(leaves))
	}
	for i, name := range l.columns {
		if len(leaves[i]) != 1 || leaves[i][0] != name {
			return fmt.Errorf("column %d is %q", i+1, leaves[i])
		}
		kind := parquet.ByteArray
		if i >= columnA {
			kind = parquet.Int64
		}
		if leaf, ok := s.parquet.Schema().Lookup(name); !ok || leaf.Node.Type().Kind() != kind || !leaf.Node.Required() {
			return fmt.Errorf("column %q has another type", name)
		}
	}
	s.rows = s.parquet.NumRows()
	left := s.rows
	groups := s.parquet.Metadata().RowGroups
	s.groups = make([]group, len(groups))
	for i := range groups {
		n := groups[i].NumRows
		if n != min(left, groupRows) || n <= 0 {
			return fmt.Errorf("row group %d has %d rows", i, n)
		}
		left -= n
		if len(groups[i].Columns) != sheetColumns {
			return fmt.Errorf("row group %d has %d columns", i, len(groups[i].Columns))
		}
		for j := range groups[i].Columns {
			if groups[i].Columns[j].MetaData.Codec != format.Zstd {
				return fmt.Errorf("row group %d, column %d is not compressed as it should be", i, j)
			}
		}
		s.groups[i].pages = int((n + pageRows - 1) / pageRows)
	}
	if left != 0 {
		return fmt.Errorf("%d rows are in no row group", left)
	}
	return nil
}

// group returns the page index of a row group.
func (s *sheet) group(i int) (*group, error) {
	g := &s.groups[i]
	g.once.Do(func() {
		g.err = s.wrap(fmt.Sprintf("page index of row group %d", i), guard(func() error { return s.readIndex(i, g) }))
	})
	return g, g.err
}

func (s *sheet) readIndex(i int, g *group) error {
	columns := s.parquet.Metadata().RowGroups[i].Columns
	for c := columnItem; c < sheetColumns; c++ {
		chunk := &columns[c]
		var index format.OffsetIndex
		if err := s.readThrift(chunk.OffsetIndexOffset, chunk.OffsetIndexLength, &index); err != nil {
			return err
		}
		if len(index.PageLocations) != g.pages {
			return fmt.Errorf("column %d has %d pages, not %d", c, len(index.PageLocations), g.pages)
		}
		g.where[c] = make([]place, g.pages)
		for p, l := range index.PageLocations {
			if l.FirstRowIndex != int64(p)*pageRows || l.CompressedPageSize <= 0 || l.CompressedPageSize > maxPageBytes ||
				l.Offset < 0 || l.Offset > s.size-int64(l.CompressedPageSize) {
				return fmt.Errorf("column %d, page %d: a place that can't be", c, p)
			}
			g.where[c][p] = place{l.Offset, l.CompressedPageSize}
		}
	}
	var index format.ColumnIndex
	chunk := &columns[columnItem]
	if err := s.readThrift(chunk.ColumnIndexOffset, chunk.ColumnIndexLength, &index); err != nil {
		return err
	}
	if len(index.MinValues) != g.pages || len(index.MaxValues) != g.pages {
		return fmt.Errorf("bounds of %d pages, not %d", len(index.MinValues), g.pages)
	}
	g.low, g.high = index.MinValues, index.MaxValues
	return nil
}

// readThrift decodes a part of the file.
func (s *sheet) readThrift(offset int64, length int32, v any) error {
	if offset <= 0 || length <= 0 || length > maxFooter || offset > s.size-int64(length) {
		return errors.New("it is not in the file")
	}
	b := make([]byte, length)
	if _, err := s.ReadAt(b, offset); err != nil {
		return err
	}
	_, err := decodeThrift(b, v)
	return err
}

// metadata returns the value of a key of the caller's.
func (s *sheet) metadata(key string) (string, bool) { return s.parquet.Lookup(key) }

func (s *sheet) close() error { return s.file.Close() }
