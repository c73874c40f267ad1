package shard

import (
	"encoding/binary"
	"math/bits"
	"time"

	"crest"
)

// recentIDs remembers event ids for at least the horizon, as far as its memory goes. Ids are kept as 64-bit hashes in two
// generations: the younger takes new ids, and becomes the older one after a horizon. A set of eight is one cache line.
//
// When a set is full and the memory spent, the oldest id of the set is forgotten. That can only let a duplicate through,
// which the recount finds; it never drops a new event.
type recentIDs struct {
	horizon  time.Duration
	maxSets  int // of one generation, a power of two
	young    generation
	old      generation
	turn     crest.Millis // when the next generation begins
	forgot   bool         // an id was forgotten too early since takeForgot
	disabled bool
}

const (
	idsPerSet   = 8
	recentStart = 64 // sets at first
)

type generation struct {
	sets [][idsPerSet]uint64 // 0 is free; the newest of a set first
}

func newRecentIDs(horizon time.Duration, memory int) *recentIDs {
	sets := memory / 2 / (idsPerSet * 8)
	if sets < 1 || horizon <= 0 {
		return &recentIDs{disabled: true}
	}
	return &recentIDs{horizon: horizon, maxSets: 1 << (bits.Len(uint(sets)) - 1)}
}

// seen reports whether the id was seen before, and remembers it. Received times must not go back.
func (r *recentIDs) seen(id crest.EventID, received crest.Millis) bool {
	if r.disabled {
		return false
	}
	if received >= r.turn {
		r.advance(received)
	}
	h := (binary.LittleEndian.Uint64(id[:8]) ^ bits.RotateLeft64(binary.LittleEndian.Uint64(id[8:]), 32)) * 0x9e3779b97f4a7c15
	h ^= h >> 29
	if h == 0 {
		h = 1
	}
	if r.young.has(h) {
		return true
	}
	if r.old.has(h) {
		return true
	}
	if !r.young.insert(h, r.maxSets) {
		r.forgot = true
	}
	return false
}

// advance begins a new generation, at multiples of the horizon so that a replay of the log does the same.
func (r *recentIDs) advance(received crest.Millis) {
	start := received.Floor(r.horizon)
	r.old, r.young = r.young, r.old
	r.young.reset()
	if start > r.turn { // nothing came for a whole horizon
		r.old.reset()
	}
	r.turn = start.Add(r.horizon)
}

// takeForgot reports whether ids were forgotten too early since it was last asked.
func (r *recentIDs) takeForgot() bool {
	f := r.forgot
	r.forgot = false
	return f
}

func (g *generation) reset() { clear(g.sets) }

func (g *generation) has(h uint64) bool {
	if len(g.sets) == 0 {
		return false
	}
	set := &g.sets[h&uint64(len(g.sets)-1)]
	for _, x := range set {
		if x == h {
			return true
		}
	}
	return false
}

// insert remembers the id, and reports whether that cost no other one.
func (g *generation) insert(h uint64, maxSets int) bool {
	if len(g.sets) == 0 {
		g.sets = make([][idsPerSet]uint64, min(recentStart, maxSets))
	}
	set := &g.sets[h&uint64(len(g.sets)-1)]
	for set[idsPerSet-1] != 0 {
		if len(g.sets) == maxSets {
			copy(set[1:], set[:idsPerSet-1])
			set[0] = h
			return false
		}
		g.grow()
		set = &g.sets[h&uint64(len(g.sets)-1)]
	}
	copy(set[1:], set[:idsPerSet-1])
	set[0] = h
	return true
}

// grow doubles the sets. Each splits in two, so the order inside a set stays.
func (g *generation) grow() {
	n := len(g.sets)
	sets := make([][idsPerSet]uint64, 2*n)
	for i := range g.sets {
		var low, high int
		for _, h := range g.sets[i] {
			if h == 0 {
				break
			}
			if h&uint64(n) == 0 {
				sets[i][low] = h
				low++
			} else {
				sets[i+n][high] = h
				high++
			}
		}
	}
	g.sets = sets
}
