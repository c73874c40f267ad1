package exact

import (
	"slices"
	"strings"

	"crest"
	"crest/internal/counts"
)

// A shape is a kind of boards. It is named like a board without the values: "article/category" is every board of articles in
// a category.

// shapesOf returns the shapes that types have, sorted.
func shapesOf(types []TypeBoards, dimensions []string) []string {
	var shapes []string
	for _, t := range types {
		shapes = append(shapes, t.Name)
		for _, set := range t.Narrow {
			parts := []string{t.Name}
			for _, d := range set {
				parts = append(parts, dimensions[d])
			}
			shapes = append(shapes, strings.Join(parts, "/"))
		}
	}
	slices.Sort(shapes)
	return slices.Compact(shapes)
}

// boardsID stands for shapes.
func boardsID(shapes []string) string {
	var id identity
	for _, s := range shapes {
		id.add(s)
	}
	return id.text()
}

// shapeOf returns the shape of a board.
func shapeOf(board string) string {
	if !isNarrow(board) {
		return board
	}
	var shape strings.Builder
	for i, part := range strings.Split(board, "/") {
		if i > 0 {
			shape.WriteByte('/')
			part, _, _ = strings.Cut(part, "=")
		}
		shape.WriteString(part)
	}
	return shape.String()
}

// all returns all shapes that there are, sorted.
func (b *beginnings) all() []string {
	var all []string
	for id := range b.ends {
		all = append(all, b.shapes[id]...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// isNarrow reports whether a board or a shape is of some values alone.
func isNarrow(board string) bool { return strings.IndexByte(board, '/') >= 0 }

// withoutNarrow returns types with their own boards alone.
func withoutNarrow(types []TypeBoards) []TypeBoards {
	own := slices.Clone(types)
	for i := range own {
		own[i].Narrow = nil
	}
	return own
}

// beginnings say since when all hours have been counted for a shape. What was counted for it before an hour that lacks it is
// in no totals, since these would have a hole.
type beginnings struct {
	shapes map[string][]string     // manifest.Boards
	ends   map[string]crest.Millis // by key in shapes: end of the last hour that was counted for them
}

// beginnings are those of the hours that are whole.
func (m *manifest) beginnings() beginnings { return beginningsOf(m.Boards, m.between(0, m.Until)) }

// beginningsOf are those of some hours, which ascend.
func beginningsOf(shapes map[string][]string, hours []hourEntry) beginnings {
	b := beginnings{shapes, map[string]crest.Millis{}}
	for _, h := range hours {
		if h.ID != "" {
			b.ends[h.Boards] = h.Start.Add(hourLength)
		}
	}
	return b
}

// of returns the start of the first hour from which on all have a shape, 0 when all hours have it.
func (b *beginnings) of(shape string) crest.Millis {
	begin := crest.Millis(0)
	for id, end := range b.ends {
		if end > begin && !slices.Contains(b.shapes[id], shape) {
			begin = end
		}
	}
	return begin
}

// skip says of the boards of an hour which are before the beginning of their shape; it is nil when none is.
func (b *beginnings) skip(h *hourEntry) func(board string) bool {
	early := map[string]bool{}
	for _, shape := range b.shapes[h.Boards] {
		if b.of(shape) > h.Start {
			early[shape] = true
		}
	}
	if len(early) == 0 {
		return nil
	}
	return func(board string) bool { return early[shapeOf(board)] }
}

// without leaves boards out of a cursor's rows; skip may be nil.
func without(c counts.Cursor, skip func(board string) bool) counts.Cursor {
	if skip == nil {
		return c
	}
	return &skipping{Cursor: c, skip: skip}
}

type skipping struct {
	counts.Cursor
	skip    func(board string) bool
	board   string // of the row before; "" at first
	skipped bool   // it is left out
}

// Next moves to the next row that is not left out.
func (s *skipping) Next() bool {
	for s.Cursor.Next() {
		if board := s.Row().Board; board != s.board {
			s.board, s.skipped = strings.Clone(board), s.skip(board)
		}
		if !s.skipped {
			return true
		}
	}
	return false
}
