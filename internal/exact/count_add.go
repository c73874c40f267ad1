package exact

import (
	"context"

	"crest"
	"crest/internal/archive"
)

// adder is one worker's part of counting: it reads units and adds their rows to the table.
type adder struct {
	counting *counting
	types    *vocabulary
	kinds    []int32 // per number of types: the kind's number, -1 when it is not counted
	values   []*vocabulary
	boards   map[boardKey]uint32

	updates []update
	order   []uint32 // numbers of updates by partition
	starts  []int    // of partitions in order
	stats   stats
}

// boardKey is a board by one worker's own numbers.
type boardKey struct {
	kind, plan int32
	values     [crest.MaxDimensions]int32
}

func newAdder(c *counting) *adder {
	a := &adder{counting: c, types: newVocabulary(), boards: map[boardKey]uint32{}}
	for range c.dimensions {
		a.values = append(a.values, newVocabulary())
	}
	a.starts = make([]int, len(c.table.parts)+1)
	return a
}

// unit adds the rows of a unit.
func (a *adder) unit(ctx context.Context, u *unit, filter rowFilter, rows dropped) error {
	r, err := openRows(u, filter, a.counting.dimensions)
	if err != nil {
		return err
	}
	defer r.close()
	for {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		first := u.first + r.rows
		n, err := r.next()
		if n == 0 || err != nil {
			return err
		}
		if err := a.segment(ctx, r, first, n, rows); err != nil {
			return err
		}
	}
}

func (a *adder) segment(ctx context.Context, r *rowReader, first int64, n int, rows dropped) error {
	items, err := r.items()
	if err != nil {
		return err
	}
	a.updates = a.updates[:0]
	every := r.time == nil && r.received == nil
	weights := r.weight.ints[r.weight.at : r.weight.at+n]
	for i, weight := range weights {
		if !every && !r.takesPart(i) {
			continue
		}
		a.stats.rows++
		kind, err := a.kind(r.typ, i)
		if err != nil {
			return err
		}
		if kind < 0 {
			continue
		}
		u := update{row: uint16(i), weight: weight}
		late := uint16(0)
		if rows.has(first + int64(i)) {
			u.slot = slotDuplicates
			a.stats.duplicates += uint64(weight)
		} else {
			a.stats.weight += uint64(weight)
			if late, err = r.lateSlot(i); err != nil {
				return err
			}
			if late != 0 {
				a.stats.late += uint64(weight)
			}
		}
		hash := a.counting.table.itemHash(items.of(u.row))
		for p := range a.counting.plans[kind] {
			board, ok, err := a.board(r, kind, p, i)
			if err != nil {
				return err
			}
			if !ok {
				continue
			}
			u.board = board
			u.hash = a.counting.table.keyHash(hash, board, u.slot)
			a.updates = append(a.updates, u)
			if late != 0 {
				l := u
				l.slot = late
				l.hash = a.counting.table.keyHash(hash, board, late)
				a.updates = append(a.updates, l)
			}
		}
	}
	return a.apply(ctx, items)
}

// kind returns the number of a row's type among those that are counted; -1 when it isn't.
func (a *adder) kind(c *column, i int) (int32, error) {
	n, err := a.types.number(c, i)
	if err != nil {
		return -1, err
	}
	if n < 0 {
		return -1, &archive.CorruptError{Path: c.file, Reason: "a row has no type"}
	}
	for int(n) >= len(a.kinds) {
		a.kinds = append(a.kinds, a.counting.kind(a.types.words[len(a.kinds)]))
	}
	kind := a.kinds[n]
	if a.types.full() {
		a.types.reset()
		a.kinds = a.kinds[:0]
	}
	return kind, nil
}

// board returns the number of the board that a plan puts row i on; false when it has not all values.
func (a *adder) board(r *rowReader, kind int32, plan int, i int) (uint32, bool, error) {
	key := boardKey{kind: kind, plan: int32(plan)}
	p := &a.counting.plans[kind][plan]
	if len(p.dimensions) == 0 {
		return p.board, true, nil
	}
	for k, d := range p.dimensions {
		c := r.dimensions[d]
		if c == nil {
			return 0, false, nil
		}
		n, err := a.values[d].number(c, i)
		if n < 0 || err != nil {
			return 0, false, err
		}
		key.values[k] = n
	}
	if n, ok := a.boards[key]; ok {
		return n &^ noBoard, n&noBoard == 0, nil
	}
	n, err := a.newBoard(p, key)
	if err != nil {
		return 0, false, err
	}
	if len(a.boards) >= maxKnown || a.full() {
		for _, v := range a.values {
			v.reset()
		}
		clear(a.boards)
	} else {
		a.boards[key] = n
	}
	return n &^ noBoard, n&noBoard == 0, nil
}

// maxKnown is how many combinations of values a worker remembers the boards of.
const maxKnown = 2 * maxWords

// noBoard marks values that a plan does not want.
const noBoard = 1 << 31

func (a *adder) newBoard(p *boardPlan, key boardKey) (uint32, error) {
	board := crest.Board{Type: p.typ}
	for k, d := range p.dimensions {
		value := a.values[d].words[key.values[k]]
		if value == "" || p.want != nil && p.want[k] != value {
			return noBoard, nil
		}
		board.Narrow = append(board.Narrow, crest.Narrowing{Dimension: a.counting.dimensions[d], Value: value})
	}
	return a.counting.boards.number(board)
}

func (a *adder) full() bool {
	for _, v := range a.values {
		if v.full() {
			return true
		}
	}
	return false
}

// apply adds the updates to the table, and makes room in it as often as that is needed.
func (a *adder) apply(ctx context.Context, items items) error {
	a.group()
	c := a.counting
	c.gate.RLock()
	defer c.gate.RUnlock()
	for i := range c.table.parts {
		order := a.order[a.starts[i]:a.starts[i+1]]
		for len(order) > 0 {
			order = order[c.table.add(&c.table.parts[i], a.updates, order, items):]
			if len(order) == 0 {
				break
			}
			spilled := c.spilled
			c.gate.RUnlock()
			err := c.makeRoom(ctx, spilled)
			c.gate.RLock()
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// group puts the numbers of the updates in the order of their partitions.
func (a *adder) group() {
	t := a.counting.table
	clear(a.starts)
	for i := range a.updates {
		a.starts[t.part(a.updates[i].hash)+1]++
	}
	for i := range t.parts {
		a.starts[i+1] += a.starts[i]
	}
	if cap(a.order) < len(a.updates) {
		a.order = make([]uint32, cap(a.updates))
	}
	a.order = a.order[:len(a.updates)]
	var next [1 << maxPartBits]int
	copy(next[:], a.starts)
	for i := range a.updates {
		p := t.part(a.updates[i].hash)
		a.order[next[p]] = uint32(i)
		next[p]++
	}
}
