package counts

// Table is an open counts file. It may be used concurrently.
type Table struct{ sheet *sheet }

// Open opens a counts file and compares the whole of it with the size and the checksum that writing it returned; the other
// fields of want don't matter. A file that is not there is an error of the operating system's; one that is not the same, or
// not a counts file, is a CorruptError.
func Open(path string, want Info) (*Table, error) {
	s, err := openSheet(path, &want, countsLayout())
	if err != nil {
		return nil, err
	}
	return &Table{s}, nil
}

// Examine opens a counts file of which nothing is known, and says what it is. It reads every row, and compares their order
// and sums with the file's own directory.
func Examine(path string) (*Table, Info, error) {
	s, info, err := examineSheet(path, countsLayout())
	if err != nil {
		return nil, Info{}, err
	}
	return &Table{s}, info, nil
}

// Metadata returns the value of a key that the writer's caller set.
func (t *Table) Metadata(key string) (string, bool) { return t.sheet.metadata(key) }

// Rows returns how many rows the file has.
func (t *Table) Rows() int64 { return t.sheet.rows }

// Boards returns the boards of the file, in order. The caller must not change it.
func (t *Table) Boards() []BoardInfo { return t.sheet.directory }

// Board returns what the file has of a board.
func (t *Table) Board(name string) (BoardInfo, bool) { return t.sheet.directory.find(name) }

// All reads every row.
func (t *Table) All() Cursor { return &countCursor{*newSheetCursor(t.sheet, 0, t.sheet.rows)} }

// Scan reads the rows of a board; none when the file has nothing of it.
func (t *Table) Scan(board string) Cursor {
	b, _ := t.sheet.directory.find(board)
	return &countCursor{*newSheetCursor(t.sheet, b.First, b.First+b.Rows)}
}

// Close closes the file. Cursors must have been closed and lookups must have returned before.
func (t *Table) Close() error { return t.sheet.close() }
