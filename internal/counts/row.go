package counts

import "crest"

// The limits of what a file can hold.
const (
	MaxBoardBytes = 1024               // name of a board
	MaxItemBytes  = crest.MaxItemBytes // item
	MaxBoards     = 1 << 20            // boards in one file
	MaxCount      = uint64(1)<<63 - 1  // one number: other tools read it as a signed one
	MaxHours      = 1024               // hours of a candidate
	MaxMetadata   = 1 << 20            // bytes of a writer's own keys and values
	maxKeys       = 256                // keys of a writer's own
	pageRows      = 1024               // rows of a page; only a file's last page may have fewer
	groupPages    = 256                // pages of a row group; only the last group may have fewer
	groupRows     = pageRows * groupPages
)

// Row is what was counted of an item on a board. A row without both numbers is no row.
type Row struct {
	Board, Item string
	Count       uint64 // weight, each event once; at most MaxCount
	Duplicates  uint64 // weight that was dropped because its event had been counted already; at most MaxCount
}

// Late is the part of an item's count that was received in a slot of time after the hour that it belongs to.
type Late struct {
	Board, Item string
	Received    crest.Millis // start of the slot
	Weight      uint64       // at least 1, at most MaxCount
}

// Candidate is an item that is counted often enough to be on a list.
type Candidate struct {
	ID    string
	Count uint64
	Hours []uint64 // the count of each hour of the window, oldest first; nil where there are none (all time)
}

// Info says what a file holds, as far as is needed to find it again and to know it for the same.
type Info struct {
	Rows     int64  `json:"rows"`
	Bytes    int64  `json:"bytes"`
	Checksum string `json:"checksum"` // xxh3-128 of the whole file, 32 hexadecimal digits
	Boards   int    `json:"boards"`
}

// BoardInfo is a board's entry in a file's directory.
type BoardInfo struct {
	Board      string
	First      int64  // number of its first row in the file
	Rows       int64  // at least 1
	Count      uint64 // sum of the rows' counts, or weights
	Duplicates uint64 // sum of the rows' duplicates; 0 in a late file
}

// Cursor reads rows in order: by board, then by item.
//
//	for c.Next() {
//		row := c.Row()
//	}
//	return errors.Join(c.Err(), c.Close())
//
// A row's texts stay valid, but share the memory of about a thousand others: who keeps one for long clones it. A cursor is
// for one goroutine.
type Cursor interface {
	Next() bool // moves to the next row; false at the end and after an error
	Row() Row   // the row that Next moved to
	Err() error // why Next returned false before the end
	Close() error
}
