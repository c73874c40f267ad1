package exact

import (
	"slices"
	"strings"
	"sync"

	"crest"
	"crest/internal/counts"
)

// boards numbers the boards that a count meets. Several workers may use it at once.
type boards struct {
	mu     sync.Mutex
	names  []string
	byName map[string]uint32
}

func newBoards() *boards { return &boards{byName: map[string]uint32{}} }

// number returns a board's number, and an error when there are too many boards.
func (b *boards) number(board crest.Board) (uint32, error) {
	name := board.String()
	b.mu.Lock()
	defer b.mu.Unlock()
	if n, ok := b.byName[name]; ok {
		return n, nil
	}
	if len(b.names) == counts.MaxBoards {
		return 0, crest.Errorf(crest.CodeOutOfRange, "boards", "are more than %d in one count: list the values that a dimension may have", counts.MaxBoards)
	}
	n := uint32(len(b.names))
	name = strings.Clone(name)
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
