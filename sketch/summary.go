package sketch

import (
	"fmt"
)

// The memory that a Summary can have, in bytes.
const (
	MinMemory = 4 << 10
	MaxMemory = 1 << 30
)

// Config says how large a [Summary] can become.
type Config struct {
	// Memory is the most bytes that the arrays of a Summary take, MinMemory to MaxMemory. Once a value passes 2^32-1, the
	// upper halves of all values take up to a quarter more.
	Memory int
}

func (c Config) validate() error {
	if c.Memory < MinMemory || c.Memory > MaxMemory {
		return fmt.Errorf("sketch: Memory is %d bytes; it must be between %d and %d", c.Memory, MinMemory, MaxMemory)
	}
	return nil
}

// Summary counts a stream of weighted keys in bounded memory and lists the heavy ones. See the package comment for
// what it guarantees. One goroutine at a time may use it.
type Summary struct {
	config     Config
	heavyBytes int // most memory of sets and keys
	lightLines int // lines of the light part, once it is needed

	total  uint64
	cutoff uint64 // largest floor
	full   bool   // a key was evicted or refused; the sets no longer grow
	len    int
	sets   []set
	high   []high // parallel to sets; nil while 32 bits are enough
	keys   keys
	light  light

	touched uint64 // what was read ahead; kept so that reading is not for nothing
}

// New returns an empty Summary. It starts small and grows as keys come.
func New(c Config) (*Summary, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	s := &Summary{config: c, lightLines: c.Memory / 16 * 9 / lightPerLine}
	s.heavyBytes = c.Memory - s.lightLines*lightPerLine
	s.sets = make([]set, 1)
	return s, nil
}

// Add counts key weight times more. It reports whether it did: a key that is empty or longer than MaxKey is refused and
// changes nothing. A weight of 0 changes nothing. Sums stop at 2^64-1.
func (s *Summary) Add(key string, weight uint64) bool { return s.AddHash(Hash(key), key, weight) }

// AddHash is Add for a caller that knows the hash, which must be Hash(key).
func (s *Summary) AddHash(hash uint64, key string, weight uint64) bool {
	if !validKey(key) {
		return false
	}
	s.total = addSaturating(s.total, weight)
	index := s.SetOf(hash)
	t := &s.sets[index]
	if s.full { // a miss needs this line next; reading it now, it comes from memory together with the set
		s.touched = s.light.lines[s.light.line(remix(hash))][0]
	}
	if i := s.find(t, hash, key); i >= 0 {
		if c := uint64(t.count[i]) + weight; (c|weight)>>32 == 0 {
			t.count[i] = uint32(c)
		} else {
			s.setCount(index, i, addSaturating(s.count(index, i), weight))
		}
		return true
	}
	if weight != 0 {
		s.miss(hash, key, weight)
	}
	return true
}

// miss counts a key that is not monitored.
func (s *Summary) miss(hash uint64, key string, weight uint64) {
	if !s.full && s.insertExact(hash, key, weight) {
		return
	}
	index := s.SetOf(hash)
	mix := remix(hash)
	bound := addSaturating(s.absentBound(index, mix), weight)
	if s.sets[index].n == setEntries && bound <= s.floor(index) { // no entry has less than the floor
		s.light.raise(mix, bound)
		return
	}
	if s.admit(index, hash, key, bound, bound-weight) {
		return
	}
	s.demote(index, mix, bound)
}

// absentBound returns the most that an absent key of set index can have.
func (s *Summary) absentBound(index int, mix uint64) uint64 {
	floor := s.floor(index)
	if floor == 0 {
		return 0
	}
	return min(floor, s.light.bound(mix))
}

// insertExact stores a key while nothing was ever evicted or refused, growing as needed. It returns false when the key
// has no place any more: then the summary has become full.
func (s *Summary) insertExact(hash uint64, key string, weight uint64) bool {
	for s.fits(len(key), 0) {
		index := s.SetOf(hash)
		if s.sets[index].n < setEntries {
			s.insert(index, hash, key, weight, 0)
			return true
		}
		if !s.canDouble() {
			break
		}
		s.double()
	}
	s.becomeFull()
	return false
}

// becomeFull ends the growth and makes the light part ready.
func (s *Summary) becomeFull() {
	s.full = true
	if s.light.lines == nil {
		s.light = light{lines: make([][lineWords]uint64, s.lightLines), width: make([]uint8, s.lightLines)}
	}
}

// insert adds an entry to a set that has room for it, in the set and in the arena.
func (s *Summary) insert(index int, hash uint64, key string, count, err uint64) {
	s.put(index, hash, key, s.store(key), count, err)
}

func (s *Summary) put(index int, hash uint64, key string, ref uint32, count, err uint64) {
	t := &s.sets[index]
	i := int(t.n)
	t.n++
	s.len++
	t.setTag(i, hash)
	t.size[i] = uint8(len(key) - 1)
	t.ref[i] = ref
	s.setCount(index, i, count)
	s.setErr(index, i, err)
}

// admit makes an absent key an entry when it can have more than the entries that must go for it. When it can't, nothing
// changes and admit returns false.
func (s *Summary) admit(index int, hash uint64, key string, count, err uint64) bool {
	t := &s.sets[index]
	if t.n < setEntries && s.fits(len(key), 0) {
		s.insert(index, hash, key, count, err)
		return true
	}
	if t.n == 0 {
		return false
	}
	victim, least := s.smallest(index)
	if count <= least {
		return false
	}
	if slot := slotOf(int(t.size[victim]) + 1); s.fits(len(key), slot) {
		ref := t.ref[victim]
		s.evict(index, victim)
		if slotOf(len(key)) <= slot {
			s.keys.live += slotOf(len(key))
			copy(s.keys.bytes[ref:], key)
		} else {
			ref = s.store(key)
		}
		s.put(index, hash, key, ref, count, err)
		return true
	}
	if !s.fits(len(key), s.slotsBelow(index, count)) {
		return false
	}
	for !s.fits(len(key), 0) {
		victim, _ := s.smallest(index)
		s.evict(index, victim)
	}
	s.insert(index, hash, key, count, err)
	return true
}

// slotsBelow returns the arena bytes of the entries of a set that have less than count.
func (s *Summary) slotsBelow(index int, count uint64) int {
	t, freed := &s.sets[index], 0
	for i := range int(t.n) {
		if s.count(index, i) < count {
			freed += slotOf(int(t.size[i]) + 1)
		}
	}
	return freed
}

// evict takes entry i out of a set and remembers its count as the bound of an absent key. The last entry takes its place.
func (s *Summary) evict(index, i int) {
	t := &s.sets[index]
	hash := Hash(s.key(t, i))
	s.keys.live -= slotOf(int(t.size[i]) + 1)
	s.demote(index, remix(hash), s.count(index, i))
	s.remove(index, i)
	s.len--
}

// remove closes the gap that entry i leaves in its set.
func (s *Summary) remove(index, i int) {
	t := &s.sets[index]
	t.n--
	s.move(index, i, index, int(t.n))
}

// move copies an entry's fields to another place, of the same set or another.
func (s *Summary) move(toSet, to, fromSet, from int) {
	t, f := &s.sets[toSet], &s.sets[fromSet]
	tag := f.tags[from>>2] >> (uint(from&3) * 16) & 0xffff
	t.setTag(to, tag<<32)
	t.count[to], t.err[to] = f.count[from], f.err[from]
	t.size[to], t.ref[to] = f.size[from], f.ref[from]
	if s.high != nil {
		s.high[toSet].count[to], s.high[toSet].err[to] = s.high[fromSet].count[from], s.high[fromSet].err[from]
	}
}

// demote records that an absent key can have bound.
func (s *Summary) demote(index int, mix, bound uint64) {
	s.raiseFloor(index, bound)
	s.light.raise(mix, bound)
}

// Estimate returns what is known about key. A key that is not monitored can have from 0 to Count, so Error equals Count.
func (s *Summary) Estimate(key string) Estimate {
	if !validKey(key) {
		return Estimate{}
	}
	return s.estimate(Hash(key), key)
}

func (s *Summary) estimate(hash uint64, key string) Estimate {
	index := s.SetOf(hash)
	if i := s.find(&s.sets[index], hash, key); i >= 0 {
		return Estimate{Count: s.count(index, i), Error: s.err(index, i), Monitored: true}
	}
	bound := s.absentBound(index, remix(hash))
	return Estimate{Count: bound, Error: bound}
}

// Total returns the weight of everything that was added.
func (s *Summary) Total() uint64 { return s.total }

// Len returns the number of monitored keys.
func (s *Summary) Len() int { return s.len }

// Exact reports whether every count is exact and every key that was added is monitored.
func (s *Summary) Exact() bool { return !s.full }

// Cutoff returns the most that any key can have that is not monitored.
func (s *Summary) Cutoff() uint64 { return s.cutoff }

// Config returns the configuration that s was made with.
func (s *Summary) Config() Config { return s.config }

// Bytes returns the memory that the arrays take now.
func (s *Summary) Bytes() int {
	return cap(s.sets)*setBytes + cap(s.high)*highBytes + cap(s.keys.bytes) + len(s.light.lines)*lightPerLine
}

// MaxBytes returns the most that Bytes can return while no value passes 2^32-1. It is at most Config.Memory.
func (s *Summary) MaxBytes() int { return s.heavyBytes + s.lightLines*lightPerLine }

// Reset empties the summary. It then behaves like a new one, but keeps its arrays for reuse.
func (s *Summary) Reset() {
	if s.full {
		clear(s.light.lines)
		clear(s.light.width)
	}
	s.total, s.cutoff, s.full, s.len = 0, 0, false, 0
	s.sets = s.sets[:1]
	clear(s.sets)
	s.high = nil
	s.keys = keys{bytes: s.keys.bytes[:0]}
}
