package shard

import (
	"slices"

	"crest"
)

// Board is a ranking that the shards keep, or the spellings behind one.
type Board struct {
	crest.Board
	Name  string // Board.String()
	Type  int    // in Layout.Types
	spell bool   // not a ranking: counts how the items of the type are spelled
}

// Spells reports whether the board counts how items are spelled, and has no lists.
func (b *Board) Spells() bool { return b.spell }

// Boards knows every board by number. Each type has one from the start, and one for its spellings where it needs it;
// narrowed boards come when their values are first seen, up to Layout.MaxBoards. Numbers never change.
type Boards struct {
	layout   *Layout
	list     []Board
	byName   map[string]int
	narrowed int
	base     []int // per type
	spell    []int // per type; -1 where it has none
}

// NewBoards returns the boards that exist before the first event.
func NewBoards(layout *Layout) *Boards {
	b := &Boards{layout: layout, byName: map[string]int{}}
	for i, t := range layout.Types {
		b.base = append(b.base, b.add(Board{Board: crest.Board{Type: t.Name}, Type: i}))
	}
	for i, t := range layout.Types {
		n := -1
		if t.Normalizer != "" {
			n = len(b.list)
			b.list = append(b.list, Board{Board: crest.Board{Type: t.Name}, Type: i, spell: true})
		}
		b.spell = append(b.spell, n)
	}
	return b
}

// Len returns how many boards there are, those of spellings included.
func (b *Boards) Len() int { return len(b.list) }

// Board returns the board of that number.
func (b *Boards) Board(n int) *Board { return &b.list[n] }

// Rankings returns the numbers of the boards that have lists, in order.
func (b *Boards) Rankings() []int {
	var ns []int
	for n := range b.list {
		if !b.list[n].spell {
			ns = append(ns, n)
		}
	}
	return ns
}

// Narrowed returns the names of the narrowed boards, in the order of their numbers.
func (b *Boards) Narrowed() []crest.Board {
	var boards []crest.Board
	for n := range b.list {
		if len(b.list[n].Narrow) > 0 {
			boards = append(boards, b.list[n].Board)
		}
	}
	return boards
}

// Admit returns the number of a narrowed board of a type, which is made if there is room for one more; -1 if not.
func (b *Boards) Admit(board crest.Board) int {
	name := board.String()
	if n, ok := b.byName[name]; ok {
		return n
	}
	typ := slices.IndexFunc(b.layout.Types, func(t Type) bool { return t.Name == board.Type })
	if typ < 0 || b.narrowed == b.layout.MaxBoards {
		return -1
	}
	b.narrowed++
	return b.add(Board{Board: board, Type: typ})
}

// Find returns the number of a board that there is.
func (b *Boards) Find(board crest.Board) (number int, ok bool) {
	number, ok = b.byName[board.String()]
	return number, ok
}

func (b *Boards) add(board Board) int {
	board.Name = board.String()
	n := len(b.list)
	b.list = append(b.list, board)
	b.byName[board.Name] = n
	return n
}
