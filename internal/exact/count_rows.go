package exact

import (
	"fmt"
	"slices"

	"github.com/parquet-go/parquet-go"

	"crest"
	"crest/internal/archive"
)

// segmentRows is how many rows are worked on at a time, at most.
const segmentRows = 8192

// rowFilter says which rows of an hour are counted.
type rowFilter struct {
	from, to crest.Millis // event time
	cut      crest.Millis // received before
	late     crest.Millis // what was received from then on is noted by slot; 0 when nobody asks
}

// unitReader reads some columns of a unit, in segments of rows that all of them have at hand.
type unitReader struct {
	unit    *unit
	columns []*column
	rows    int64 // that have been read
	current int   // rows of the segment that was read last
}

// open begins to read one more column.
func (r *unitReader) open(kind parquet.Kind, path ...string) (*column, error) {
	c, err := openColumn(r.unit, kind, path...)
	if err == nil {
		r.columns = append(r.columns, c)
	}
	return c, err
}

// next moves to the next segment and returns how many rows it has; 0 at the end.
func (r *unitReader) next() (int, error) {
	n := int(min(r.unit.rows-r.rows, segmentRows))
	if n == 0 {
		return 0, nil
	}
	for _, c := range r.columns {
		c.use(r.current)
		if err := c.fill(); err != nil {
			return 0, err
		}
		n = min(n, c.left)
	}
	r.rows += int64(n)
	r.current = n
	return n, nil
}

func (r *unitReader) close() {
	for _, c := range r.columns {
		c.close()
	}
}

// rowReader reads what has to be known of a unit's rows to count them.
type rowReader struct {
	unitReader
	filter     rowFilter
	typ        *column
	item       *column
	weight     *column
	time       *column // nil when all rows are in the window
	received   *column // nil when no row is late or beyond the cut
	dimensions []*column
}

// openRows begins to read a unit. Columns that can't matter for it are left out.
func openRows(u *unit, filter rowFilter, dimensions []string) (*rowReader, error) {
	r := &rowReader{unitReader: unitReader{unit: u}, filter: filter}
	var err error
	columns := []struct {
		to   **column
		kind parquet.Kind
		name string
		need bool
	}{
		{&r.typ, parquet.ByteArray, archive.ColumnType, true},
		{&r.item, parquet.ByteArray, archive.ColumnItem, true},
		{&r.weight, parquet.Int32, archive.ColumnWeight, true},
		{&r.time, parquet.Int64, archive.ColumnTime, u.time.First < filter.from || u.time.Last >= filter.to},
		{&r.received, parquet.Int64, archive.ColumnReceived, u.received.Last >= filter.cut || filter.late != 0 && u.received.Last >= filter.late},
	}
	for _, c := range columns {
		if !c.need {
			continue
		}
		if *c.to, err = r.open(c.kind, c.name); err != nil {
			return nil, err
		}
	}
	r.dimensions = make([]*column, len(dimensions))
	for i, name := range dimensions {
		if name == "" {
			continue
		}
		if _, ok := u.file.Schema().Lookup(archive.ColumnDimensions, name); !ok {
			continue // declared after the file was written: no row has a value
		}
		if r.dimensions[i], err = r.open(parquet.ByteArray, archive.ColumnDimensions, name); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// takesPart reports whether row i of the segment was received before the cut and lies in the window.
func (r *rowReader) takesPart(i int) bool {
	if r.received != nil && crest.Millis(r.received.longs[r.received.at+i]) >= r.filter.cut {
		return false
	}
	if r.time == nil {
		return true
	}
	t := crest.Millis(r.time.longs[r.time.at+i])
	return t >= r.filter.from && t < r.filter.to
}

// lateSlot returns the slot of row i when it was received late, else 0.
func (r *rowReader) lateSlot(i int) (uint16, error) {
	if r.received == nil || r.filter.late == 0 {
		return 0, nil
	}
	received := crest.Millis(r.received.longs[r.received.at+i])
	if received < r.filter.late {
		return 0, nil
	}
	slot := int64(received-r.filter.late)/crest.Slot.Milliseconds() + slotLate
	if slot >= slotDuplicates {
		return 0, &archive.CorruptError{Path: r.unit.name, Reason: fmt.Sprintf("a row was received at %s, more than a year late", received.Time())}
	}
	return uint16(slot), nil
}

// bytesOf returns value v of a column without a dictionary.
func (c *column) bytesOf(v int32) []byte { return c.bytes[c.offsets[v]:c.offsets[v+1]] }

// valueOf returns which value row i of the segment has, in the page or its dictionary; -1 for none.
func (c *column) valueOf(i int) int32 {
	if c.indexes == nil {
		return int32(c.at + i)
	}
	return c.indexes[c.at+i]
}

// items returns the segment's items.
func (r *rowReader) items() (items, error) {
	c := r.item
	if c.dict != nil || c.level != 0 {
		return items{}, c.corrupt("its items are not plain")
	}
	offsets := c.offsets[c.at : c.at+r.current+1]
	for i, o := range offsets[1:] {
		if n := int(o) - int(offsets[i]); n < 1 || n > crest.MaxItemBytes {
			return items{}, c.corrupt(fmt.Sprintf("an item has %d bytes", n))
		}
	}
	return items{c.bytes, offsets}, nil
}

// vocabulary gives the values of a column numbers, of one worker's own. A page's dictionary is looked up once a value.
type vocabulary struct {
	numbers map[string]int32
	words   []string
	dict    parquet.Dictionary
	known   []int32 // of the dictionary's values, 1 more; 0 when it hasn't been looked up
}

const maxWords = 1 << 13 // then it begins again

func newVocabulary() *vocabulary { return &vocabulary{numbers: map[string]int32{}} }

// number returns the number of the value that row i of the segment has; -1 for none.
func (v *vocabulary) number(c *column, i int) (int32, error) {
	value := c.valueOf(i)
	if value < 0 {
		return -1, nil
	}
	if c.dict == nil {
		return v.intern(c.bytesOf(value)), nil
	}
	if v.dict != c.dict {
		v.dict = c.dict
		v.known = slices.Grow(v.known[:0], c.dict.Len())[:c.dict.Len()]
		clear(v.known)
	}
	if int(value) >= len(v.known) {
		return 0, c.corrupt("a row has a value that is not in the dictionary")
	}
	if v.known[value] == 0 {
		v.known[value] = v.intern(c.dict.Index(value).ByteArray()) + 1
	}
	return v.known[value] - 1, nil
}

func (v *vocabulary) intern(word []byte) int32 {
	if n, ok := v.numbers[string(word)]; ok {
		return n
	}
	n := int32(len(v.words))
	s := string(word)
	v.words = append(v.words, s)
	v.numbers[s] = n
	return n
}

// full reports whether it is time to begin again.
func (v *vocabulary) full() bool { return len(v.words) >= maxWords }

func (v *vocabulary) reset() {
	clear(v.numbers)
	v.words, v.dict = v.words[:0], nil
}
