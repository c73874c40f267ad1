package counts

// readAhead is how many bytes of each column a cursor reads at once.
const readAhead = 64 << 10

// sheetCursor reads the rows of a sheet from first to end.
type sheetCursor struct {
	sheet    *sheet
	page     *pageReader
	row      int64 // the row that it is at
	end      int64
	at       int    // its place in the page
	text     string // the items of the page
	boards   directory
	board    string // of the row
	boardEnd int64  // the first row of the next board
	err      error
}

func newSheetCursor(s *sheet, first, end int64) *sheetCursor {
	c := &sheetCursor{sheet: s, row: first - 1, end: end, at: -1}
	if first < end {
		i := s.directory.at(first)
		c.boards, c.boardEnd = s.directory[i:], first
	}
	return c
}

// next moves to the next row.
func (c *sheetCursor) next() bool {
	if c.err != nil || c.row+1 >= c.end {
		return false
	}
	c.row++
	c.at++
	if c.row == c.boardEnd {
		c.board = c.boards[0].Board
		c.boardEnd = c.boards[0].First + c.boards[0].Rows
		c.boards = c.boards[1:]
	}
	if c.page == nil || c.at == c.page.n {
		return c.load()
	}
	return true
}

// load reads the page that the row is on.
func (c *sheetCursor) load() bool {
	if c.page == nil {
		if c.page, c.err = c.sheet.reader(readAhead); c.err != nil {
			return false
		}
	}
	if c.err = c.page.read(int(c.row / pageRows)); c.err != nil {
		return false
	}
	c.text = string(c.page.texts)
	c.at = int(c.row % pageRows)
	return true
}

// item returns the item of the row.
func (c *sheetCursor) item() string {
	return c.text[c.page.offsets[c.at]:c.page.offsets[c.at+1]]
}

// close ends the reading.
func (c *sheetCursor) close() {
	c.end = c.row
	if c.page != nil {
		c.sheet.giveBack(c.page)
		c.page = nil
	}
}

// countCursor reads the rows of a counts file.
type countCursor struct{ sheetCursor }

// Next implements Cursor.
func (c *countCursor) Next() bool { return c.next() }

// Row implements Cursor.
func (c *countCursor) Row() Row {
	return Row{c.board, c.item(), uint64(c.page.a[c.at]), uint64(c.page.b[c.at])}
}

// Err implements Cursor.
func (c *countCursor) Err() error { return c.err }

// Close implements Cursor.
func (c *countCursor) Close() error {
	c.close()
	return nil
}
