package load

import (
	"math"
	"math/rand/v2"

	"crest"
)

// exactRanks is up to which rank every item has its own cell; ranks above share cells.
const exactRanks = 4096

// cellGrowth is how much wider a cell's ranks are than those of the cell before, as a part of their position. Within a
// cell every rank is equally likely, so shares are off by at most this part times s.
const cellGrowth = 0.01

// Zipf draws ranks from 1 to n, rank r with a probability proportional to 1/r^s, in constant time whatever n and s are:
// by Walker's alias method (Electronics Letters 10:8, 1974) over cells of ranks, then evenly within the cell. s = 0 draws
// every rank equally often. It doesn't change once made and may be used by several goroutines.
type Zipf struct {
	cells []cell
}

// cell is a range of ranks with its place in the alias table.
type cell struct {
	first  uint64
	size   uint64
	accept uint64 // a random 64-bit number up to this stays in the cell, others go to alias
	alias  uint32
}

// NewZipf returns a Zipf for n from 1 to 2^52 ranks and s from 0 to 10.
func NewZipf(n uint64, s float64) (*Zipf, error) {
	if n < 1 || n > 1<<52 {
		return nil, crest.Errorf(crest.CodeOutOfRange, "items", "is %d; it must be from 1 to 2^52", n)
	}
	if !(s >= 0 && s <= 10) {
		return nil, crest.Errorf(crest.CodeOutOfRange, "zipf", "is %g; it must be from 0 to 10", s)
	}
	z := &Zipf{}
	var weights []float64
	for first := uint64(1); first <= n; {
		size := uint64(1)
		if first > exactRanks {
			size = min(uint64(float64(first)*cellGrowth), n-first+1)
		}
		z.cells = append(z.cells, cell{first: first, size: size})
		weights = append(weights, rangeWeight(first, size, s))
		first += size
	}
	z.fillAliases(weights)
	return z, nil
}

// rangeWeight is the sum of 1/r^s over a range of ranks, by the midpoint rule for more than one.
func rangeWeight(first, size uint64, s float64) float64 {
	if size == 1 {
		return math.Pow(float64(first), -s)
	}
	low, high := float64(first)-0.5, float64(first+size)-0.5
	if math.Abs(s-1) < 1e-9 {
		return math.Log(high / low)
	}
	return (math.Pow(high, 1-s) - math.Pow(low, 1-s)) / (1 - s)
}

// fillAliases spreads the weights over cells of equal probability, by Vose's method.
func (z *Zipf) fillAliases(weights []float64) {
	sum := 0.0
	for _, w := range weights {
		sum += w
	}
	n := len(weights)
	var small, large []int
	for i := range weights {
		weights[i] *= float64(n) / sum
		if weights[i] < 1 {
			small = append(small, i)
		} else {
			large = append(large, i)
		}
	}
	for len(small) > 0 && len(large) > 0 {
		s, l := small[len(small)-1], large[len(large)-1]
		small = small[:len(small)-1]
		z.cells[s].accept = uint64(weights[s] * math.MaxInt64 * 2)
		z.cells[s].alias = uint32(l)
		weights[l] -= 1 - weights[s]
		if weights[l] < 1 {
			large = large[:len(large)-1]
			small = append(small, l)
		}
	}
	for _, i := range append(small, large...) { // what is left is 1, but for rounding
		z.cells[i].accept = math.MaxUint64
	}
}

// Draw returns a rank.
func (z *Zipf) Draw(r *rand.PCG) uint64 {
	c := &z.cells[reduce(r.Uint64(), uint64(len(z.cells)))]
	if r.Uint64() > c.accept {
		c = &z.cells[c.alias]
	}
	if c.size == 1 {
		return c.first
	}
	return c.first + reduce(r.Uint64(), c.size)
}
