package counts

import (
	"fmt"

	"github.com/parquet-go/parquet-go"

	"crest/internal/durable"
)

// countRow is a row of a counts file, as Parquet has it.
type countRow struct {
	Board      string `parquet:"board,dict"`
	Item       string `parquet:"item,delta"`
	Count      int64  `parquet:"count,delta"`
	Duplicates int64  `parquet:"duplicates,delta"`
}

// Writer writes a counts file. It is for one goroutine.
type Writer struct {
	sheet *sheetWriter[countRow]
	last  Row
}

// Create begins a counts file. Its directory must exist. Nothing is at path until Close has returned without an error; a
// file that was there stays until then.
func Create(path string) (*Writer, error) { return CreateIn(nil, path) }

// CreateIn is Create in other files than the operating system's, which nil stands for.
func CreateIn(files durable.Files, path string) (*Writer, error) {
	sheet, err := newSheetWriter[countRow](files, path, kindCounts,
		parquet.BloomFilters(parquet.SplitBlockFilter(bloomBits, "item")),
		sortedBy("board", "item"))
	if err != nil {
		return nil, err
	}
	return &Writer{sheet: sheet}, nil
}

// Set puts a key and value of the caller's into the file's metadata. Keys that begin with "crest." are taken.
func (w *Writer) Set(key, value string) error { return w.sheet.set(key, value) }

// Append writes a row, which must come after the one before by board, then item. Its texts are read until as many as 1,024
// rows later: they must not lie in memory that is used again. After an error, Close removes the file.
func (w *Writer) Append(r Row) error {
	if w.sheet.err != nil {
		return w.sheet.err
	}
	if err := w.check(r); err != nil {
		return w.sheet.fail(err)
	}
	w.last = r
	return w.sheet.append(r.Board, countRow{r.Board, r.Item, int64(r.Count), int64(r.Duplicates)}, r.Count, r.Duplicates)
}

func (w *Writer) check(r Row) error {
	switch {
	case len(w.sheet.directory) > 0 && (r.Board < w.last.Board || r.Board == w.last.Board && r.Item <= w.last.Item):
		return fmt.Errorf("board %q, item %q is not after board %q, item %q", r.Board, r.Item, w.last.Board, w.last.Item)
	case len(r.Board) > MaxBoardBytes:
		return fmt.Errorf("a board's name of %d bytes; at most %d are possible", len(r.Board), MaxBoardBytes)
	case len(r.Item) > MaxItemBytes:
		return fmt.Errorf("board %q: an item of %d bytes; at most %d are possible", r.Board, len(r.Item), MaxItemBytes)
	case r.Count > MaxCount || r.Duplicates > MaxCount:
		return fmt.Errorf("board %q, item %q: a count above %d", r.Board, r.Item, MaxCount)
	case r.Count == 0 && r.Duplicates == 0:
		return fmt.Errorf("board %q, item %q: nothing was counted", r.Board, r.Item)
	}
	return nil
}

// Close writes what is left, returns once the file is on disk under its name, and says what it holds. After an error of the
// writer's it removes what was written, and returns the error.
func (w *Writer) Close() (Info, error) { return w.sheet.close() }

// Abort gives the file up and removes what was written. After Close it does nothing.
func (w *Writer) Abort() error { return w.sheet.abort() }

// sortedBy says in the file by which columns its rows are in order.
func sortedBy(columns ...string) parquet.WriterOption {
	var sorting []parquet.SortingColumn
	for _, c := range columns {
		sorting = append(sorting, parquet.Ascending(c))
	}
	return parquet.SortingWriterConfig(parquet.SortingColumns(sorting...))
}
