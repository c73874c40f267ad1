package sketch

import (
	"encoding/binary"
	"math"
	"math/bits"
)

const (
	setEntries = 8   // entries of a set
	setBytes   = 128 // memory of a set: two cache lines
	highBytes  = 72  // memory of a set's high halves
)

// set is eight entries of the heavy part. Its first cache line is all that a miss reads, unless the key is admitted.
// Entries 0 to n-1 are in use.
type set struct {
	tags  [2]uint64 // eight 16-bit tags, entry 0 in the lowest bits
	count [setEntries]uint32
	size  [setEntries]uint8 // length of the key, less 1
	floor uint32            // no absent key of this set has more
	n     uint32

	ref [setEntries]uint32 // where the key begins in the arena
	err [setEntries]uint32
}

// high holds the upper 32 bits of a set's values. There are none until a value needs them.
type high struct {
	count [setEntries]uint32
	err   [setEntries]uint32
	floor uint32
	_     uint32
}

const (
	everyTag    = 0x0001_0001_0001_0001
	everyTagTop = 0x8000_8000_8000_8000
)

// tagOf uses bits that neither the set (low bits) nor a shard (top bits) is chosen by.
func tagOf(hash uint64) uint64 { return hash >> 32 & 0xffff }

func (t *set) setTag(i int, hash uint64) {
	shift := uint(i&3) * 16
	t.tags[i>>2&1] = t.tags[i>>2&1]&^(0xffff<<shift) | tagOf(hash)<<shift
}

// zeroTags returns a word whose lowest set bit marks the lowest 16-bit lane of x that is zero. Bits above that one may
// mark lanes that aren't.
func zeroTags(x uint64) uint64 { return (x - everyTag) &^ x & everyTagTop }

// find returns the entry of key in set t, or -1.
func (s *Summary) find(t *set, hash uint64, key string) int {
	want := tagOf(hash) * everyTag
	// The marks of entries 0 to 3 go to bits 0, 16, 32 and 48, those of entries 4 to 7 to the bits after them.
	marks := zeroTags(t.tags[0]^want)>>15 | zeroTags(t.tags[1]^want)>>14
	for ; marks != 0; marks &= marks - 1 {
		bit := bits.TrailingZeros64(marks)
		if i := bit>>4 | bit&1<<2; i < int(t.n) && s.hasKey(t, i, key) {
			return i
		}
	}
	return -1
}

func (s *Summary) hasKey(t *set, i int, key string) bool {
	n := len(key)
	if int(t.size[i&7]) != n-1 {
		return false
	}
	stored := s.keys.bytes[t.ref[i&7]:][:n]
	if n < 8 || n > 16 {
		return string(stored) == key
	}
	// Two words that overlap cover most keys, without a call.
	return binary.LittleEndian.Uint64(stored) == word(key) && binary.LittleEndian.Uint64(stored[n-8:]) == word(key[n-8:])
}

// word returns the first eight bytes of s.
func word(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// smallest returns the entry of set index with the smallest count, the first of several, and that count.
func (s *Summary) smallest(index int) (entry int, count uint64) {
	t := &s.sets[index]
	if s.high != nil {
		count = math.MaxUint64
		for i := range int(t.n) {
			if c := s.count(index, i); c < count {
				entry, count = i, c
			}
		}
		return entry, count
	}
	if t.n == setEntries {
		return t.smallestOfAll()
	}
	least := uint32(math.MaxUint32)
	for i := range int(t.n) {
		if t.count[i&7] < least {
			entry, least = i, t.count[i&7]
		}
	}
	return entry, uint64(least)
}

// smallestOfAll is smallest for a full set of 32-bit counts, without branches that depend on them: the count's place
// rides in the bits below it.
func (t *set) smallestOfAll() (entry int, count uint64) {
	c := &t.count
	at := func(i int) uint64 { return uint64(c[i])<<3 | uint64(i) }
	least := min(min(at(0), at(1), at(2), at(3)), min(at(4), at(5), at(6), at(7)))
	return int(least & 7), least >> 3
}

func (s *Summary) count(index, i int) uint64 {
	c := uint64(s.sets[index].count[i])
	if s.high != nil {
		c |= uint64(s.high[index].count[i]) << 32
	}
	return c
}

func (s *Summary) err(index, i int) uint64 {
	e := uint64(s.sets[index].err[i])
	if s.high != nil {
		e |= uint64(s.high[index].err[i]) << 32
	}
	return e
}

func (s *Summary) floor(index int) uint64 {
	f := uint64(s.sets[index].floor)
	if s.high != nil {
		f |= uint64(s.high[index].floor) << 32
	}
	return f
}

func (s *Summary) setCount(index, i int, v uint64) {
	s.widenFor(v)
	s.sets[index].count[i] = uint32(v)
	if s.high != nil {
		s.high[index].count[i] = uint32(v >> 32)
	}
}

func (s *Summary) setErr(index, i int, v uint64) {
	s.widenFor(v)
	s.sets[index].err[i] = uint32(v)
	if s.high != nil {
		s.high[index].err[i] = uint32(v >> 32)
	}
}

// raiseFloor makes the floor of a set at least v.
func (s *Summary) raiseFloor(index int, v uint64) {
	if v <= s.floor(index) {
		return
	}
	s.widenFor(v)
	s.sets[index].floor = uint32(v)
	if s.high != nil {
		s.high[index].floor = uint32(v >> 32)
	}
	s.cutoff = max(s.cutoff, v)
}

// widenFor gives every set room for 64-bit values once v needs more than 32.
func (s *Summary) widenFor(v uint64) {
	if v > math.MaxUint32 && s.high == nil {
		s.high = make([]high, len(s.sets))
	}
}
