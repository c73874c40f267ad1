package sim

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"crest"
	"crest/internal/config"
	"crest/internal/eventlog/disklog"
	"crest/internal/ingest"
	"crest/internal/pipeline"
)

// node is Crest without its HTTP edge: what is posted goes through ingest into the log, is counted, and lists come out.
type node struct {
	cfg      *config.Config
	clock    *Clock
	disk     *disklog.Log
	log      *Log
	ingester *ingest.Ingester
	counter  *pipeline.Pipeline
	exact    *exactPath // nil without an archive
	shelf    *shelf
	wrong    func(format string, args ...any)

	readers  int // of the log, that come to rest
	cancel   context.CancelFunc
	failed   chan error
	running  int
	sampled  chan error
	unsample context.CancelFunc
}

// startNode opens the data directory of a configuration and starts what counts in it.
func startNode(cfg *config.Config, clock *Clock, shelf *shelf, wrong func(string, ...any)) (*node, error) {
	n := &node{cfg: cfg, clock: clock, shelf: shelf, wrong: wrong, failed: make(chan error, 8)}
	var err error
	n.disk, err = disklog.Open(disklog.Config{
		Dir: filepath.Join(cfg.Data, "log"), SegmentBytes: int64(cfg.Log.Segment), RetainAge: cfg.Log.RetainAge,
		RetainBytes: int64(cfg.Log.RetainBytes), Now: clock.Now,
	})
	if err != nil {
		return nil, err
	}
	n.log = NewLog(n.disk, clock)
	if err := n.open(); err != nil {
		return nil, errors.Join(err, n.disk.Close())
	}
	return n, nil
}

func (n *node) open() error {
	var err error
	n.ingester, err = ingest.New(n.cfg, n.log, n.clock.Now, ingest.Observer{})
	if err != nil {
		return err
	}
	options := pipeline.Options{
		Log: n.log, Lists: n.shelf, Checkpoint: filepath.Join(n.cfg.Data, "checkpoint"), Now: n.clock.Now,
		Observer: pipeline.Observer{
			Skipped: func(err error) {
				n.wrong("the pipeline skipped something: %v", err)
				n.shelf.skip()
			},
			Checkpointed: func(_, _ int, _ time.Duration, err error) {
				if err != nil {
					n.wrong("a checkpoint failed: %v", err)
				}
			},
		},
	}
	if n.cfg.Archive.Enabled {
		if n.exact, err = openExact(n.cfg, n.shelf, n.wrong); err != nil {
			return err
		}
		options.Lists, options.Exact = n.exact.sampler, n.exact.runner.Exact
	}
	if n.counter, err = pipeline.New(n.cfg, options); err != nil {
		return errors.Join(err, n.exact.close())
	}
	var ctx, sampling context.Context
	ctx, n.cancel = context.WithCancel(context.Background())
	n.run(func() error { return n.counter.Run(ctx) })
	if n.exact == nil {
		return nil
	}
	n.run(func() error { return n.exact.archive.Run(ctx, n.log) })
	sampling, n.unsample = context.WithCancel(context.Background())
	n.sampled = make(chan error, 1)
	go func() { n.sampled <- n.exact.sampler.Run(sampling) }()
	return nil
}

// run starts a part that reads the log.
func (n *node) run(part func() error) {
	n.readers++
	n.running++
	go func() { n.failed <- part() }()
}

// post sends a body as a producer does, who waits until it is on disk or doesn't.
func (n *node) post(ctx context.Context, body []byte, events int, logged bool) error {
	ack := config.AckEnqueued
	if logged {
		ack = config.AckLogged
	}
	result, err := n.ingester.Ingest(ctx, ingest.Request{Body: body, Format: ingest.FormatProtobuf, Ack: ack})
	if err != nil {
		return err
	}
	if result.Rejected > 0 {
		return fmt.Errorf("event %d was refused: %w", result.Rejections[0].Index, result.Rejections[0].Reason)
	}
	if result.Accepted != events {
		return fmt.Errorf("%d of %d events were accepted", result.Accepted, events)
	}
	return nil
}

// retain trims the log once an hour.
func (n *node) retain(t crest.Millis) error {
	if t != t.Floor(time.Hour) {
		return nil
	}
	needed := n.counter.Needed()
	if n.exact != nil {
		needed = min(needed, n.exact.archive.Needed())
	}
	_, err := n.disk.Retain(needed)
	return err
}

// patience is how long a step may take by the real clock before something must be stuck.
const patience = 5 * time.Minute

// settle moves the clock to t and waits until all that was received before has been taken in.
func (n *node) settle(ctx context.Context, t crest.Millis) error {
	n.clock.Set(t)
	return n.await(ctx, fmt.Sprint("the readers of the log to reach ", t.Time()), func() (bool, <-chan struct{}) {
		resting, changed := n.log.resting(t)
		return resting >= n.readers, changed
	})
}

// published waits for lists as of t and returns what is new.
func (n *node) published(ctx context.Context, t crest.Millis) ([]crest.List, error) {
	var lists []crest.List
	err := n.await(ctx, fmt.Sprint("lists as of ", t.Time()), func() (bool, <-chan struct{}) {
		fresh, done, changed := n.shelf.take(t)
		lists = append(lists, fresh...)
		return done, changed
	})
	return lists, err
}

func (n *node) await(ctx context.Context, what string, done func() (bool, <-chan struct{})) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("waited %s for %s", patience, what))
	defer cancel()
	for {
		ok, changed := done()
		if ok {
			return nil
		}
		select {
		case <-changed:
		case err := <-n.failed:
			n.running--
			return fmt.Errorf("a part ended early: %w", err)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// stop ends the node as a signal does.
func (n *node) stop() error {
	n.cancel()
	var err error
	for ; n.running > 0; n.running-- {
		err = errors.Join(err, <-n.failed)
	}
	if n.exact != nil {
		n.unsample()
		err = errors.Join(err, <-n.sampled, n.exact.close())
	}
	return errors.Join(err, n.disk.Close())
}

// crash copies the data as a kill -9 would leave it to another directory, and ends the node.
func (n *node) crash(to string) error {
	err := copyAtOnce(n.cfg.Data, to)
	return errors.Join(err, n.stop())
}
