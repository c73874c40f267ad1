package pipeline

import (
	"sync"
	"sync/atomic"
)

// parallel calls do for 0 to n-1, spread over the processors, and returns the first error once all are done.
func (p *Pipeline) parallel(n int, do func(i int) error) error {
	workers := min(n, p.options.Processors)
	if workers <= 1 {
		for i := range n {
			if err := do(i); err != nil {
				return err
			}
		}
		return nil
	}
	var (
		next  atomic.Int64
		wg    sync.WaitGroup
		once  sync.Once
		first error
	)
	for range workers {
		wg.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				if err := do(i); err != nil {
					once.Do(func() { first = err })
					return
				}
			}
		})
	}
	wg.Wait()
	return first
}
