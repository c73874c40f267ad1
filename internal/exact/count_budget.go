package exact

import (
	"runtime"
	"slices"
)

// What a count needs beside the region of its tables, in bytes as measured: the program, Go's own memory and the writers of the
// results; the pages and updates that each worker has in its hands; and the names of narrowed boards, about a KiB for each with
// all that is made of them.
const (
	memoryBase   = 30 << 20
	memoryWorker = 6 << 20
	memoryBoard  = 1 << 10
	minRegion    = 8 << 20
)

// budget divides a count's memory: how much is for its tables, and how many workers there is enough for. Narrowed boards have a
// quarter at most, which of the least memory is enough for some thousands. An hour with more of them, up to the limit of
// 100,000, takes beside what they need.
func budget(memory int64, workers int, narrow bool) (region int64, atWork int) {
	region = memory - memoryBase
	if narrow {
		region -= min(maxNarrow*memoryBoard, memory/4)
	}
	atWork = int(max(1, min(int64(workers), (region-minRegion)/memoryWorker)))
	return max(region-int64(atWork)*memoryWorker, minRegion), atWork
}

// narrows reports whether types have narrowed boards.
func narrows(types []TypeBoards) bool {
	return slices.ContainsFunc(types, func(t TypeBoards) bool { return len(t.Narrow) > 0 })
}

// Passes returns how often the ids of an hour of that many rows are looked through for those that came twice: more memory
// means less often. It is 0 when the memory, in bytes, is too little for the hour. The ids of neighbouring hours, and many
// duplicates, can make it a little more. Zero workers are as many as there are processors; narrow says that types have
// narrowed boards.
func Passes(rows, memory int64, workers int, narrow bool) int {
	if workers == 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	free, _ := budget(memory, workers, narrow)
	slots := slotsWithin(free-rows/8, rows) // a bit for each row
	if slots <= 0 {
		return 0
	}
	return int(partsOf(rows, slots))
}
