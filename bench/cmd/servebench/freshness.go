package main

import (
	"context"
	"fmt"
	"time"
)

const (
	maxFresh   = 2 * time.Second       // from posting a share to seeing it on its list
	maxLatency = 10 * time.Millisecond // of posting a share, 99th percentile
)

// freshness drives a node of the shares preset at a steady rate and meanwhile posts shares of articles of its own, which
// have a category to themselves, so that each of them makes its list.
func freshness(ctx context.Context, s settings, r *report) (err error) {
	n, err := startNode(ctx, s, "shares", "")
	if err != nil {
		return err
	}
	defer func() { err = firstError(err, n.stop()) }()

	flags := []string{"--rate", s.rate, "--format", "protobuf", "--type", "article", "--dimension", "category=10", "--dimension", "region=4"}
	if s.warm > 0 {
		if _, err := n.load(ctx, s.warm, flags...); err != nil {
			return err
		}
	}
	probing, stop := context.WithCancel(ctx)
	latencies := probeLatency(probing, n)
	fresh := probeFreshness(probing, n)
	l, err := n.load(ctx, s.duration, flags...)
	stop()
	posted, seen := <-latencies, <-fresh
	if err := firstError(err, posted.err, seen.err); err != nil {
		return err
	}

	r.figure("events acknowledged a second", "%.0f", l.PerSecond)
	latency := spreadOf(posted.ages)
	r.promise(latency.n > 0 && latency.p99 < maxLatency, "latency of posting one share", fmt.Sprintf("p99 below %s", maxLatency),
		"p50 %.1f ms, p99 %.1f ms, max %.1f ms (%d posts)", ms(latency.p50), ms(latency.p99), ms(latency.max), latency.n)
	freshness := spreadOf(seen.ages)
	r.promise(freshness.n > 0 && freshness.max <= maxFresh, "from posting a share to its list", fmt.Sprintf("at most %s", maxFresh),
		"p50 %.0f ms, max %.0f ms (%d shares)", ms(freshness.p50), ms(freshness.max), freshness.n)
	return nil
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// probeLatency posts a hundred single shares a second until ctx ends, and then sends how long each took.
func probeLatency(ctx context.Context, n *node) <-chan watched {
	result := make(chan watched, 1)
	go func() {
		var w watched
		defer func() { result <- w }()
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for i := 0; ; i++ {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			start := time.Now()
			err := n.post(ctx, n.url+"/v1/shares", fmt.Sprintf(`{"article_id":"timed-%d","category":"timed"}`, i))
			if ctx.Err() != nil {
				return
			}
			if err != nil {
				w.err = err
				return
			}
			w.ages = append(w.ages, time.Since(start))
		}
	}()
	return result
}

// probeFreshness posts a share and waits for it on its list, again and again until ctx ends, and then sends how long each
// took. A wait that ctx ends is left out.
func probeFreshness(ctx context.Context, n *node) <-chan watched {
	result := make(chan watched, 1)
	go func() {
		var w watched
		defer func() { result <- w }()
		for i := 0; ctx.Err() == nil; i++ {
			id := fmt.Sprintf("probe-%d", i)
			start := time.Now()
			if err := n.post(ctx, n.url+"/v1/shares", fmt.Sprintf(`{"article_id":%q,"category":"probe"}`, id)); err != nil {
				if ctx.Err() == nil {
					w.err = err
				}
				return
			}
			err := n.wait(ctx, 20*time.Second, "share "+id+" on its list", func() (bool, error) { return n.lists(ctx, id), nil })
			if err != nil {
				if ctx.Err() == nil {
					w.err = err
				}
				return
			}
			w.ages = append(w.ages, time.Since(start))
		}
	}()
	return result
}

// lists reports whether the probes' list has this article. While there is no such list, it hasn't.
func (n *node) lists(ctx context.Context, id string) bool {
	l, err := n.top(ctx, "type=article&window=5m&k=100&category=probe")
	if err != nil {
		return false
	}
	for _, e := range l.Top {
		if e.ArticleID == id {
			return true
		}
	}
	return false
}
