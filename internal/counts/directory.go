package counts

import (
	"fmt"
	"math/bits"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// directory is the list of boards of a file, in order. As text it has a line per board: rows, count and duplicates, then
// the board's name in quotes.
type directory []BoardInfo

// add counts a row for the last board, or for a new one after it.
func (d *directory) add(board string, count, duplicates uint64) error {
	if n := len(*d); n == 0 || (*d)[n-1].Board != board {
		if n == MaxBoards {
			return fmt.Errorf("more than %d boards", MaxBoards)
		}
		first := int64(0)
		if n > 0 {
			first = (*d)[n-1].First + (*d)[n-1].Rows
		}
		*d = append(*d, BoardInfo{Board: board, First: first})
	}
	b := &(*d)[len(*d)-1]
	b.Rows++
	var over, over2 uint64
	b.Count, over = bits.Add64(b.Count, count, 0)
	b.Duplicates, over2 = bits.Add64(b.Duplicates, duplicates, 0)
	if over|over2 != 0 || b.Count > MaxCount || b.Duplicates > MaxCount {
		return fmt.Errorf("board %q: the sum of its rows is more than %d", board, MaxCount)
	}
	return nil
}

func (d directory) String() string {
	var s []byte
	for _, b := range d {
		s = strconv.AppendInt(s, b.Rows, 10)
		s = strconv.AppendUint(append(s, ' '), b.Count, 10)
		s = strconv.AppendUint(append(s, ' '), b.Duplicates, 10)
		s = strconv.AppendQuote(append(s, ' '), b.Board)
		s = append(s, '\n')
	}
	return string(s)
}

// parseDirectory reads the text of a directory. The rows of its boards are no more than rows altogether; boards ascend.
func parseDirectory(s string, rows int64) (directory, error) {
	n := strings.Count(s, "\n")
	if n > MaxBoards {
		return nil, fmt.Errorf("%d boards; at most %d are possible", n, MaxBoards)
	}
	d := make(directory, 0, n)
	first := int64(0)
	for line := range strings.Lines(s) {
		b, err := parseBoard(line)
		if err != nil {
			return nil, fmt.Errorf("board %d: %w", len(d)+1, err)
		}
		if len(d) > 0 && b.Board <= d[len(d)-1].Board {
			return nil, fmt.Errorf("board %d: %q is not after %q", len(d)+1, b.Board, d[len(d)-1].Board)
		}
		if b.Rows > rows-first {
			return nil, fmt.Errorf("board %d: more rows than the file has", len(d)+1)
		}
		b.First = first
		first += b.Rows
		d = append(d, b)
	}
	if first != rows {
		return nil, fmt.Errorf("its boards have %d rows, the file has %d", first, rows)
	}
	return d, nil
}

// parseBoard reads one line of a directory.
func parseBoard(line string) (b BoardInfo, err error) {
	var numbers [3]uint64
	for i := range numbers {
		word, rest, ok := strings.Cut(line, " ")
		if !ok {
			return b, fmt.Errorf("a line has too few parts")
		}
		if numbers[i], err = strconv.ParseUint(word, 10, 63); err != nil {
			return b, err
		}
		line = rest
	}
	line, ended := strings.CutSuffix(line, "\n")
	if !ended {
		return b, fmt.Errorf("a line doesn't end")
	}
	if b.Board, err = strconv.Unquote(line); err != nil {
		return b, fmt.Errorf("its name is not in quotes")
	}
	if len(b.Board) > MaxBoardBytes {
		return b, fmt.Errorf("its name has %d bytes; at most %d are possible", len(b.Board), MaxBoardBytes)
	}
	b.Rows, b.Count, b.Duplicates = int64(numbers[0]), numbers[1], numbers[2]
	if b.Rows == 0 {
		return b, fmt.Errorf("it has no rows")
	}
	return b, nil
}

// find returns a board's entry.
func (d directory) find(board string) (BoardInfo, bool) {
	i, ok := slices.BinarySearchFunc(d, board, func(b BoardInfo, name string) int { return strings.Compare(b.Board, name) })
	if !ok {
		return BoardInfo{}, false
	}
	return d[i], true
}

// at returns the place in the directory of the board that has a row.
func (d directory) at(row int64) int {
	return sort.Search(len(d), func(i int) bool { return d[i].First+d[i].Rows > row })
}
