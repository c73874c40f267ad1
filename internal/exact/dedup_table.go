package exact

import (
	"math/bits"
	"sync/atomic"
)

// fingerprints is a set of 16-bit fingerprints with linear probing, two to a word; 0 is free. Several goroutines may insert
// at once.
type fingerprints struct {
	words []uint32
}

const fingerprintBytes = 2

// fingerprintSlots returns how many slots are good for a number of ids: 0.7 of them are used.
func fingerprintSlots(ids int64) int64 { return ids/7*10 + 1024 }

// slotsWithin returns how many slots for a number of ids there are in free bytes, of which candidates need some as well.
func slotsWithin(free, ids int64) int64 { return min(fingerprintSlots(ids), free*2/3/fingerprintBytes) }

// partsOf returns in how many ranges a number of ids is to be looked at with so many slots.
func partsOf(ids, slots int64) int64 { return max(1, (fingerprintSlots(ids)+slots-1)/slots) }

// probe is where an id's fingerprint belongs.
type probe struct {
	slot int
	mark uint32
	row  int32
}

// probe places a hash. Rest are bits of it that are spread evenly within the current range of hashes.
func (f *fingerprints) probe(h, rest uint64) probe {
	slot, _ := bits.Mul64(rest, uint64(2*len(f.words)))
	return probe{slot: int(slot), mark: max(uint32(h)&0xffff, 1)}
}

// insert reports whether the fingerprint was there, at its place or in the used slots behind it. When no slot is free it
// says yes: then all further ids become candidates, until these are too many.
func (f *fingerprints) insert(p probe) bool {
	slot := p.slot
	for range 2 * len(f.words) {
		word := &f.words[slot>>1]
		shift := uint(slot&1) * 16
		for {
			old := atomic.LoadUint32(word)
			there := old >> shift & 0xffff
			if there == p.mark {
				return true
			}
			if there != 0 {
				break
			}
			if atomic.CompareAndSwapUint32(word, old, old|p.mark<<shift) {
				return false
			}
		}
		if slot++; slot == 2*len(f.words) {
			slot = 0
		}
	}
	return true
}

func (f *fingerprints) clear() { clear(f.words) }
