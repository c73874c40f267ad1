package sketch

import "fmt"

// MaxEntries is the most keys that a SpaceSaving or the list of a CountMin can hold.
const MaxEntries = 1 << 24

// SpaceSaving monitors a fixed number of keys. A key that is not among them takes the place of the one with the smallest
// count, and with it that count as its error. The truth of an entry lies in [Count-Error, Count]; a key that is not
// monitored has at most the smallest count.
//
// Source: Metwally, Agrawal, El Abbadi, "Efficient Computation of Frequent and Top-k Elements in Data Streams", ICDT 2005.
//
// One goroutine at a time may use it.
type SpaceSaving struct{ heap keyHeap }

// NewSpaceSaving returns a SpaceSaving with so many entries, 1 to MaxEntries.
func NewSpaceSaving(entries int) (*SpaceSaving, error) {
	if entries < 1 || entries > MaxEntries {
		return nil, fmt.Errorf("sketch: %d entries; there must be between 1 and %d", entries, MaxEntries)
	}
	return &SpaceSaving{heap: newKeyHeap(entries)}, nil
}

// Add implements [Counter].
func (s *SpaceSaving) Add(key string, weight uint64) bool {
	if !validKey(key) {
		return false
	}
	if weight == 0 {
		return true
	}
	hash := Hash(key)
	if at := s.heap.find(hash, key); at >= 0 {
		s.heap.raise(at, addSaturating(s.heap.items[at].count, weight))
		return true
	}
	if !s.heap.full() {
		s.heap.push(hash, key, weight, 0)
		return true
	}
	least := s.heap.least()
	s.heap.replaceLeast(hash, key, addSaturating(least, weight), least)
	return true
}

// Estimate implements [Counter].
func (s *SpaceSaving) Estimate(key string) Estimate {
	if !validKey(key) {
		return Estimate{}
	}
	if at := s.heap.find(Hash(key), key); at >= 0 {
		it := s.heap.items[at]
		return Estimate{Count: it.count, Error: it.err, Monitored: true}
	}
	least := s.heap.least()
	return Estimate{Count: least, Error: least}
}

// Top implements [Counter].
func (s *SpaceSaving) Top(k int) []Entry { return s.heap.top(k) }

// Bytes implements [Counter].
func (s *SpaceSaving) Bytes() int { return s.heap.bytes() }
