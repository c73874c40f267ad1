package bench

import (
	"fmt"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// batchSize is how many keys a structure gets at a time: what one flush brings, roughly.
const batchSize = 1 << 14

// Measure feeds the whole stream to an empty structure. It returns the structure and the processor time that all updates
// took together, garbage collection included. Processor time, not the clock's: the machine may be shared.
func Measure(c Contender, s *Stream, budget, k int) (Counter, time.Duration, error) {
	counter, err := c.New(budget, k)
	if err != nil {
		return nil, 0, fmt.Errorf("%s: %w", c.Name, err)
	}
	runtime.GC() // what came before is not to be charged to this one
	var spent time.Duration
	for keys := range s.Batches(batchSize) {
		start, err := processorTime()
		if err != nil {
			return nil, 0, err
		}
		counter.Add(keys)
		end, err := processorTime()
		if err != nil {
			return nil, 0, err
		}
		spent += end - start
	}
	return counter, spent, nil
}

// processorTime returns what this process has used, over all its threads.
func processorTime() (time.Duration, error) {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t); err != nil {
		return 0, fmt.Errorf("read processor time: %w", err)
	}
	return time.Duration(t.Nano()), nil
}

// HeapBytes returns how much the heap grows by making the structure and feeding it the stream, keys that it keeps
// included. That is the structure's size as its user pays for it.
func HeapBytes(c Contender, s *Stream, budget, k int) (int, error) {
	before := liveHeap()
	counter, err := c.New(budget, k)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", c.Name, err)
	}
	for keys := range s.Batches(batchSize) {
		for i, key := range keys {
			keys[i] = strings.Clone(key)
		}
		counter.Add(keys)
	}
	grown := liveHeap() - before
	runtime.KeepAlive(counter)
	runtime.KeepAlive(s)
	return grown, nil
}

func liveHeap() int {
	runtime.GC()
	runtime.GC() // the second frees what finalizers held
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}
