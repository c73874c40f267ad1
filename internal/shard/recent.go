package shard

import (
	"encoding/binary"
	"math/bits"
	"time"

	"crest"
)

// recentIDs remembers event ids for at least the horizon, as far as its memory goes. Ids are kept as 63-bit hashes in
// one table with linear probing, so knowing an id mostly takes one access to memory. The lowest bit tells which of two
// generations an id belongs to. A generation lasts a horizon, and when the next begins, the one before the last is
// forgotten.
//
// When the memory is spent, the next generation begins early. That can only let a duplicate through; it never drops a new
// event. Two ids are taken for one when 62 bits of their hashes agree, which a producer can't bring about: the hash
// depends on a secret.
type recentIDs struct {
	secret     Secret
	horizon    time.Duration
	phase      time.Duration // of when generations begin, so that not all partitions forget at once
	maxSlots   int           // a power of two; 0 remembers nothing
	slots      []uint64      // 0 is free
	used       int
	generation uint64       // 0 or 1
	turn       crest.Millis // when the next generation begins
	forgot     bool         // ids were forgotten too early since takeForgot
	touched    uint64       // what fetch read; kept so that reading is not for nothing
}

const recentStart = 1 << 9 // slots at first

func newRecentIDs(horizon, phase time.Duration, memory int, secret Secret) *recentIDs {
	slots := memory / 8
	if slots < recentStart || horizon < time.Millisecond {
		return &recentIDs{}
	}
	return &recentIDs{
		secret: secret, horizon: horizon, phase: phase, maxSlots: 1 << (bits.Len(uint(slots)) - 1), slots: make([]uint64, recentStart),
	}
}

// seen reports whether the id was seen before, and remembers it. Received times must not go back.
func (r *recentIDs) seen(id crest.EventID, received crest.Millis) bool {
	if r.maxSlots == 0 {
		return false
	}
	if received >= r.turn {
		r.advance(received)
	}
	h := r.hash(id)
	slot := r.find(h)
	if r.slots[slot] != 0 {
		return true
	}
	if r.used >= len(r.slots)/4*3 {
		r.makeRoom()
		slot = r.find(h)
	}
	r.slots[slot] = h | r.generation
	r.used++
	return false
}

// fetch reads the places of ids that are about to be looked for, which brings them into the cache. The reads don't wait
// for each other, as those of one search after another would.
func (r *recentIDs) fetch(events []Event) {
	if r.maxSlots == 0 {
		return
	}
	touched := uint64(0)
	for i := range events {
		touched |= r.slots[r.home(r.hash(events[i].ID))]
	}
	r.touched = touched
}

// hash folds an id into bits of which the lowest is 0 and another is not.
func (r *recentIDs) hash(id crest.EventID) uint64 {
	high, low := bits.Mul64(binary.LittleEndian.Uint64(id[:8])^r.secret[0], binary.LittleEndian.Uint64(id[8:])^r.secret[1])
	return (high^low)&^1 | 2
}

func (r *recentIDs) home(h uint64) int { return int(h>>2) & (len(r.slots) - 1) }

// find returns the slot of a hash, or the free one where it belongs.
func (r *recentIDs) find(h uint64) int {
	mask := len(r.slots) - 1
	slot := r.home(h)
	for x := r.slots[slot]; x != 0 && x&^1 != h; x = r.slots[slot] {
		slot = (slot + 1) & mask
	}
	return slot
}

// makeRoom doubles the table, or, when the memory is spent, forgets the older ids.
func (r *recentIDs) makeRoom() {
	if len(r.slots) == r.maxSlots {
		for full := r.used; r.used == full; {
			r.nextGeneration()
		}
		r.forgot = true
		return
	}
	old := r.slots
	r.slots = make([]uint64, 2*len(old))
	for _, x := range old {
		if x != 0 {
			r.slots[r.find(x&^1)] = x
		}
	}
}

// advance begins a new generation, at multiples of the horizon and its phase, so that a replay of the log does the same.
func (r *recentIDs) advance(received crest.Millis) {
	start := received.Add(-r.phase).Floor(r.horizon).Add(r.phase)
	r.nextGeneration()
	if start > r.turn { // nothing came for a whole horizon
		r.nextGeneration()
	}
	r.turn = start.Add(r.horizon)
}

// nextGeneration forgets the older generation and begins another in its place. What closes up behind a forgotten id has
// to be looked at again, so the walk begins after a free slot and stays where it removed something.
func (r *recentIDs) nextGeneration() {
	r.generation ^= 1
	mask := len(r.slots) - 1
	start := 0
	for r.slots[start] != 0 {
		start++
	}
	for n := 1; n <= mask; {
		slot := (start + n) & mask
		if x := r.slots[slot]; x != 0 && x&1 == r.generation {
			r.remove(slot)
			continue
		}
		n++
	}
}

// remove frees a slot and closes up the ids behind it, so that probing never meets a gap.
func (r *recentIDs) remove(slot int) {
	mask := len(r.slots) - 1
	for next := (slot + 1) & mask; r.slots[next] != 0; next = (next + 1) & mask {
		if home := r.home(r.slots[next]); (next-home)&mask >= (next-slot)&mask {
			r.slots[slot] = r.slots[next]
			slot = next
		}
	}
	r.slots[slot] = 0
	r.used--
}

// takeForgot reports whether ids were forgotten too early since it was last asked.
func (r *recentIDs) takeForgot() bool {
	f := r.forgot
	r.forgot = false
	return f
}
