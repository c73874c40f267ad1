// Command servebench measures a whole node on this machine: `crest serve` under `crest load`. It prints throughput and
// processor time per event, how old the data of lists is, how soon a share is on its list, and how memory takes junk,
// each with the promise that it has to keep.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "servebench:", err)
		os.Exit(1)
	}
}

// settings is what the scenarios share.
type settings struct {
	crest       string        // the binary
	dir         string        // data directories and profiles
	duration    time.Duration // of the measured load
	warm        time.Duration // of load before it, not measured
	connections string
	rate        string // events a second that flow while shares are timed
	junk        int    // one-off tags
}

// scenario is one measurement; it reports what it found and whether each promise was kept.
type scenario struct {
	name string
	run  func(context.Context, settings, *report) error
}

func scenarios() []scenario {
	return []scenario{{"throughput", throughput}, {"no-archive", withoutArchive}, {"freshness", freshness}, {"junk", junk}}
}

func run(ctx context.Context) error {
	var s settings
	var names []string
	for _, sc := range scenarios() {
		names = append(names, sc.name)
	}
	flag.StringVar(&s.crest, "crest", "../bin/crest", "the binary to measure; `make build` makes it")
	flag.StringVar(&s.dir, "dir", "", "where data, logs and profiles go; data is removed afterwards; default a new temporary directory")
	flag.DurationVar(&s.duration, "for", 30*time.Second, "how long load is measured")
	flag.DurationVar(&s.warm, "warm", 5*time.Second, "load before that, not measured")
	flag.StringVar(&s.connections, "connections", "8", "connections of the load generator")
	flag.StringVar(&s.rate, "rate", "50000", "events a second that flow while shares are timed")
	flag.IntVar(&s.junk, "junk", 10_000_000, "one-off tags to send")
	only := flag.String("only", strings.Join(names, ","), "scenarios to run")
	flag.Parse()

	var err error
	if s.crest, err = filepath.Abs(s.crest); err != nil {
		return fmt.Errorf("find the binary: %w", err)
	}
	if s.dir == "" {
		if s.dir, err = os.MkdirTemp("", "crest-servebench-"); err != nil {
			return fmt.Errorf("make directory: %w", err)
		}
	}
	r := &report{}
	for _, sc := range scenarios() {
		if !slices.Contains(strings.Split(*only, ","), sc.name) {
			continue
		}
		fmt.Printf("\n%s\n\n", sc.name)
		r.begin()
		if err := sc.run(ctx, s, r); err != nil {
			return fmt.Errorf("%s: %w", sc.name, err)
		}
	}
	return r.verdict()
}
