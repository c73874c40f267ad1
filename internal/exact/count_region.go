package exact

import (
	"unsafe"
)

// region is the memory of one count: a piece of a fixed size outside Go's heap, so that it is neither doubled by the
// collector's headroom nor kept when the count is done. Pages that nothing has touched cost nothing.
//
// It is handed out from the front, and given back from the end.
type region struct {
	data    []byte
	used    int
	touched int // what has ever been handed out, and so isn't zero any more
}

// regionAlign keeps pieces on cache lines of their own.
const regionAlign = 64

func newRegion(size int64) (*region, error) {
	data, err := mapMemory(int(size+chunkBytes-1) / chunkBytes * chunkBytes)
	if err != nil {
		return nil, err
	}
	return &region{data: data}, nil
}

func (r *region) close() error {
	data := r.data
	r.data = nil
	return unmapMemory(data)
}

func (r *region) free() int { return len(r.data) - r.used }

// take returns zeroed memory, or nil when there is not so much.
func (r *region) take(size int) []byte {
	if size < 0 || size > r.free() {
		return nil
	}
	b := r.data[r.used : r.used+size : r.used+size]
	clear(b[:max(0, min(size, r.touched-r.used))])
	r.used = min(len(r.data), (r.used+size+regionAlign-1)/regionAlign*regionAlign)
	r.touched = max(r.touched, r.used)
	return b
}

// takeChunks returns at most size bytes, as far as they are left, in whole chunks. It is not zeroed.
func (r *region) takeChunks(size int) []byte {
	size = min(size, r.free()) / chunkBytes * chunkBytes
	b := r.data[r.used : r.used+size : r.used+size]
	r.used += size
	r.touched = max(r.touched, r.used)
	return b
}

// mark returns what give takes back to: all that was taken since.
func (r *region) mark() int { return r.used }

func (r *region) give(mark int) { r.used = mark }

// takeSlice returns n zeroed values, which must be free of pointers, or nil when there is no room for them.
func takeSlice[T any](r *region, n int) []T {
	var v T
	b := r.take(n * int(unsafe.Sizeof(v)))
	if len(b) == 0 {
		return nil
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), n) //nolint:gosec // aligned by take, and T has no pointers
}
