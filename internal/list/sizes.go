package list

import "slices"

// sizes says which k are offered.
type sizes struct {
	maxK   int
	only   []int // ascending; empty means any k from 1 to maxK
	common []int // those made ready before anybody asks
}

func newSizes(maxK int, only []int) sizes {
	s := sizes{maxK: maxK, only: only, common: only}
	if len(only) == 0 {
		for _, k := range []int{10, 50, maxK} {
			if k <= maxK && !slices.Contains(s.common, k) {
				s.common = append(s.common, k)
			}
		}
	}
	return s
}

// slots returns how many k there are.
func (s *sizes) slots() int {
	if len(s.only) > 0 {
		return len(s.only)
	}
	return s.maxK
}

// slot returns the place of k among those offered, -1 when it is not.
func (s *sizes) slot(k int) int {
	if len(s.only) > 0 {
		return slices.Index(s.only, k)
	}
	if k < 1 || k > s.maxK {
		return -1
	}
	return k - 1
}

// k returns the k of a slot.
func (s *sizes) k(slot int) int {
	if len(s.only) > 0 {
		return s.only[slot]
	}
	return slot + 1
}
