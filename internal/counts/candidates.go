package counts

import (
	"errors"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go"

	"crest/internal/durable"
)

// candidateRow is a row of a candidates file, as Parquet has it.
type candidateRow struct {
	Board string  `parquet:"board,dict"`
	Item  string  `parquet:"item,delta"`
	Count int64   `parquet:"count,delta"`
	Hours []int64 `parquet:"hours,list" parquet-element:",delta"`
}

// CandidateWriter writes a candidates file. It is for one goroutine.
type CandidateWriter struct {
	sheet *sheetWriter[candidateRow]
	hours []int64
}

// CreateCandidatesIn begins a candidates file, like CreateIn.
func CreateCandidatesIn(files durable.Files, path string) (*CandidateWriter, error) {
	sheet, err := newSheetWriter[candidateRow](files, path, kindCandidates)
	if err != nil {
		return nil, err
	}
	return &CandidateWriter{sheet: sheet}, nil
}

// Set puts a key and value of the caller's into the file's metadata, like Writer.Set.
func (w *CandidateWriter) Set(key, value string) error { return w.sheet.set(key, value) }

// AppendBoard writes the candidates of a board, which must come after the board before. They are in the order of ranks:
// count descending, then id ascending. Rest is a count that no item has more than which is not among them. A board without
// candidates is not written.
func (w *CandidateWriter) AppendBoard(board string, list []Candidate, rest uint64) error {
	if w.sheet.err != nil {
		return w.sheet.err
	}
	if err := w.check(board, list, rest); err != nil {
		return w.sheet.fail(err)
	}
	for _, c := range list {
		// The sums of rows are in the directory, and so is the rest: as duplicates, which candidates don't have.
		if err := w.sheet.append(board, candidateRow{board, c.ID, int64(c.Count), w.signed(c.Hours)}, c.Count, rest); err != nil {
			return err
		}
		rest = 0
	}
	return nil
}

// signed copies numbers into memory that lasts until the page they are on has been written.
func (w *CandidateWriter) signed(hours []uint64) []int64 {
	if len(w.sheet.page) == 0 {
		w.hours = w.hours[:0]
	}
	n := len(w.hours)
	for _, h := range hours {
		w.hours = append(w.hours, int64(h))
	}
	return w.hours[n:len(w.hours):len(w.hours)]
}

func (w *CandidateWriter) check(board string, list []Candidate, rest uint64) error {
	d := w.sheet.directory
	switch {
	case len(board) > MaxBoardBytes:
		return fmt.Errorf("a board's name of %d bytes; at most %d are possible", len(board), MaxBoardBytes)
	case len(d) > 0 && board <= d[len(d)-1].Board:
		return fmt.Errorf("board %q is not after board %q", board, d[len(d)-1].Board)
	case rest > MaxCount:
		return fmt.Errorf("board %q: a count above %d", board, MaxCount)
	}
	for i, c := range list {
		switch {
		case len(c.ID) > MaxItemBytes:
			return fmt.Errorf("board %q: an item of %d bytes; at most %d are possible", board, len(c.ID), MaxItemBytes)
		case c.Count == 0 || c.Count > MaxCount:
			return fmt.Errorf("board %q, item %q: a count outside 1 to %d", board, c.ID, MaxCount)
		case i > 0 && !RanksBefore(list[i-1].ID, list[i-1].Count, c.ID, c.Count):
			return fmt.Errorf("board %q: item %q with %d can't come after item %q with %d",
				board, c.ID, c.Count, list[i-1].ID, list[i-1].Count)
		case len(c.Hours) > MaxHours || len(c.Hours) != len(list[0].Hours):
			return fmt.Errorf("board %q, item %q: %d hours", board, c.ID, len(c.Hours))
		}
		for _, h := range c.Hours {
			if h > MaxCount {
				return fmt.Errorf("board %q, item %q: an hour above %d", board, c.ID, MaxCount)
			}
		}
	}
	return nil
}

// Close ends the file, like Writer.Close.
func (w *CandidateWriter) Close() (Info, error) { return w.sheet.close() }

// Abort gives the file up, like Writer.Abort.
func (w *CandidateWriter) Abort() error { return w.sheet.abort() }

// CandidateTable is an open candidates file. It may be used concurrently.
type CandidateTable struct {
	*verified
	parquet   *parquet.File
	directory directory
}

// OpenCandidates opens a candidates file, like Open.
func OpenCandidates(path string, want Info) (*CandidateTable, error) {
	v, _, err := openVerified(path, &want)
	if err != nil {
		return nil, err
	}
	t := &CandidateTable{verified: v}
	err = guard(func() (err error) {
		t.parquet, t.directory, err = openParquet(v, kindCandidates, parquet.SkipBloomFilters(true))
		return err
	})
	if err != nil {
		return nil, errors.Join(v.wrap("it is not a file of "+kindCandidates, err), v.file.Close())
	}
	return t, nil
}

// Metadata returns the value of a key that the writer's caller set.
func (t *CandidateTable) Metadata(key string) (string, bool) { return t.parquet.Lookup(key) }

// Boards returns the names of the boards that have candidates, in order.
func (t *CandidateTable) Boards() []string {
	names := make([]string, len(t.directory))
	for i, b := range t.directory {
		names[i] = b.Board
	}
	return names
}

// Board returns the candidates of a board by rank, and the rest: no item that is not among them has more. A board that the
// file doesn't have has neither.
func (t *CandidateTable) Board(name string) (list []Candidate, rest uint64, err error) {
	b, ok := t.directory.find(name)
	if !ok {
		return nil, 0, nil
	}
	err = guard(func() error {
		list, err = t.read(b)
		return err
	})
	if err != nil {
		return nil, 0, t.wrap(fmt.Sprintf("candidates of board %q", name), err)
	}
	return list, b.Duplicates, nil
}

func (t *CandidateTable) read(b BoardInfo) ([]Candidate, error) {
	r := parquet.NewGenericReader[candidateRow](t.parquet)
	defer r.Close()
	if err := r.SeekToRow(b.First); err != nil {
		return nil, err
	}
	var list []Candidate
	rows := make([]candidateRow, pageRows)
	for left := b.Rows; left > 0; {
		n, err := r.Read(rows[:min(left, pageRows)])
		if n == 0 {
			return nil, errors.Join(err, io.ErrUnexpectedEOF)
		}
		for _, row := range rows[:n] {
			c := Candidate{ID: row.Item, Count: uint64(row.Count)}
			if len(row.Hours) > 0 {
				c.Hours = make([]uint64, len(row.Hours))
			}
			for i, h := range row.Hours {
				c.Hours[i] = uint64(h)
			}
			if row.Board != b.Board || row.Count <= 0 {
				return nil, fmt.Errorf("a row of board %q", row.Board)
			}
			list = append(list, c)
		}
		left -= int64(n)
	}
	return list, nil
}

// Close closes the file.
func (t *CandidateTable) Close() error { return t.file.Close() }
