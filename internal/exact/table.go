package exact

import (
	"encoding/binary"
	"math/bits"
	"sync"
	"unsafe"

	"github.com/zeebo/xxh3"
)

// chunkBytes is what tables take of the memory at a time.
const (
	chunkBytes = 64 << 10
	chunkWords = chunkBytes / 4
	chunkShift = 14 // of words
)

// table sums weights per board, item and slot in the memory that it is given. Its partitions, by hash, are tables of their
// own, so that several workers can add at once and each of them stays near the size of a cache.
//
// A record is words: the sum (two), the board, the slot and the length of the item, the item. Records and indexes lie in
// chunks, so a table grows without a copy of everything, and what is spent is known to the chunk.
type table struct {
	seed  uint64
	bytes []byte   // the memory
	words []uint32 // the same

	mu     sync.Mutex
	unused []uint32 // chunks

	parts     []partition
	partShift uint
}

// partition is a hash table with linear probing. A word of its index has the place of a record, and a few bits of its hash
// by which most other records are told apart.
type partition struct {
	mu      sync.Mutex
	index   []uint32 // chunks
	slots   int
	used    int
	records []uint32 // chunks
	end     int      // words of records, from the first chunk's start
	touched uint32   // what was read ahead; kept so that reading is not for nothing
}

const (
	placeBits   = 23
	placeMask   = 1<<placeBits - 1
	headWords   = 4
	maxPartBits = 6  // binary logarithm of the most partitions
	partChunks  = 16 // for each partition, at least, else there are fewer
	updateBatch = 64
)

// update is a weight to be added.
type update struct {
	hash   uint64
	weight uint32
	board  uint32
	row    uint16 // of the segment, whose item it is
	slot   uint16
}

// items are those of a segment's rows.
type items struct {
	bytes   []byte
	offsets []uint32 // one more than rows
}

func (s *items) of(row uint16) []byte { return s.bytes[s.offsets[row]:s.offsets[row+1]] }

// The slots of a record: what was counted, what of it came late and when, and what was dropped.
const (
	slotCount      = 0
	slotLate       = 1 // the first slot after the hour's end, and so on
	slotDuplicates = 1<<16 - 1
)

func newTable(memory []byte, seed uint64) *table {
	chunks := len(memory) / chunkBytes
	t := &table{seed: seed, bytes: memory}
	t.words = unsafe.Slice((*uint32)(unsafe.Pointer(unsafe.SliceData(memory))), chunks*chunkWords) //nolint:gosec // take aligns it
	for i := range chunks {
		t.unused = append(t.unused, uint32(chunks-1-i))
	}
	bitsOfParts := min(maxPartBits, max(0, bits.Len(uint(chunks/partChunks))-1))
	t.parts = make([]partition, 1<<bitsOfParts)
	t.partShift = uint(64 - bitsOfParts)
	return t
}

// itemHash is the part of a key's hash that the item decides.
func (t *table) itemHash(item []byte) uint64 { return xxh3.HashSeed(item, t.seed) }

// keyHash completes an item's hash.
func (t *table) keyHash(item uint64, board uint32, slot uint16) uint64 {
	high, low := bits.Mul64(item^uint64(board)*0xd6e8feb86659fd93, t.seed|1)
	return high ^ low ^ item ^ uint64(slot)*0x9e3779b97f4a7c15
}

// part returns the partition of a hash.
func (t *table) part(hash uint64) int { return int(hash >> t.partShift) }

// takeChunk returns a chunk; false when all are in use.
func (t *table) takeChunk() (uint32, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := len(t.unused)
	if n == 0 {
		return 0, false
	}
	c := t.unused[n-1]
	t.unused = t.unused[:n-1]
	return c, true
}

func (t *table) giveChunks(chunks []uint32) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.unused = append(t.unused, chunks...)
}

// add adds updates of one partition, of which order has the numbers, and returns how many it had room for.
func (t *table) add(p *partition, updates []update, order []uint32, items items) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	for done := 0; done < len(order); done += updateBatch {
		batch := order[done:min(done+updateBatch, len(order))]
		t.fetch(p, updates, batch)
		for i, n := range batch {
			u := &updates[n]
			if !t.addOne(p, u, items.of(u.row)) {
				return done + i
			}
		}
	}
	return len(order)
}

// fetch reads where updates are going to, so that their accesses to memory don't wait for each other.
func (t *table) fetch(p *partition, updates []update, batch []uint32) {
	if p.slots == 0 {
		return
	}
	var at [updateBatch]uint32
	for i, n := range batch {
		at[i] = *t.slot(p, p.home(updates[n].hash, t.partShift))
	}
	touched := uint32(0)
	for _, x := range at[:len(batch)] {
		if x != 0 {
			touched |= t.words[t.record(p, x)]
		}
	}
	p.touched = touched
}

// home returns the slot where a hash belongs. The partition's bits of the hash are not used again.
func (p *partition) home(hash uint64, partShift uint) int {
	return int((hash << (64 - partShift) >> 32) * uint64(p.slots) >> 32)
}

func (t *table) slot(p *partition, slot int) *uint32 {
	return &t.words[int(p.index[slot>>chunkShift])<<chunkShift|slot&(chunkWords-1)]
}

// record returns the first word of the record that a word of the index is about.
func (t *table) record(p *partition, x uint32) int {
	at := int(x&placeMask) - 1
	return int(p.records[at>>chunkShift])<<chunkShift | at&(chunkWords-1)
}

// tag are the bits of a hash that the index keeps.
func tag(hash uint64) uint32 { return uint32(hash) &^ placeMask }

func (t *table) addOne(p *partition, u *update, item []byte) bool {
	if p.used >= p.slots/4*3 && !t.grow(p) {
		return false
	}
	want := tag(u.hash)
	head := uint32(u.slot)<<16 | uint32(len(item))
	slot := p.home(u.hash, t.partShift)
	for {
		x := t.slot(p, slot)
		if *x == 0 {
			place, ok := t.newRecord(p, u, head, item)
			if ok {
				*x = place | want
				p.used++
			}
			return ok
		}
		if *x&^placeMask == want {
			w := t.record(p, *x)
			if t.words[w+2] == u.board && t.words[w+3] == head && string(t.bytes[(w+headWords)*4:][:len(item)]) == string(item) {
				sum := t.bytes[w*4:][:8]
				binary.NativeEndian.PutUint64(sum, binary.NativeEndian.Uint64(sum)+uint64(u.weight))
				return true
			}
		}
		if slot++; slot == p.slots {
			slot = 0
		}
	}
}

// newRecord returns the place of a new record, or false when there is no memory for it.
func (t *table) newRecord(p *partition, u *update, head uint32, item []byte) (uint32, bool) {
	size := headWords + (len(item)+3)/4
	at := p.end
	if at&(chunkWords-1)+size > chunkWords || at>>chunkShift == len(p.records) {
		at = len(p.records) << chunkShift
		if at >= placeMask-chunkWords {
			return 0, false
		}
		c, ok := t.takeChunk()
		if !ok {
			return 0, false
		}
		p.records = append(p.records, c)
	}
	p.end = at + size
	place := uint32(at + 1)
	w := t.record(p, place)
	binary.NativeEndian.PutUint64(t.bytes[w*4:], uint64(u.weight))
	t.words[w+2] = u.board
	t.words[w+3] = head
	copy(t.bytes[(w+headWords)*4:], item)
	return place, true
}

// grow makes the index of a partition larger by half; false when there is no memory for it.
func (t *table) grow(p *partition) bool {
	old := partition{index: p.index, slots: p.slots}
	var index []uint32
	for range (3*len(old.index) + 2) / 2 {
		c, ok := t.takeChunk()
		if !ok {
			t.giveChunks(index)
			return false
		}
		clear(t.words[int(c)<<chunkShift:][:chunkWords])
		index = append(index, c)
	}
	p.index = index
	p.slots = len(index) * chunkWords
	for s := range old.slots {
		x := *t.slot(&old, s)
		if x == 0 {
			continue
		}
		r := t.at(p, x)
		slot := p.home(t.keyHash(t.itemHash(r.item), r.board, r.slot), t.partShift)
		for *t.slot(p, slot) != 0 {
			if slot++; slot == p.slots {
				slot = 0
			}
		}
		*t.slot(p, slot) = x
	}
	t.giveChunks(old.index)
	return true
}

// record is one sum. Its item is the table's memory.
type record struct {
	board uint32
	slot  uint16
	item  []byte
	sum   uint64
}

// at returns the record that a word of the index is about.
func (t *table) at(p *partition, x uint32) record {
	w := t.record(p, x)
	head := t.words[w+3]
	return record{
		board: t.words[w+2], slot: uint16(head >> 16), item: t.bytes[(w+headWords)*4:][:head&0xffff],
		sum: binary.NativeEndian.Uint64(t.bytes[w*4:]),
	}
}

// len returns how many sums there are.
func (t *table) len() int {
	n := 0
	for i := range t.parts {
		n += t.parts[i].used
	}
	return n
}

// reset empties the table.
func (t *table) reset() {
	for i := range t.parts {
		p := &t.parts[i]
		t.giveChunks(p.index)
		t.giveChunks(p.records)
		p.index, p.records, p.slots, p.used, p.end = nil, p.records[:0], 0, 0, 0
	}
}
