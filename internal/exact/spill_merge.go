package exact

import (
	"bytes"
	"context"
	"fmt"
)

// merge puts sorted sums from a table's partitions and from runs into one order, and adds up those of one key.
type merge struct {
	ranks   []uint32 // of boards
	streams []*stream
	tree    []int // of losers; tree[0] is the winner
}

// stream is one of the sorted inputs, at its current record.
type stream struct {
	record
	rank   uint32
	prefix uint64
	ended  bool

	table *table // a partition of it
	part  *partition
	next  int
	ahead []record // that have been read, last one first

	reader *runReader // or a run
}

// addTable adds the partitions of a sorted table.
func (m *merge) addTable(t *table) {
	for i := range t.parts {
		if p := &t.parts[i]; p.used > 0 {
			s := &stream{table: t, part: p}
			m.streams = append(m.streams, s)
			s.advanceTable(m.ranks)
		}
	}
}

// addRun adds a run.
func (m *merge) addRun(r *run) error {
	s := &stream{reader: newRunReader(r)}
	m.streams = append(m.streams, s)
	return s.advance(m.ranks)
}

func (s *stream) advance(ranks []uint32) error {
	if s.table != nil {
		s.advanceTable(ranks)
		return nil
	}
	ok, err := s.reader.next(&s.record)
	if err != nil {
		return err
	}
	if !ok {
		s.ended = true
		return nil
	}
	if int(s.board) >= len(ranks) {
		return fmt.Errorf("read spilled sums: there is no board %d", s.board)
	}
	s.rank, s.prefix = ranks[s.board], prefixOf(s.item)
	return nil
}

// readAhead is how many records of a partition are read at a time. They lie anywhere, but so their accesses to memory don't
// wait for each other.
const readAhead = 16

func (s *stream) advanceTable(ranks []uint32) {
	if len(s.ahead) == 0 {
		n := min(readAhead, s.part.used-s.next)
		for i := range n {
			s.ahead = append(s.ahead, s.table.at(s.part, *s.table.slot(s.part, s.next+n-1-i)))
		}
		s.next += n
	}
	n := len(s.ahead)
	if n == 0 {
		s.ended = true
		return
	}
	s.record, s.ahead = s.ahead[n-1], s.ahead[:n-1]
	s.rank, s.prefix = ranks[s.board], prefixOf(s.item)
}

// before reports whether s comes before o.
func (s *stream) before(o *stream) bool {
	switch {
	case s.ended || o.ended:
		return !s.ended
	case s.rank != o.rank:
		return s.rank < o.rank
	case s.prefix != o.prefix:
		return s.prefix < o.prefix
	}
	if c := bytes.Compare(s.item, o.item); c != 0 {
		return c < 0
	}
	return s.slot < o.slot
}

// each calls visit for each key, in order, with the sum over all inputs. The record is valid during the call alone.
func (m *merge) each(ctx context.Context, visit func(*record) error) error {
	if len(m.streams) == 0 {
		return nil
	}
	m.play()
	var current record
	var item []byte
	for n := 0; ; n++ {
		if n&0xfff == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		s := m.streams[m.tree[0]]
		if n > 0 && !s.ended && s.board == current.board && s.slot == current.slot && string(s.item) == string(item) {
			current.sum += s.sum
		} else {
			if n > 0 {
				current.item = item
				if err := visit(&current); err != nil {
					return err
				}
			}
			if s.ended {
				return nil
			}
			current = s.record
			item = append(item[:0], s.item...)
		}
		if err := s.advance(m.ranks); err != nil {
			return err
		}
		m.replay(m.tree[0])
	}
}

// play fills the tree: each inner place has the loser of the two below it.
func (m *merge) play() {
	n := len(m.streams)
	m.tree = make([]int, n)
	for i := range m.tree {
		m.tree[i] = -1
	}
	for i := range n {
		winner := i
		for at := (i + n) / 2; at > 0; at /= 2 {
			if m.tree[at] < 0 {
				m.tree[at] = winner
				winner = -1
				break
			}
			if m.streams[m.tree[at]].before(m.streams[winner]) {
				m.tree[at], winner = winner, m.tree[at]
			}
		}
		if winner >= 0 {
			m.tree[0] = winner
		}
	}
}

// replay takes a stream that has moved up the tree.
func (m *merge) replay(winner int) {
	for at := (winner + len(m.streams)) / 2; at > 0; at /= 2 {
		if m.streams[m.tree[at]].before(m.streams[winner]) {
			m.tree[at], winner = winner, m.tree[at]
		}
	}
	m.tree[0] = winner
}
