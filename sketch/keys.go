package sketch

import "unsafe"

// keys is the arena of the monitored keys. Slots are multiples of 8 bytes. A slot that was given up is dead until the
// arena is compacted.
type keys struct {
	bytes []byte // its length is the end of the last slot
	live  int    // bytes of the slots in use, each as small as its key allows
}

// slotOf returns the bytes that a key of n bytes takes.
func slotOf(n int) int { return (n + 7) &^ 7 }

// put writes key at the arena's end, where there must be room, and returns where it begins.
func (k *keys) put(key string) uint32 {
	at := len(k.bytes)
	k.bytes = k.bytes[:at+slotOf(len(key))]
	copy(k.bytes[at:], key)
	return uint32(at)
}

// key returns entry i's key without copying it: the bytes change when the entry goes.
func (s *Summary) key(t *set, i int) string {
	return unsafe.String(&s.keys.bytes[t.ref[i]], int(t.size[i])+1) //nolint:gosec // the slot holds the whole key
}

// keyLimit returns how many bytes live slots may take beside n sets. An eighth of the arena is kept free, so that
// compacting it pays for itself.
func (s *Summary) keyLimit(n int) int { return (s.heavyBytes - n*setBytes) / 8 * 7 }

// fits reports whether a key of n bytes can be stored when freed bytes of slots are given up for it.
func (s *Summary) fits(n, freed int) bool {
	return s.keys.live-freed+slotOf(n) <= s.keyLimit(len(s.sets))
}

// store puts key into the arena, which must have room by fits.
func (s *Summary) store(key string) uint32 {
	s.keys.live += slotOf(len(key))
	if end := len(s.keys.bytes) + slotOf(len(key)); end > cap(s.keys.bytes) {
		s.makeRoom()
	}
	return s.keys.put(key)
}

// makeRoom compacts the arena or makes it larger. The slot to come is already counted as live.
func (s *Summary) makeRoom() {
	size := cap(s.keys.bytes)
	if s.keys.live <= size/8*7 {
		s.moveKeys(size)
		return
	}
	need := s.keys.live/7*8 + 64
	if cap(s.sets) > len(s.sets) && s.heavyBytes-cap(s.sets)*setBytes < need {
		// The spare sets are from a life before Reset, when keys were shorter.
		s.sets = append(make([]set, 0, len(s.sets)), s.sets...)
	}
	s.moveKeys(min(max(2*size, need), s.heavyBytes-cap(s.sets)*setBytes))
}

// moveKeys moves the live keys, without gaps, to an arena of size bytes.
func (s *Summary) moveKeys(size int) {
	fresh := keys{bytes: make([]byte, 0, size), live: s.keys.live}
	for index := range s.sets {
		t := &s.sets[index]
		for i := range int(t.n) {
			t.ref[i] = fresh.put(s.key(t, i))
		}
	}
	s.keys = fresh
}
