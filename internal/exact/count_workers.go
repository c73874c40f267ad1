package exact

import (
	"context"
	"sync"
	"sync/atomic"
)

// each runs work for 0 to n-1 on as many goroutines as there are workers and waits for them. After the first error no more
// begins, and that error is returned. Work is told which worker runs it, 0 to workers-1.
func each(ctx context.Context, workers, n int, work func(ctx context.Context, worker, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	var running sync.WaitGroup
	for w := range min(workers, n) {
		running.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				if err := work(ctx, w, i); err != nil {
					cancel(err)
				}
			}
		})
	}
	running.Wait()
	return context.Cause(ctx)
}
