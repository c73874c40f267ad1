package sketch

import (
	"math/bits"
	"strings"
	"unsafe"
)

// keyHeap holds at most limit keys, the one with the smallest count first. A table finds a key's place in the heap:
// open addressing, at most half full.
type keyHeap struct {
	limit    int
	items    []heapItem
	table    []uint32 // place in items plus one; 0 is free
	keyBytes int
}

type heapItem struct {
	key   string
	hash  uint64
	count uint64
	err   uint64
	slot  uint32 // of the table
}

const heapItemBytes = int(unsafe.Sizeof(heapItem{}))

func newKeyHeap(limit int) keyHeap {
	return keyHeap{limit: limit, table: make([]uint32, 2<<bits.Len(uint(limit)))}
}

func (h *keyHeap) full() bool { return len(h.items) == h.limit }

// least returns the smallest count, 0 while another key has room. The limit must not be 0.
func (h *keyHeap) least() uint64 {
	if !h.full() {
		return 0
	}
	return h.items[0].count
}

// find returns the place of key, or -1.
func (h *keyHeap) find(hash uint64, key string) int {
	mask := uint32(len(h.table) - 1)
	for slot := uint32(hash) & mask; h.table[slot] != 0; slot = (slot + 1) & mask {
		if it := &h.items[h.table[slot]-1]; it.hash == hash && it.key == key {
			return int(h.table[slot] - 1)
		}
	}
	return -1
}

// push adds a key that the heap doesn't hold. It must not be full.
func (h *keyHeap) push(hash uint64, key string, count, err uint64) {
	h.items = append(h.items, heapItem{key: strings.Clone(key), hash: hash, count: count, err: err})
	h.keyBytes += len(key)
	at := len(h.items) - 1
	h.enter(at)
	for at > 0 && h.items[(at-1)/2].count > h.items[at].count {
		h.swap(at, (at-1)/2)
		at = (at - 1) / 2
	}
}

// replaceLeast puts a key that the heap doesn't hold in the place of the one with the smallest count.
func (h *keyHeap) replaceLeast(hash uint64, key string, count, err uint64) {
	h.keyBytes += len(key) - len(h.items[0].key)
	h.leave(h.items[0].slot)
	h.items[0] = heapItem{key: strings.Clone(key), hash: hash, count: count, err: err}
	h.enter(0)
	h.sink(0)
}

// raise sets the count of the key at a place to one that is not smaller.
func (h *keyHeap) raise(at int, count uint64) {
	h.items[at].count = count
	h.sink(at)
}

func (h *keyHeap) sink(at int) {
	for {
		child := 2*at + 1
		if child >= len(h.items) {
			return
		}
		if child+1 < len(h.items) && h.items[child+1].count < h.items[child].count {
			child++
		}
		if h.items[at].count <= h.items[child].count {
			return
		}
		h.swap(at, child)
		at = child
	}
}

func (h *keyHeap) swap(a, b int) {
	h.items[a], h.items[b] = h.items[b], h.items[a]
	h.table[h.items[a].slot] = uint32(a + 1)
	h.table[h.items[b].slot] = uint32(b + 1)
}

// enter writes the item at a place into the table.
func (h *keyHeap) enter(at int) {
	mask := uint32(len(h.table) - 1)
	slot := uint32(h.items[at].hash) & mask
	for h.table[slot] != 0 {
		slot = (slot + 1) & mask
	}
	h.table[slot] = uint32(at + 1)
	h.items[at].slot = slot
}

// leave frees a slot of the table and moves up those after it that would no longer be found.
func (h *keyHeap) leave(slot uint32) {
	mask := uint32(len(h.table) - 1)
	for next := (slot + 1) & mask; h.table[next] != 0; next = (next + 1) & mask {
		it := &h.items[h.table[next]-1]
		home := uint32(it.hash) & mask
		if (next-home)&mask >= (next-slot)&mask {
			h.table[slot], it.slot = h.table[next], slot
			slot = next
		}
	}
	h.table[slot] = 0
}

func (h *keyHeap) top(k int) []Entry {
	entries := make([]Entry, len(h.items))
	for i, it := range h.items {
		entries[i] = Entry{Key: it.key, Hash: it.hash, Count: it.count, Error: it.err}
	}
	sortEntries(entries)
	return entries[:max(min(k, len(entries)), 0)]
}

func (h *keyHeap) bytes() int { return cap(h.items)*heapItemBytes + len(h.table)*4 + h.keyBytes }
