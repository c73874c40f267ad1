package counts

import (
	"encoding/hex"

	"github.com/zeebo/xxh3"
)

// hasher computes the checksum of a file that goes by in pieces.
type hasher struct{ h *xxh3.Hasher }

func newHasher() *hasher { return &hasher{xxh3.New()} }

func (h *hasher) write(p []byte) {
	_, _ = h.h.Write(p) // it can't fail
}

// sum returns the checksum of what went by, as Info has it.
func (h *hasher) sum() string {
	b := h.h.Sum128().Bytes()
	return hex.EncodeToString(b[:])
}

// blockBytes is the size of the blocks in which damage is told after a file has been opened. Disks and page caches read
// no less.
const blockBytes = 4096

// blockSum is the checksum of one block.
func blockSum(b []byte) uint32 { return uint32(xxh3.Hash(b)) }
