package load

import (
	"math/bits"
	"time"
)

// histogram counts durations in cells that are 1/64 of their size wide: percentiles are at most 1.6 % too high.
type histogram struct {
	cells [40 * 64]uint64
	count uint64
	max   time.Duration
}

func cellOf(d time.Duration) int {
	us := uint64(max(0, d/time.Microsecond))
	if us < 64 {
		return int(us)
	}
	shift := bits.Len64(us) - 7
	return min((shift+1)*64+int(us>>shift)-64, 40*64-1)
}

// upper is the largest duration of a cell.
func upper(cell int) time.Duration {
	if cell < 64 {
		return time.Duration(cell) * time.Microsecond
	}
	shift := cell/64 - 1
	return time.Duration(uint64(cell%64+64+1)<<shift-1) * time.Microsecond
}

func (h *histogram) add(d time.Duration) {
	h.cells[cellOf(d)]++
	h.count++
	h.max = max(h.max, d)
}

func (h *histogram) merge(o *histogram) {
	for i, n := range o.cells {
		h.cells[i] += n
	}
	h.count += o.count
	h.max = max(h.max, o.max)
}

// percentile returns the duration that p percent do not exceed.
func (h *histogram) percentile(p float64) time.Duration {
	rank := uint64(float64(h.count)*p/100 + 0.5)
	seen := uint64(0)
	for i, n := range h.cells {
		if seen += n; seen >= rank && seen > 0 {
			return min(upper(i), h.max)
		}
	}
	return 0
}
