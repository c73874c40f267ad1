package exact

import (
	"slices"
	"strings"
	"sync"

	"crest"
)

// boards numbers the boards that a count meets. Several workers may use it at once.
type boards struct {
	limit narrowLimit

	mu     sync.Mutex
	names  []string
	byName map[string]uint32
}

func newBoards(maxNarrow int) *boards {
	return &boards{limit: narrowLimit{boards: maxNarrow}, byName: map[string]uint32{}}
}

// narrowLimit bounds how many narrowed boards there are, and the bytes of their names.
type narrowLimit struct{ boards, had, bytes int }

// errTooManyBoards says that a limit is exceeded.
var errTooManyBoards error = crest.Errorf(crest.CodeOutOfRange, "boards", "are too many: list the values that dimensions may have")

// add takes note of one more board.
func (l *narrowLimit) add(board string) error {
	if !isNarrow(board) {
		return nil
	}
	l.had++
	l.bytes += len(board)
	if l.had > l.boards || l.bytes > l.boards*narrowNameSize {
		return errTooManyBoards
	}
	return nil
}

// number returns a board's number, and an error when there are too many boards.
func (b *boards) number(board crest.Board) (uint32, error) {
	name := board.String()
	b.mu.Lock()
	defer b.mu.Unlock()
	if n, ok := b.byName[name]; ok {
		return n, nil
	}
	if err := b.limit.add(name); err != nil {
		return 0, err
	}
	n := uint32(len(b.names))
	b.names = append(b.names, name)
	b.byName[name] = n
	return n, nil
}

// ranks returns each board's place in the order of names. The order of any two never changes.
func (b *boards) ranks() []uint32 {
	b.mu.Lock()
	defer b.mu.Unlock()
	order := make([]uint32, len(b.names))
	for i := range order {
		order[i] = uint32(i)
	}
	slices.SortFunc(order, func(x, y uint32) int { return strings.Compare(b.names[x], b.names[y]) })
	ranks := make([]uint32, len(order))
	for rank, n := range order {
		ranks[n] = uint32(rank)
	}
	return ranks
}

// name returns the name of a board.
func (b *boards) name(n uint32) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.names[n]
}
