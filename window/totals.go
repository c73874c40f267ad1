package window

import (
	"bytes"
	"slices"

	"crest/sketch"
)

// totals keeps the sums over a window's buckets for every item that at least one of the buckets monitors.
//
// Write floor(b, s) for what an item that bucket b does not monitor can have at most there, s being the item's set.
// An item's window count is, summed over all buckets, its count where it is monitored and the floor where it is not:
//
//	count = sum over all b of floor(b, s)  +  sum over monitoring b of (count(b) - floor(b, s))
//	      = floors[s]                      +  item.over
//
// so taking a bucket in, or out again, touches that bucket's entries and floors alone, however many buckets the
// window has. Each monitored count is an upper bound, each floor is one, and the lower bounds add up likewise.
type totals struct {
	floors []uint64 // per set, at the finest numbering of any bucket seen; empty while every bucket is exact
	items  []item   // dense, in no order
	index  []uint32 // open addressing with linear probing: position in items plus one, 0 for free
	keys   []byte   // the items' keys
	dead   int      // bytes of keys that no item uses any more
}

type item struct {
	hash    uint64
	over    int64  // sum of count - floor over the buckets that monitor it
	low     uint64 // sum of count - error over the same
	key     uint32 // where its key starts in keys
	length  uint16
	buckets uint16 // how many buckets monitor it
}

const (
	minIndex    = 16
	minDeadKeys = 4096 // not worth compacting below
)

func (t *totals) keyOf(it *item) []byte { return t.keys[it.key : it.key+uint32(it.length)] }

// count returns the item's upper bound.
func (t *totals) count(it *item) uint64 {
	if len(t.floors) == 0 {
		return uint64(it.over)
	}
	return uint64(int64(t.floors[it.hash&uint64(len(t.floors)-1)]) + it.over)
}

// cutoff returns the most that an item can have which no bucket monitors.
func (t *totals) cutoff() uint64 {
	if len(t.floors) == 0 {
		return 0
	}
	return slices.Max(t.floors)
}

// reset forgets everything and keeps the memory.
func (t *totals) reset() {
	t.floors = t.floors[:0]
	t.items = t.items[:0]
	t.keys = t.keys[:0]
	t.dead = 0
	clear(t.index)
}

// bytes returns the memory in use.
func (t *totals) bytes() int {
	return cap(t.floors)*8 + cap(t.items)*itemBytes + cap(t.index)*4 + cap(t.keys)
}

// addBucket takes a bucket in.
func (t *totals) addBucket(s *sketch.Summary) {
	t.shiftFloors(s, 1)
	for e := range s.All() {
		t.addEntry(e, s.Floor(s.SetOf(e.Hash)))
	}
}

// removeBucket takes a bucket out that addBucket took in and that has not changed since.
func (t *totals) removeBucket(s *sketch.Summary) {
	t.shiftFloors(s, -1)
	for e := range s.All() {
		t.removeEntry(e, s.Floor(s.SetOf(e.Hash)))
	}
}

func (t *totals) addEntry(e sketch.Entry, floor uint64) {
	it := t.findOrInsert(e.Hash, e.Key)
	it.over += int64(e.Count) - int64(floor)
	it.low += e.Count - e.Error
	it.buckets++
}

// removeEntry undoes addEntry; the entry must be in.
func (t *totals) removeEntry(e sketch.Entry, floor uint64) {
	slot := t.find(e.Hash, e.Key)
	it := &t.items[t.index[slot]-1]
	it.over -= int64(e.Count) - int64(floor)
	it.low -= e.Count - e.Error
	it.buckets--
	if it.buckets == 0 {
		t.remove(slot)
	}
}

// shiftFloors adds sign times the bucket's floors. Buckets number their sets by the low bits of the hash, so a bucket
// with fewer sets has each of its floors in several sets of a finer numbering.
func (t *totals) shiftFloors(s *sketch.Summary, sign int64) {
	if !s.Full() {
		return
	}
	t.refine(s.Sets())
	mask := s.Sets() - 1
	for i := range t.floors {
		t.floors[i] = uint64(int64(t.floors[i]) + sign*int64(s.Floor(i&mask)))
	}
}

// shiftFloor adds delta to the floor of one set of a bucket that has the given number of sets.
func (t *totals) shiftFloor(set, sets int, delta int64) {
	if delta == 0 {
		return
	}
	t.refine(sets)
	for i := set; i < len(t.floors); i += sets {
		t.floors[i] = uint64(int64(t.floors[i]) + delta)
	}
}

// refine numbers the sets at least as finely as sets does, which is a power of two.
func (t *totals) refine(sets int) {
	if len(t.floors) == 0 {
		t.floors = slices.Grow(t.floors, sets)[:sets]
		clear(t.floors)
	}
	for len(t.floors) < sets {
		t.floors = append(t.floors, t.floors...)
	}
}

// find returns the slot of the key, or the free slot where it belongs. The index must not be empty.
func (t *totals) find(hash uint64, key string) int {
	mask := len(t.index) - 1
	slot := start(hash) & mask
	for {
		i := t.index[slot]
		if i == 0 {
			return slot
		}
		if it := &t.items[i-1]; it.hash == hash && string(t.keyOf(it)) == key {
			return slot
		}
		slot = (slot + 1) & mask
	}
}

// lookup returns the key's item, nil when no bucket monitors it.
func (t *totals) lookup(hash uint64, key string) *item {
	if len(t.index) == 0 {
		return nil
	}
	if i := t.index[t.find(hash, key)]; i != 0 {
		return &t.items[i-1]
	}
	return nil
}

// start returns where probing for a hash begins, before masking. The low bits name the set and the top bits the
// shard, so the middle is used.
func start(hash uint64) int { return int((hash * 0x9e3779b97f4a7c15) >> 32) }

func (t *totals) findOrInsert(hash uint64, key string) *item {
	if len(t.items)*4 >= len(t.index)*3 {
		t.rehash(max(minIndex, 2*len(t.index)))
	}
	slot := t.find(hash, key)
	if i := t.index[slot]; i != 0 {
		return &t.items[i-1]
	}
	if t.dead > minDeadKeys && t.dead > len(t.keys)/2 {
		t.compactKeys()
	}
	t.items = append(t.items, item{hash: hash, key: uint32(len(t.keys)), length: uint16(len(key))})
	t.keys = append(t.keys, key...)
	t.index[slot] = uint32(len(t.items))
	return &t.items[len(t.items)-1]
}

func (t *totals) rehash(size int) {
	t.index = make([]uint32, size)
	for i := range t.items {
		slot := start(t.items[i].hash) & (size - 1)
		for t.index[slot] != 0 {
			slot = (slot + 1) & (size - 1)
		}
		t.index[slot] = uint32(i + 1)
	}
}

func (t *totals) compactKeys() {
	keys := make([]byte, 0, len(t.keys)-t.dead+minDeadKeys)
	for i := range t.items {
		it := &t.items[i]
		at := uint32(len(keys))
		keys = append(keys, t.keyOf(it)...)
		it.key = at
	}
	t.keys, t.dead = keys, 0
}

// remove deletes the item that the slot points at: the last item takes its place, and the entries behind the slot
// close up, so that probing never meets a tombstone.
func (t *totals) remove(slot int) {
	at := t.index[slot]
	t.dead += int(t.items[at-1].length)
	mask := len(t.index) - 1
	free := slot
	for next := (slot + 1) & mask; t.index[next] != 0; next = (next + 1) & mask {
		home := start(t.items[t.index[next]-1].hash) & mask
		if (next-home)&mask >= (next-free)&mask {
			t.index[free] = t.index[next]
			free = next
		}
	}
	t.index[free] = 0

	last := uint32(len(t.items))
	if at != last {
		moved := t.items[last-1]
		s := start(moved.hash) & mask
		for t.index[s] != last {
			s = (s + 1) & mask
		}
		t.index[s] = at
		t.items[at-1] = moved
	}
	t.items = t.items[:last-1]
}

// less orders two items as lists do: by count descending, then by key ascending.
func (t *totals) less(a, b ranked) bool {
	if a.count != b.count {
		return a.count > b.count
	}
	return bytes.Compare(t.keyOf(&t.items[a.item]), t.keyOf(&t.items[b.item])) < 0
}
