package sketch

// Sets returns the number of sets, a power of two. It doubles while the summary grows.
func (s *Summary) Sets() int { return len(s.sets) }

// SetOf returns the set of a key by its hash: the hash's low bits.
func (s *Summary) SetOf(hash uint64) int { return int(hash & uint64(len(s.sets)-1)) }

// Floor returns the most that any key of a set can have that is not monitored; 0 while the summary is not full.
func (s *Summary) Floor(set int) uint64 { return s.floor(set) }

// Full reports whether a key was ever evicted or refused. From then on the number of sets stays as it is.
func (s *Summary) Full() bool { return s.full }

// canDouble reports whether twice the sets, all occupied with keys as long as those so far, would keep the memory limit.
func (s *Summary) canDouble() bool {
	n := 2 * len(s.sets)
	expected := s.keys.live * (setEntries * n) / max(s.len, 1)
	return expected <= s.keyLimit(n)
}

// double splits every set in two by the next bit of the hash.
func (s *Summary) double() {
	n := len(s.sets)
	if cap(s.sets) < 2*n {
		sets := make([]set, n, 2*n)
		copy(sets, s.sets)
		s.sets = sets
		if limit := s.heavyBytes - 2*n*setBytes; cap(s.keys.bytes) > limit {
			s.moveKeys(limit)
		}
	}
	s.sets = s.sets[:2*n]
	clear(s.sets[n:])
	if s.high != nil {
		s.high = append(make([]high, 0, 2*n), s.high...)[:2*n]
	}
	for index := range n {
		s.split(index, index+n)
	}
}

// split moves the entries of set from that belong to set to there.
func (s *Summary) split(from, to int) {
	t := &s.sets[from]
	for i := 0; i < int(t.n); {
		if s.SetOf(Hash(s.key(t, i))) == from {
			i++
			continue
		}
		s.move(to, int(s.sets[to].n), from, i)
		s.sets[to].n++
		s.remove(from, i)
	}
}
