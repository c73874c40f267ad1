package exact

import "runtime"

// Passes returns how often the ids of an hour of that many rows are looked through for those that came twice: more memory
// means less often. It is 0 when the memory, in bytes, is too little for the hour. The ids of neighbouring hours, and many
// duplicates, can make it a little more. Zero workers are as many as there are processors.
func Passes(rows, memory int64, workers int) int {
	if workers == 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	free := regionBytes(memory, workers) - rows/8 // a bit for each row
	slots := min(fingerprintSlots(rows), free*2/3/fingerprintBytes)
	if slots <= 0 {
		return 0
	}
	return int((fingerprintSlots(rows) + slots - 1) / slots)
}
