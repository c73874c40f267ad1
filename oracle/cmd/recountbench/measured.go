package main

import (
	"context"
	"syscall"
	"time"
)

// measured is what a program took: the least of the rounds, of memory the most.
type measured struct {
	name      string
	rounds    int
	wall, cpu time.Duration
	peak      int64 // bytes
}

func (m *measured) run(ctx context.Context, name string, args ...string) error {
	began := time.Now()
	state, err := runProgram(ctx, name, args...)
	if err != nil {
		return err
	}
	wall, cpu := time.Since(began), state.UserTime()+state.SystemTime()
	if m.rounds == 0 || wall < m.wall {
		m.wall = wall
	}
	if m.rounds == 0 || cpu < m.cpu {
		m.cpu = cpu
	}
	if usage, ok := state.SysUsage().(*syscall.Rusage); ok {
		m.peak = max(m.peak, usage.Maxrss<<10) // Linux says KiB
	}
	m.rounds++
	return nil
}
