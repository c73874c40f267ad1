package counts

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
)

// Input is one of the sorted inputs of Merge.
type Input struct {
	Cursor   Cursor
	Subtract bool // take its numbers away
}

// Merge sums sorted inputs by board and item. A row whose numbers both become 0 vanishes; one that would go below 0 is an
// error that names it. Each row goes to w, unless it is nil, then to each, unless that is nil, together with the count that
// each input had of it; that slice is valid during the call alone. Merge reads the inputs to their end and closes them,
// after an error too; it doesn't close w.
//
// It holds one page of each input: about 0.3 MB for texts of 11 bytes, below 1 MB for the longest.
func Merge(w *Writer, inputs []Input, each func(row Row, counts []uint64) error) (err error) {
	m := merge{inputs: make([]mergeInput, len(inputs)), counts: make([]uint64, len(inputs)), w: w, each: each}
	defer func() {
		for _, in := range inputs {
			err = errors.Join(err, in.Cursor.Close())
		}
	}()
	for i := range inputs {
		m.inputs[i] = mergeInput{Input: inputs[i], number: i}
		if err := m.inputs[i].advance(); err != nil {
			return err
		}
	}
	for {
		board, ok := m.nextBoard()
		if !ok {
			return nil
		}
		if err := m.mergeBoard(board); err != nil {
			return err
		}
	}
}

type merge struct {
	inputs []mergeInput
	w      *Writer
	each   func(Row, []uint64) error

	losers []*mergeInput // of the board: a tree of losers, the winner in place 0
	counts []uint64
}

// mergeInput is an input and the row that it is at.
type mergeInput struct {
	Input
	number int // its place among the inputs
	place  int // its leaf in the tree
	row    Row
	key    uint64 // the first bytes of the item, to compare at once
	more   bool   // row is there
	in     bool   // row is of the board that is being merged
}

func (in *mergeInput) advance() error {
	board := in.row.Board
	if in.more = in.Cursor.Next(); !in.more {
		in.in = false
		return in.Cursor.Err()
	}
	in.row = in.Cursor.Row()
	in.in = in.in && in.row.Board == board
	in.key = itemKey(in.row.Item)
	return nil
}

// itemKey returns the first eight bytes of an item as a number that is in the order of the items; zeros stand for those that
// it doesn't have.
func itemKey(item string) uint64 {
	if len(item) >= 8 {
		return binary.BigEndian.Uint64([]byte(item[:8]))
	}
	var b [8]byte
	copy(b[:], item)
	return binary.BigEndian.Uint64(b[:])
}

// nextBoard returns the first board of what is left, and notes which inputs have rows of it.
func (m *merge) nextBoard() (board string, ok bool) {
	for i := range m.inputs {
		if in := &m.inputs[i]; in.more && (!ok || in.row.Board < board) {
			board, ok = in.row.Board, true
		}
	}
	m.losers = m.losers[:0]
	for i := range m.inputs {
		in := &m.inputs[i]
		if in.in = in.more && in.row.Board == board; in.in {
			m.losers = append(m.losers, in)
		}
	}
	return board, ok
}

// mergeBoard merges the rows of one board.
func (m *merge) mergeBoard(board string) error {
	m.play()
	for m.losers[0].in {
		item, key := m.losers[0].row.Item, m.losers[0].key
		var plus, minus Row
		clear(m.counts)
		for {
			in := m.losers[0]
			if !in.in || in.key != key || in.row.Item != item {
				break
			}
			sum := &plus
			if in.Subtract {
				sum = &minus
			}
			if err := sum.add(in.row); err != nil {
				return err
			}
			m.counts[in.number] += in.row.Count
			if err := in.advance(); err != nil {
				return err
			}
			m.replay()
		}
		if plus.Count < minus.Count || plus.Duplicates < minus.Duplicates {
			return fmt.Errorf("merge counts: board %q, item %q: %d and %d duplicates are to be taken away from %d and %d",
				board, item, minus.Count, minus.Duplicates, plus.Count, plus.Duplicates)
		}
		row := Row{board, item, plus.Count - minus.Count, plus.Duplicates - minus.Duplicates}
		if err := m.emit(row); err != nil {
			return err
		}
	}
	return nil
}

// add adds a row's numbers.
func (r *Row) add(o Row) error {
	var over, over2 uint64
	r.Count, over = bits.Add64(r.Count, o.Count, 0)
	r.Duplicates, over2 = bits.Add64(r.Duplicates, o.Duplicates, 0)
	if over|over2 != 0 || r.Count > MaxCount || r.Duplicates > MaxCount {
		return fmt.Errorf("merge counts: board %q, item %q: a sum above %d", o.Board, o.Item, MaxCount)
	}
	return nil
}

func (m *merge) emit(row Row) error {
	if row.Count == 0 && row.Duplicates == 0 {
		return nil
	}
	if m.w != nil {
		if err := m.w.Append(row); err != nil {
			return err
		}
	}
	if m.each != nil {
		return m.each(row, m.counts)
	}
	return nil
}

// play lets all inputs of the board play for the first time: the tree is built from scratch.
func (m *merge) play() {
	n := len(m.losers)
	winners := make([]*mergeInput, 2*n)
	copy(winners[n:], m.losers)
	for i := n - 1; i >= 1; i-- {
		a, b := winners[2*i], winners[2*i+1]
		if b.before(a) {
			a, b = b, a
		}
		winners[i], m.losers[i] = a, b
	}
	m.losers[0] = winners[1]
	for i := range n {
		winners[n+i].place = n + i
	}
}

// replay lets the last winner, who has moved on, play again on its way up.
func (m *merge) replay() {
	w := m.losers[0]
	for i := w.place / 2; i >= 1; i /= 2 {
		if m.losers[i].before(w) {
			w, m.losers[i] = m.losers[i], w
		}
	}
	m.losers[0] = w
}

// before is the order of inputs by their rows; those that have none of the board come last.
func (in *mergeInput) before(o *mergeInput) bool {
	switch {
	case in.in != o.in:
		return in.in
	case in.key != o.key:
		return in.key < o.key
	case in.row.Item != o.row.Item:
		return in.row.Item < o.row.Item
	}
	return in.number < o.number
}
