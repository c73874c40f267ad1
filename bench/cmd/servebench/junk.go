package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// maxGrowth is how much resident memory may grow while junk comes in.
const maxGrowth = 0.05

// Of the windows, those that are full after a minute, and ids remembered for half a minute: a window of an hour goes on
// taking memory for an hour, and ids for twice as long as they are remembered, junk or not.
const shortWindows = `
counting: {dedup_horizon: 30s}
windows:
  - {name: 1m, length: 1m, bucket: 10s, refresh: 10s}
  - {name: all, length: 0, refresh: 10s}
`

// Warm is a node that has run for longer than its longest bounded window, and than it remembers ids, and has stopped growing.
const (
	warmAfter   = 80 * time.Second
	warmGrowth  = 0.01
	warmRounds  = 30
	roundLength = 10 * time.Second
)

// junk sends one-off tags to a warm node of the views preset and looks at memory and at the top 100.
func junk(ctx context.Context, s settings, r *report) (err error) {
	n, err := startNode(ctx, s, "views", shortWindows)
	if err != nil {
		return err
	}
	defer func() { err = firstError(err, n.stop()) }()
	memoryBefore, err := n.warmUp(ctx)
	if err != nil {
		return err
	}
	before, err := n.settled(ctx)
	if err != nil {
		return err
	}
	sent, memoryAfter := uint64(0), 0
	for sent < uint64(s.junk) {
		l, memory, err := n.round(ctx, "--items", "1000000000", "--zipf", "0")
		if err != nil {
			return err
		}
		if l.Acked == 0 {
			return errors.New("no event was acknowledged")
		}
		sent += l.Acked
		memoryAfter = memory
	}
	after, err := n.settled(ctx)
	if err != nil {
		return err
	}

	growth := float64(memoryAfter)/float64(memoryBefore) - 1
	r.figure("one-off tags", "%d", sent)
	r.promise(growth < maxGrowth, "growth of resident memory", fmt.Sprintf("less than %.0f %%", maxGrowth*100),
		"%.1f %% (%.0f to %.0f MB)", growth*100, float64(memoryBefore)/1e6, float64(memoryAfter)/1e6)
	moved := moved(before, after)
	r.promise(moved == 0, "ranks of the all-time top 100 that changed", "none", "%d", moved)
	return nil
}

// warmUp sends ordinary traffic until memory stays as it is, and returns that memory.
func (n *node) warmUp(ctx context.Context) (int, error) {
	start := time.Now()
	before := 0
	for range warmRounds {
		_, memory, err := n.round(ctx)
		if err != nil {
			return 0, err
		}
		if time.Since(start) > warmAfter && float64(memory) < float64(before)*(1+warmGrowth) {
			return max(memory, before), nil
		}
		before = memory
	}
	return 0, fmt.Errorf("memory still grew after %s of ordinary traffic", time.Since(start).Round(time.Second))
}

// round sends hashtags for a while. It returns the mean of resident memory meanwhile: the garbage collector makes it rise
// and fall.
func (n *node) round(ctx context.Context, flags ...string) (loaded, int, error) {
	sampling, stop := context.WithCancel(ctx)
	samples := make(chan int, 1)
	go func() {
		sum, count := 0, 0
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for sampling.Err() == nil {
			if memory, err := n.resident(); err == nil {
				sum, count = sum+memory, count+1
			}
			<-tick.C
		}
		samples <- sum / max(count, 1)
	}()
	l, err := n.load(ctx, roundLength, append([]string{"--type", "hashtag"}, flags...)...)
	stop()
	memory := <-samples
	fmt.Fprintf(os.Stderr, "%9d events, %.0f MB resident\n", l.Acked, float64(memory)/1e6)
	return l, memory, err
}

// settled waits for an all-time list of hashtags that has everything.
func (n *node) settled(ctx context.Context) (list, error) {
	if err := n.drained(ctx); err != nil {
		return list{}, err
	}
	now := time.Now()
	var l list
	err := n.wait(ctx, 3*time.Minute, "newer all-time list", func() (bool, error) {
		var err error
		l, err = n.top(ctx, "type=hashtag&window=all&k=100")
		return l.AsOf.After(now), err
	})
	return l, err
}

func moved(before, after list) int {
	n := 0
	for i, e := range after.Top {
		if i >= len(before.Top) || before.Top[i].ID != e.ID {
			n++
		}
	}
	return n
}
