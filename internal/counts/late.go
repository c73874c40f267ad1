package counts

import (
	"fmt"

	"crest"
	"crest/internal/durable"
)

// lateRow is a row of a late file, as Parquet has it.
type lateRow struct {
	Board    string `parquet:"board,dict"`
	Item     string `parquet:"item,delta"`
	Received int64  `parquet:"received,timestamp(millisecond),delta"`
	Weight   int64  `parquet:"weight,delta"`
}

// LateWriter writes a late file. It is for one goroutine.
type LateWriter struct {
	sheet *sheetWriter[lateRow]
	last  Late
}

// CreateLateIn begins a late file, like CreateIn.
func CreateLateIn(files durable.Files, path string) (*LateWriter, error) {
	sheet, err := newSheetWriter[lateRow](files, path, kindLate, sortedBy("board", "item", "received"))
	if err != nil {
		return nil, err
	}
	return &LateWriter{sheet: sheet}, nil
}

// Set puts a key and value of the caller's into the file's metadata, like Writer.Set.
func (w *LateWriter) Set(key, value string) error { return w.sheet.set(key, value) }

// Append writes a weight, which must come after the one before by board, item, then slot. What Writer.Append says of texts
// and errors is so here.
func (w *LateWriter) Append(l Late) error {
	if w.sheet.err != nil {
		return w.sheet.err
	}
	if err := w.check(l); err != nil {
		return w.sheet.fail(err)
	}
	w.last = l
	return w.sheet.append(l.Board, lateRow{l.Board, l.Item, int64(l.Received), int64(l.Weight)}, l.Weight, 0)
}

func (w *LateWriter) check(l Late) error {
	last := w.last
	switch {
	case len(w.sheet.directory) > 0 && (l.Board < last.Board ||
		l.Board == last.Board && (l.Item < last.Item || l.Item == last.Item && l.Received <= last.Received)):
		return fmt.Errorf("board %q, item %q, received %d is not after board %q, item %q, received %d",
			l.Board, l.Item, l.Received, last.Board, last.Item, last.Received)
	case len(l.Board) > MaxBoardBytes:
		return fmt.Errorf("a board's name of %d bytes; at most %d are possible", len(l.Board), MaxBoardBytes)
	case len(l.Item) > MaxItemBytes:
		return fmt.Errorf("board %q: an item of %d bytes; at most %d are possible", l.Board, len(l.Item), MaxItemBytes)
	case l.Received < 0:
		return fmt.Errorf("board %q, item %q: received before 1970", l.Board, l.Item)
	case l.Weight == 0 || l.Weight > MaxCount:
		return fmt.Errorf("board %q, item %q: a weight outside 1 to %d", l.Board, l.Item, MaxCount)
	}
	return nil
}

// Close ends the file, like Writer.Close.
func (w *LateWriter) Close() (Info, error) { return w.sheet.close() }

// Abort gives the file up, like Writer.Abort.
func (w *LateWriter) Abort() error { return w.sheet.abort() }

// LateTable is an open late file. It may be used concurrently.
type LateTable struct{ sheet *sheet }

// OpenLate opens a late file, like Open.
func OpenLate(path string, want Info) (*LateTable, error) {
	s, err := openSheet(path, &want, lateLayout())
	if err != nil {
		return nil, err
	}
	return &LateTable{s}, nil
}

// ExamineLate opens a late file of which nothing is known, like Examine.
func ExamineLate(path string) (*LateTable, Info, error) {
	s, info, err := examineSheet(path, lateLayout())
	if err != nil {
		return nil, Info{}, err
	}
	return &LateTable{s}, info, nil
}

// Metadata returns the value of a key that the writer's caller set.
func (t *LateTable) Metadata(key string) (string, bool) { return t.sheet.metadata(key) }

// Boards returns the boards of the file, in order. The caller must not change it.
func (t *LateTable) Boards() []BoardInfo { return t.sheet.directory }

// All reads everything.
func (t *LateTable) All() *LateCursor { return &LateCursor{newSheetCursor(t.sheet, 0, t.sheet.rows)} }

// Scan reads a board.
func (t *LateTable) Scan(board string) *LateCursor {
	b, _ := t.sheet.directory.find(board)
	return &LateCursor{newSheetCursor(t.sheet, b.First, b.First+b.Rows)}
}

// Since reads everything that was received in slots that begin at a moment or later, as rows: per board and item the sum
// over these slots, without duplicates. It can be an input of Merge.
func (t *LateTable) Since(received crest.Millis) Cursor {
	return &lateSum{late: t.All(), since: received}
}

// Close closes the file. Cursors must have been closed before.
func (t *LateTable) Close() error { return t.sheet.close() }

// LateCursor reads late weights in order: by board, item, then slot. It is used like a Cursor.
type LateCursor struct{ c *sheetCursor }

// Next moves to the next weight; false at the end and after an error.
func (c *LateCursor) Next() bool { return c.c.next() }

// Late returns the weight that Next moved to.
func (c *LateCursor) Late() Late {
	return Late{Board: c.c.board, Item: c.c.item(), Received: crest.Millis(c.c.page.a[c.c.at]), Weight: uint64(c.c.page.b[c.c.at])}
}

// Err returns why Next returned false before the end.
func (c *LateCursor) Err() error { return c.c.err }

// Close ends the reading.
func (c *LateCursor) Close() error {
	c.c.close()
	return nil
}

// lateSum sums a late file's slots since a moment.
type lateSum struct {
	late    *LateCursor
	since   crest.Millis
	next    Late // the first weight that is not in the row
	pending bool // next is there
	row     Row
}

// Next implements Cursor.
func (c *lateSum) Next() bool {
	c.row = Row{}
	for c.pending || c.advance() {
		switch l := c.next; {
		case c.row.Count == 0:
			c.row = Row{Board: l.Board, Item: l.Item, Count: l.Weight}
		case l.Item == c.row.Item && l.Board == c.row.Board:
			c.row.Count += l.Weight // the sum of the board is in range, so this is
		default:
			return true
		}
		c.pending = false
	}
	return c.row.Count > 0 && c.late.Err() == nil
}

// advance finds the next weight that counts.
func (c *lateSum) advance() bool {
	for c.late.Next() {
		if l := c.late.Late(); l.Received >= c.since {
			c.next, c.pending = l, true
			return true
		}
	}
	return false
}

// Row implements Cursor.
func (c *lateSum) Row() Row { return c.row }

// Err implements Cursor.
func (c *lateSum) Err() error { return c.late.Err() }

// Close implements Cursor.
func (c *lateSum) Close() error { return c.late.Close() }
