package exact

import (
	"errors"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding"

	"crest/internal/archive"
)

// column reads a column of a row group page by page. The rows of the current page that have not been used yet are in the
// field for the column's kind.
type column struct {
	file  string
	name  string
	kind  parquet.Kind
	level byte // definition level of a value that is there; 0 when it always is
	pages parquet.Pages
	page  parquet.Page
	left  int // rows of the page that have not been used
	at    int // those that have

	ids      []byte   // of FixedLenByteArray, 16 bytes a row
	longs    []int64  // of Int64
	ints     []uint32 // of Int32
	bytes    []byte   // of ByteArray without a dictionary: value v is bytes[offsets[v]:offsets[v+1]]
	offsets  []uint32
	dict     parquet.Dictionary // of ByteArray with one, else nil
	indexes  []int32            // of ByteArray: value of each row, in bytes or in the dictionary; -1 for none; nil when row r has value r
	expanded []int32            // what indexes is built in for optional columns
}

// openColumn begins to read a column. It reads nothing yet. The library may panic on a schema that is not what it should be.
func openColumn(u *unit, kind parquet.Kind, path ...string) (c *column, err error) {
	defer func() {
		if r := recover(); r != nil {
			c, err = nil, &archive.CorruptError{Path: u.name, Reason: fmt.Sprintf("its column %q: %v", path, r)}
		}
	}()
	leaf, ok := u.file.Schema().Lookup(path...)
	if !ok {
		return nil, &archive.CorruptError{Path: u.name, Reason: fmt.Sprintf("it has no column %q", path)}
	}
	if leaf.MaxRepetitionLevel != 0 || leaf.Node.Type().Kind() != kind {
		return nil, &archive.CorruptError{Path: u.name, Reason: fmt.Sprintf("its column %q is of another type", path)}
	}
	return &column{
		file: u.name, name: path[len(path)-1], kind: kind, level: byte(leaf.MaxDefinitionLevel),
		pages: u.group.ColumnChunks()[leaf.ColumnIndex].Pages(),
	}, nil
}

// fill makes sure that at least one row is there to be used.
func (c *column) fill() error {
	for c.left == 0 {
		if err := c.next(); err != nil {
			return err
		}
	}
	return nil
}

// use moves on by n rows, at most those that are left.
func (c *column) use(n int) {
	c.at += n
	c.left -= n
}

// next reads the next page. The library may panic on bytes that are not what they should be.
func (c *column) next() (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = c.corrupt(fmt.Sprint(r))
		}
	}()
	parquet.Release(c.page)
	c.page = nil
	page, err := c.pages.ReadPage()
	if errors.Is(err, io.EOF) {
		return c.corrupt("it has fewer rows than its row group")
	}
	if err != nil {
		return c.corrupt(err.Error())
	}
	c.page, c.at, c.left = page, 0, int(page.NumRows())
	return c.decode(page.Data())
}

func (c *column) decode(data encoding.Values) error {
	values := c.left - int(c.page.NumNulls())
	var have int
	c.dict = c.page.Dictionary()
	switch {
	case c.kind == parquet.ByteArray:
		if c.dict != nil {
			c.indexes = data.Int32()
			have = len(c.indexes)
		} else {
			c.bytes, c.offsets = data.ByteArray()
			c.indexes = nil
			have = len(c.offsets) - 1
			if have >= values && int(c.offsets[values]) > len(c.bytes) {
				return c.corrupt("its values are longer than their page")
			}
		}
	case c.dict != nil:
		return c.corrupt("it has a dictionary, which it should not have")
	case c.kind == parquet.FixedLenByteArray:
		var size int
		c.ids, size = data.FixedLenByteArray()
		if size != idBytes {
			return c.corrupt(fmt.Sprintf("its ids have %d bytes", size))
		}
		have = len(c.ids) / idBytes
	case c.kind == parquet.Int64:
		c.longs = data.Int64()
		have = len(c.longs)
	default:
		c.ints = data.Uint32()
		have = len(c.ints)
	}
	if have < values {
		return c.corrupt("a page has fewer values than it says")
	}
	if c.level > 0 {
		return c.expand()
	}
	return nil
}

// expand gives each row of an optional column the number of its value.
func (c *column) expand() error {
	if c.kind != parquet.ByteArray {
		if c.page.NumNulls() > 0 {
			return c.corrupt("it lacks values")
		}
		return nil
	}
	levels := c.page.DefinitionLevels()
	if len(levels) != c.left {
		return c.corrupt("a page has fewer levels than rows")
	}
	rows := c.expanded[:0]
	value := int32(0)
	for _, l := range levels {
		switch {
		case l != c.level:
			rows = append(rows, -1)
			continue
		case c.dict != nil:
			rows = append(rows, c.indexes[value])
		default:
			rows = append(rows, value)
		}
		value++
	}
	c.indexes, c.expanded = rows, rows
	return nil
}

func (c *column) corrupt(reason string) error {
	return &archive.CorruptError{Path: c.file, Reason: fmt.Sprintf("column %s: %s", c.name, reason)}
}

// close gives back the current page. What it held must not be used any more.
func (c *column) close() {
	defer func() { _ = recover() }() // the library's pools panic on pages that it has released itself
	parquet.Release(c.page)
	c.page = nil
	_ = c.pages.Close()
}
