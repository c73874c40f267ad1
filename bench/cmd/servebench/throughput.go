package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// maxAge is how old the data of the 1m list may be at the views preset.
const maxAge = 12 * time.Second

// throughput drives a node of the views preset as fast as it acknowledges, logged, in binary batches of 500, from a
// generator on the same machine. Events are archived beside being counted.
func throughput(ctx context.Context, s settings, r *report) error {
	return driveViews(ctx, s, r, "", true)
}

// withoutArchive is throughput on a node that only counts.
func withoutArchive(ctx context.Context, s settings, r *report) error {
	return driveViews(ctx, s, r, "archive: {enabled: false}\n", false)
}

func driveViews(ctx context.Context, s settings, r *report, configuration string, archived bool) (err error) {
	n, err := startNode(ctx, s, "views", configuration)
	if err != nil {
		return err
	}
	defer func() { err = firstError(err, n.stop()) }()
	flags := []string{"--format", "protobuf", "--batch", "500", "--connections", s.connections, "--ack", "logged", "--type", "video"}
	if s.warm > 0 {
		if _, err := n.load(ctx, s.warm, flags...); err != nil {
			return err
		}
		if err := n.drained(ctx); err != nil {
			return err
		}
	}

	before, err := n.processor()
	if err != nil {
		return err
	}
	watching, stop := context.WithCancel(ctx)
	ages := watchAge(watching, n, "type=video&window=1m&k=10")
	profile := takeProfile(ctx, n, s)
	l, err := n.load(ctx, s.duration, flags...)
	start := time.Now()
	if err == nil {
		err = n.drained(ctx)
	}
	behind := time.Since(start)
	if err == nil && archived {
		err = n.commitArchive(ctx)
	}
	unarchived := time.Since(start)
	stop()
	seen := <-ages
	if err = firstError(err, seen.err); err != nil {
		return err
	}
	after, err := n.processor()
	if err != nil {
		return err
	}

	r.figure("events acknowledged a second", "%.0f", l.PerSecond)
	r.figure("events", "%d", l.Acked)
	r.figure("processor time of the node per event", "%.0f ns", float64((after-before).Nanoseconds())/float64(max(l.Acked, 1)))
	r.figure("latency of a batch", "p50 %.1f ms, p99 %.1f ms", l.P50, l.P99)
	r.promise(l.Rejected == 0 && len(l.Errors) == 0, "events refused", "none", "%d, failed requests %v", l.Rejected, l.Errors)
	r.figure("counting was behind when load ended", "%.1f s", behind.Seconds())
	if archived {
		r.figure("all was in the archive", "%.1f s after load ended", unarchived.Seconds())
	}
	age := spreadOf(seen.ages)
	r.promise(age.n > 0 && age.max <= maxAge, "age of the 1m list's data", fmt.Sprintf("at most %s", maxAge),
		"mean %.1f s, max %.1f s (%d looks)", age.avg.Seconds(), age.max.Seconds(), age.n)
	if p := <-profile; p.err != nil {
		return p.err
	} else if p.file != "" {
		return printProfile(ctx, p.file)
	}
	return nil
}

type watched struct {
	ages []time.Duration
	err  error
}

// watchAge looks at a list ten times a second until ctx ends, and then sends how old its data was.
func watchAge(ctx context.Context, n *node, query string) <-chan watched {
	result := make(chan watched, 1)
	go func() {
		var w watched
		defer func() { result <- w }()
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			l, err := n.top(ctx, query)
			switch {
			case ctx.Err() != nil:
				return
			case err != nil:
				w.err = err
				return
			case l.Short != "warming_up" || len(l.Top) > 0:
				w.ages = append(w.ages, time.Since(l.AsOf))
			}
		}
	}()
	return result
}

type profiled struct {
	file string
	err  error
}

// takeProfile records where the node spends its time in the middle of the load.
func takeProfile(ctx context.Context, n *node, s settings) <-chan profiled {
	result := make(chan profiled, 1)
	go func() {
		seconds := int(s.duration.Seconds() / 2)
		if seconds < 1 {
			result <- profiled{}
			return
		}
		data, err := n.get(ctx, fmt.Sprintf("%s/debug/pprof/profile?seconds=%d", n.admin, seconds))
		file := filepath.Join(s.dir, "throughput.pprof")
		if err == nil {
			err = os.WriteFile(file, data, 0o600)
		}
		result <- profiled{file, err}
	}()
	return result
}

func printProfile(ctx context.Context, file string) error {
	fmt.Printf("\nWhere the time goes (go tool pprof %s):\n\n", file)
	c := exec.CommandContext(ctx, "go", "tool", "pprof", "-top", "-nodecount=30", file) //nolint:gosec // a file of this program
	c.Stdout = os.Stdout
	if err := c.Run(); err != nil {
		return fmt.Errorf("go tool pprof: %w", err)
	}
	return nil
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
