package sketch

import (
	"errors"
	"fmt"
	"math"
)

// CountMinConfig says how wrong a [CountMin] may be.
type CountMinConfig struct {
	// Epsilon and Delta, both in (0, 1): with probability 1-Delta an estimate is too high by at most Epsilon times the
	// weight of the whole stream.
	Epsilon, Delta float64
	// Conservative raises only the cells that must be raised, which makes errors smaller.
	Conservative bool
	// List is how many keys the sketch can list, 0 to MaxEntries.
	List int
}

// CountMin is a Count-Min sketch of 32-bit cells, w = ceil(e/Epsilon) in each of d = ceil(ln 1/Delta) rows, and a heap of
// the keys with the largest estimates, so that it can list. An estimate is never below the truth. For a key on the list
// the weight that came since it got there is certain, and Error is the rest.
//
// Sources: Cormode, Muthukrishnan, "An Improved Data Stream Summary: The Count-Min Sketch and its Applications",
// J. Algorithms 55, 2005; conservative update: Estan, Varghese, "New Directions in Traffic Measurement and Accounting",
// SIGCOMM 2002.
//
// One goroutine at a time may use it.
type CountMin struct {
	conservative bool
	width        int
	rows         [][]uint32
	total        uint64
	heap         keyHeap // count and error are those of the last update of the key
}

// NewCountMin returns an empty sketch. Its cells may take at most MaxMemory bytes.
func NewCountMin(c CountMinConfig) (*CountMin, error) {
	inside := func(x float64) bool { return x > 0 && x < 1 }
	if !inside(c.Epsilon) || !inside(c.Delta) {
		return nil, fmt.Errorf("sketch: Epsilon %g and Delta %g must lie between 0 and 1", c.Epsilon, c.Delta)
	}
	if c.List < 0 || c.List > MaxEntries {
		return nil, fmt.Errorf("sketch: List is %d; it must be between 0 and %d", c.List, MaxEntries)
	}
	width, depth := math.Ceil(math.E/c.Epsilon), math.Ceil(math.Log(1/c.Delta))
	if width*depth*4 > MaxMemory {
		return nil, errors.New("sketch: so small an Epsilon and Delta need too much memory")
	}
	s := &CountMin{
		conservative: c.Conservative, width: int(width), rows: make([][]uint32, int(depth)), heap: newKeyHeap(c.List),
	}
	for i := range s.rows {
		s.rows[i] = make([]uint32, s.width)
	}
	return s, nil
}

// cell returns the cell of a key in a row. Two hashes make all rows' (Kirsch, Mitzenmacher, ESA 2006).
func (s *CountMin) cell(hash uint64, row int) *uint32 {
	h := uint32(hash>>32) + uint32(row)*(uint32(remix(hash)>>32)|1)
	return &s.rows[row][uint64(h)*uint64(s.width)>>32]
}

// bound returns the most that a key can have. A cell at its largest value stands for infinity, and nothing can have more
// than the total.
func (s *CountMin) bound(hash uint64) uint64 {
	least := uint32(math.MaxUint32)
	for row := range s.rows {
		least = min(least, *s.cell(hash, row))
	}
	if least == math.MaxUint32 {
		return s.total
	}
	return uint64(least)
}

// Add implements [Counter].
func (s *CountMin) Add(key string, weight uint64) bool {
	if !validKey(key) {
		return false
	}
	if weight == 0 {
		return true
	}
	hash := Hash(key)
	target := uint64(0)
	if s.conservative {
		target = addSaturating(s.bound(hash), weight)
	}
	s.total = addSaturating(s.total, weight)
	for row := range s.rows {
		c := s.cell(hash, row)
		sum := target
		if !s.conservative {
			sum = addSaturating(uint64(*c), weight)
		}
		*c = max(*c, uint32(min(sum, math.MaxUint32)))
	}
	s.list(hash, key, weight, s.bound(hash))
	return true
}

// list keeps the heap of the largest estimates.
func (s *CountMin) list(hash uint64, key string, weight, count uint64) {
	if at := s.heap.find(hash, key); at >= 0 {
		it := &s.heap.items[at]
		certain := min(addSaturating(it.count-it.err, weight), count)
		it.err = count - certain
		s.heap.raise(at, count)
		return
	}
	switch lack := count - min(weight, count); {
	case s.heap.limit == 0:
	case !s.heap.full():
		s.heap.push(hash, key, count, lack)
	case count > s.heap.least():
		s.heap.replaceLeast(hash, key, count, lack)
	}
}

// Estimate implements [Counter].
func (s *CountMin) Estimate(key string) Estimate {
	if !validKey(key) {
		return Estimate{}
	}
	hash := Hash(key)
	if at := s.heap.find(hash, key); at >= 0 {
		it := s.heap.items[at]
		return Estimate{Count: it.count, Error: it.err, Monitored: true}
	}
	count := s.bound(hash)
	return Estimate{Count: count, Error: count}
}

// Top implements [Counter].
func (s *CountMin) Top(k int) []Entry { return s.heap.top(k) }

// Bytes implements [Counter].
func (s *CountMin) Bytes() int { return len(s.rows)*s.width*4 + s.heap.bytes() }
