package eventlog

import (
	"encoding/binary"
	"math/bits"

	"crest"
)

// Partition returns the partition, 0 to n-1, of an event: by session, or by id when it has no session. A producer that
// sends an event again, with the same id and session, meets the same partition, where the copy can be recognised.
// What it returns is kept in logs: it must not change. n must be positive.
func Partition(session uint64, id crest.EventID, n int) int {
	h := session
	if h == 0 {
		h = binary.LittleEndian.Uint64(id[:8]) ^ bits.RotateLeft64(binary.LittleEndian.Uint64(id[8:]), 32)
	}
	// The finalizer of MurmurHash3: sessions are hashes already, ids need not be.
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	h *= 0xc4ceb9fe1a85ec53
	h ^= h >> 33
	high, _ := bits.Mul64(h, uint64(n))
	return int(high)
}
