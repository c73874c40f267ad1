package exact

import (
	"math/bits"
	"sync"
	"sync/atomic"
)

// candidate is an id that may be there more than once, and what is known of its rows.
type candidate struct {
	id     id
	first  uint64 // of the hour's own rows: firstRow + its number; 1 while none is known; 0 for a free place
	before uint64 // 1 + when the earliest row of the hour before was received; 0 when there is none
	after  uint64 // the same of the hour after
}

const (
	candidateBytes = 40
	firstRow       = 2
)

// meet brings in another row of the id. The later one of two rows is dropped, so in the end all but the first are.
func (c *candidate) meet(rows dropped, number uint64) {
	number += firstRow
	for {
		old := atomic.LoadUint64(&c.first)
		if old >= firstRow && old < number {
			set(rows, number-firstRow)
			return
		}
		if atomic.CompareAndSwapUint64(&c.first, old, number) {
			if old >= firstRow {
				set(rows, old-firstRow)
			}
			return
		}
	}
}

// set marks a row as dropped; several goroutines may do so.
func set(rows dropped, number uint64) { atomic.OrUint64(&rows[number>>6], 1<<(number&63)) }

// keepEarliest lowers a moment that is kept plus 1.
func keepEarliest(at *uint64, received uint64) {
	for {
		old := atomic.LoadUint64(at)
		if old != 0 && old <= received+1 || atomic.CompareAndSwapUint64(at, old, received+1) {
			return
		}
	}
}

// candidates is a set of ids with linear probing.
type candidates struct {
	mu     sync.Mutex
	places []candidate
	count  int
	filter filter
}

// add adds the ids that a worker has hit, or returns errFull.
func (c *candidates) add(d *dedup, w *idScratch) error {
	if len(w.hits) == 0 {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, x := range w.hits {
		if c.count >= len(c.places)/4*3 {
			return errFull
		}
		p, there := c.find(x, d.hash(x))
		if there {
			continue
		}
		p.id, p.first = x, 1
		c.count++
	}
	return nil
}

// home returns where an id belongs. Candidates are often all of one range of hashes, so the hash is scattered first.
func (c *candidates) home(h uint64) uint64 {
	slot, _ := bits.Mul64(h*0x9fb21c651e98df25, uint64(len(c.places)))
	return slot
}

// find returns an id's place, or the free one where it belongs.
func (c *candidates) find(x id, h uint64) (place *candidate, there bool) {
	slot := c.home(h)
	for {
		p := &c.places[slot]
		if atomic.LoadUint64(&p.first) == 0 {
			return p, false
		}
		if p.id == x {
			return p, true
		}
		if slot++; slot == uint64(len(c.places)) {
			slot = 0
		}
	}
}

func (c *candidates) clear() {
	clear(c.places)
	c.count = 0
}

// each calls visit for the rows of a segment whose id is a candidate.
func (c *candidates) each(d *dedup, s *idSegment, visit func(*candidate, int)) {
	for i := range s.len() {
		row := s.row(i)
		h := d.hash(s.id(row))
		if !c.filter.has(h) {
			continue
		}
		if p, there := c.find(s.id(row), h); there {
			visit(p, row)
		}
	}
}

// filter is a bit for some hashes, small enough for a cache, that spares most looks at the candidates.
type filter struct {
	words []uint32
	shift uint
}

// filterBits are how many bits there are for each candidate, at least.
const filterBits = 16

// build makes the filter of the candidates in memory that nobody else needs now.
func (f *filter) build(d *dedup, memory []uint32) {
	c := &d.candidates
	size := min(bits.Len(uint(c.count*filterBits)), bits.Len(uint(len(memory)*32))-1)
	size = max(size, 5)
	f.words = memory[:1<<(size-5)]
	f.shift = uint(64 - size)
	clear(f.words)
	for i := range c.places {
		if p := &c.places[i]; p.first != 0 {
			bit := f.bit(d.hash(p.id))
			f.words[bit>>5] |= 1 << (bit & 31)
		}
	}
}

// bit scatters a hash by other bits than those that place a candidate.
func (f *filter) bit(h uint64) uint64 { return h * 0xd6e8feb86659fd93 >> f.shift }

func (f *filter) has(h uint64) bool {
	bit := f.bit(h)
	return f.words[bit>>5]>>(bit&31)&1 != 0
}
