// Command simulate runs days of traffic through a whole node in simulated time, holds every list on the way against the
// rules of the design, and has the oracle count everything again at the end.
//
//	simulate                                   3 days of the views preset, 20 million events
//	simulate -preset shares -length 6h -events 1000000
//
// It exits with 1 when a rule is broken or counts differ. Recall, and lists that there is no grade for, are printed alone.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"

	"crest"
	"crest/internal/config"
	"crest/oracle/sim"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "simulate:", err)
		os.Exit(1)
	}
}

// options are the flags.
type options struct {
	preset   string
	start    string
	length   time.Duration
	step     time.Duration
	events   int
	ranks    uint64
	seed     uint64
	restarts int
	quiet    string
	down     string
	dir      string
	keep     bool
}

func parse() options {
	var o options
	flag.StringVar(&o.preset, "preset", "views", "views or shares")
	flag.StringVar(&o.start, "start", "2026-11-28T00:00:00Z", "when it begins")
	flag.DurationVar(&o.length, "length", 72*time.Hour, "how long it lasts")
	flag.DurationVar(&o.step, "step", 10*time.Second, "how far time moves at once; windows are refreshed no more often")
	flag.IntVar(&o.events, "events", 20_500_000, "about how many")
	flag.Uint64Var(&o.ranks, "ranks", 300_000, "items of a type at a time")
	flag.Uint64Var(&o.seed, "seed", 1, "")
	flag.IntVar(&o.restarts, "restarts", 12, "stops and crashes in turn, at random moments")
	flag.StringVar(&o.quiet, "quiet", "26h+1h", "spans without traffic: after the start + length, with commas between them")
	flag.StringVar(&o.down, "recount-down", "9h+3h,30h+30h", "spans without recounts")
	flag.StringVar(&o.dir, "dir", "", "where data goes; a temporary directory when empty. A file system in memory is several times faster")
	flag.BoolVar(&o.keep, "keep", false, "keep the data")
	flag.Parse()
	return o
}

func run(ctx context.Context) error {
	o := parse()
	cfg, err := o.config()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp(o.dir, "simulate")
	if err != nil {
		return err
	}
	if !o.keep {
		defer os.RemoveAll(dir)
	}
	cfg.Dir = dir
	fmt.Printf("%s preset, %s from %s, %d events, seed %d\n", o.preset, o.length, o.start, o.events, o.seed)
	began := time.Now()
	cfg.Progress = func(p sim.Progress) {
		fmt.Fprintf(os.Stderr, "\r%s  %d events, %d lists, %d violations, %s ", p.At.Format("2006-01-02 15:04"), p.Events, p.Lists, p.Violations,
			time.Since(began).Round(time.Second))
	}
	result, err := sim.Run(ctx, *cfg)
	fmt.Fprintln(os.Stderr)
	if result != nil {
		printResult(result, time.Since(began))
	}
	if err != nil {
		return err
	}
	if o.keep {
		fmt.Println("data:", result.Data)
	}
	began = time.Now()
	proof, err := sim.Verify(ctx, cfg.Node, result, func(hour crest.Millis) {
		fmt.Fprintf(os.Stderr, "\roracle: %s ", hour.Time().Format("2006-01-02 15:04"))
	})
	fmt.Fprintln(os.Stderr)
	if err != nil {
		return err
	}
	printProof(proof, time.Since(began))
	if result.Violations > 0 || proof.Differences > 0 {
		return fmt.Errorf("%d violations, %d differences", result.Violations, proof.Differences)
	}
	return nil
}

func (o *options) config() (*sim.Config, error) {
	node, err := config.Preset(o.preset)
	if err != nil {
		return nil, err
	}
	start, err := time.Parse(time.RFC3339, o.start)
	if err != nil {
		return nil, err
	}
	for i := range node.Windows {
		node.Windows[i].Refresh = max(node.Windows[i].Refresh, o.step)
	}
	node.Counting.Checkpoint = max(node.Counting.Checkpoint, 5*time.Minute)
	cfg := &sim.Config{
		Node: node, Start: start, Length: o.length, Step: o.step, Events: o.events, Mix: sim.StandardMix(), Seed: o.seed, Restarts: o.restarts,
	}
	cfg.Mix.Ranks = o.ranks
	if cfg.Quiet, err = spans(start, o.quiet); err != nil {
		return nil, fmt.Errorf("-quiet: %w", err)
	}
	if cfg.RecountDown, err = spans(start, o.down); err != nil {
		return nil, fmt.Errorf("-recount-down: %w", err)
	}
	return cfg, errors.Join(node.Validate())
}
