package sketch

import "errors"

// Merge adds what other has counted, so that s is a summary of both streams. Both must have the same Config. Two exact
// summaries stay exact if their keys fit. It takes as much memory again while it works, and leaves other as it is.
func (s *Summary) Merge(other *Summary) error {
	if s.config != other.config {
		return errors.New("sketch: summaries of different Config can't be merged")
	}
	if s == other {
		other = s.clone()
	}
	switch {
	case !other.full:
		s.addEntries(other)
	case !s.full:
		sum := other.clone()
		sum.addEntries(s)
		*s = *sum
	default:
		*s = *mergeFull(s, other)
	}
	return nil
}

// addEntries adds an exact summary, which is nothing but its entries.
func (s *Summary) addEntries(exact *Summary) {
	for e := range exact.All() {
		s.AddHash(e.Hash, e.Key, e.Count)
	}
}

func (s *Summary) clone() *Summary {
	c := *s
	c.sets = clone(s.sets)
	c.high = clone(s.high)
	c.keys.bytes = clone(s.keys.bytes)
	c.light = light{lines: clone(s.light.lines), width: clone(s.light.width)}
	return &c
}

// clone is slices.Clone without spare capacity, which would count as memory taken.
func clone[T any](s []T) []T {
	if s == nil {
		return nil
	}
	return append(make([]T, 0, len(s)), s...)
}

// mergeFull merges set by set. With different numbers of sets, several sets of the larger summary make one.
func mergeFull(a, b *Summary) *Summary {
	n := min(len(a.sets), len(b.sets))
	sum := &Summary{
		config: a.config, heavyBytes: a.heavyBytes, lightLines: a.lightLines,
		total: addSaturating(a.total, b.total), full: true,
		sets: make([]set, n), light: sumLight(&a.light, &b.light),
	}
	var entries []Entry
	for index := range n {
		entries = appendSums(entries[:0], a, b, index, n)
		sortEntries(entries)
		sum.raiseFloor(index, addSaturating(a.largestFloor(index, n), b.largestFloor(index, n)))
		for _, e := range entries {
			if sum.sets[index].n < setEntries && sum.fits(len(e.Key), 0) {
				sum.insert(index, e.Hash, e.Key, e.Count, e.Error)
			} else {
				sum.demote(index, remix(e.Hash), e.Count)
			}
		}
	}
	return sum
}

// appendSums appends what a and b together know about the keys that either of them monitors in set index of n.
func appendSums(dst []Entry, a, b *Summary, index, n int) []Entry {
	for i := index; i < len(a.sets); i += n {
		dst = a.AppendSet(dst, i)
	}
	for i := range dst {
		dst[i].add(b.estimate(dst[i].Hash, dst[i].Key))
	}
	for i := index; i < len(b.sets); i += n {
		for lane := range int(b.sets[i].n) {
			e := b.entry(i, lane)
			if other := a.estimate(e.Hash, e.Key); !other.Monitored {
				e.add(other)
				dst = append(dst, e)
			}
		}
	}
	return dst
}

func (e *Entry) add(other Estimate) {
	e.Count = addSaturating(e.Count, other.Count)
	e.Error = min(addSaturating(e.Error, other.Error), e.Count-1)
}

// largestFloor returns the largest floor of the sets that make set index of n.
func (s *Summary) largestFloor(index, n int) uint64 {
	floor := uint64(0)
	for i := index; i < len(s.sets); i += n {
		floor = max(floor, s.floor(i))
	}
	return floor
}

// sumLight adds the cells of two light parts of equal size.
func sumLight(a, b *light) light {
	sum := light{lines: clone(a.lines), width: clone(a.width)}
	other := light{lines: clone(b.lines), width: clone(b.width)}
	for i := range sum.lines {
		for sum.width[i] < other.width[i] {
			sum.widen(i)
		}
		for other.width[i] < sum.width[i] {
			other.widen(i)
		}
		for !sum.addLine(i, &other.lines[i]) {
			sum.widen(i)
			other.widen(i)
		}
	}
	return sum
}

// addLine adds the cells of a line of the same width to line i. It returns false, and changes nothing, when wider cells
// are needed.
func (l *light) addLine(i int, other *[lineWords]uint64) bool {
	line, width := l.lines[i], uint(l.width[i])
	bits, top := uint(4)<<width, largest(width)
	for w := range line {
		word := uint64(0)
		for shift := uint(0); shift < 64; shift += bits {
			v := line[w]>>shift&top + other[w]>>shift&top
			if v > top {
				if width < maxWidth {
					return false
				}
				v = infinite
			}
			word |= v << shift
		}
		line[w] = word
	}
	l.lines[i] = line
	return true
}
