package pipeline

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"crest"
	"crest/internal/config"
	"crest/internal/eventlog"
	"crest/internal/list"
	"crest/internal/shard"
)

// Lists is where finished lists go.
type Lists interface {
	// Publish makes the lists of one refresh current, all in one step.
	Publish(lists []crest.List)
	// Current returns the newest list of a board and window, nil when there has been none.
	Current(board, window string) *list.Published
}

// Options are what a pipeline needs beside its configuration.
type Options struct {
	Log        eventlog.Log
	Lists      Lists
	Titles     list.Titles       // nil when items have no titles
	Exact      func() list.Exact // the newest exact counts, nil when there are none; nil when there never are any
	Checkpoint string            // directory; empty keeps the counting state in memory alone
	Processors int               // how many goroutines count at once; as many as Go uses when 0
	Now        func() time.Time  // the clock, for generated_at and to notice that counting lags
	Observer   Observer
}

// Observer is told what the pipeline does. Every function may be nil; they are called from several goroutines.
type Observer struct {
	Read         func(events, records int)                      // taken from the log
	Flushed      func(partials int, duplicates, refused uint64) // weights dropped, and without room for their board
	Refreshed    func(asOf crest.Millis, lists int, lag, took time.Duration)
	Checkpointed func(bytes, files int, took time.Duration, err error)
	Restored     func(watermark crest.Millis, took time.Duration) // the counting state of an earlier run
	Skipped      func(err error)                                  // records that can't be counted
}

// Pipeline counts what is in the log and publishes lists of it.
type Pipeline struct {
	config  *config.Config
	options Options
	layout  *shard.Layout
	boards  *shard.Boards
	parts   []*partition
	shards  []*shard.Shard
	partial [][]shard.Partial // scratch, per shard

	offset    eventlog.Offset // where reading goes on
	since     crest.Millis    // when counting began; 0 before the first event or tick
	watermark crest.Millis    // everything received before is counted, or waits in an aggregator
	received  crest.Millis    // of the newest record that was taken in
	marks     marks           // where the dedup horizon begins in the log

	partialUntil crest.Millis // received time until which duplicates can come of ids that were forgotten too early

	flushAt      crest.Millis
	checkpointAt crest.Millis
	hourAt       crest.Millis // the next whole hour, which has lists of its own
	schedule     []*scheduled
	build        chan refresh

	exact  list.Exact          // the exact counts in use, nil when there are none
	splits map[[2]string]split // its candidates, by board and window
	asked  chan question

	saved    savedState
	save     chan snapshot
	saveDone chan error // how writing the last one went
	saving   bool       // one is being written
	needed   atomic.Int64
}

// partition is what one partition's goroutine uses.
type partition struct {
	aggregator *shard.Aggregator
	decoder    *eventlog.Decoder
	records    []eventlog.Record
	some       [64]shard.Event // decoded, not yet summed
	events     int
	skipped    error
}

// idle is how long a read waits before it lets the watermark move without events. Short beside the shortest refresh.
const idle = 50 * time.Millisecond

// drainTimeout bounds how long a stop waits for what is in the log already.
const drainTimeout = 10 * time.Second

// New returns a pipeline that goes on from the newest checkpoint, or begins at the oldest record of the log.
func New(cfg *config.Config, options Options) (*Pipeline, error) {
	if options.Processors == 0 {
		options.Processors = runtime.GOMAXPROCS(0)
	}
	p := &Pipeline{
		config: cfg, options: options, layout: layoutOf(cfg),
		build: make(chan refresh, 1), save: make(chan snapshot), saveDone: make(chan error, 1),
		asked: make(chan question), splits: map[[2]string]split{},
	}
	p.reset()
	if options.Checkpoint == "" {
		return p, nil
	}
	if err := p.restore(); err != nil {
		return nil, fmt.Errorf("restore the counting state: %w", err)
	}
	return p, nil
}

// reset makes a pipeline that has counted nothing.
func (p *Pipeline) reset() {
	types := make([]string, len(p.config.Types))
	for i, t := range p.config.Types {
		types[i] = t.Name
	}
	p.boards = shard.NewBoards(p.layout)
	p.parts, p.shards = nil, nil
	for i := range p.layout.Partitions {
		p.parts = append(p.parts, &partition{
			aggregator: shard.NewAggregator(p.layout, p.boards, i),
			decoder:    eventlog.NewDecoder(types, p.layout.Dimensions),
		})
	}
	for range p.layout.Shards {
		p.shards = append(p.shards, shard.New(p.layout, p.boards))
	}
	p.partial = make([][]shard.Partial, p.layout.Shards)
	p.offset, p.since, p.watermark, p.received, p.partialUntil = 0, 0, 0, 0, 0
	p.marks = marks{horizon: p.layout.Horizon}
	p.saved = savedState{}
	p.planRefreshes()
}

// Needed returns the oldest offset that a restart would read from. The log must keep what comes after it.
func (p *Pipeline) Needed() eventlog.Offset { return eventlog.Offset(p.needed.Load()) }

// Run counts until ctx ends, then what the log holds by then, saves the state, and returns. It returns early only with
// an error that makes going on pointless.
func (p *Pipeline) Run(ctx context.Context) error {
	building, saving := make(chan struct{}), make(chan struct{})
	go func() { defer close(building); p.buildLists() }()
	go func() { defer close(saving); p.saveCheckpoints() }()
	defer func() {
		close(p.build)
		close(p.save)
		<-building
		<-saving
	}()
	p.recallIDs(ctx)
	if ctx.Err() != nil {
		return nil // before anything was counted: what is on disk is right as it is
	}
	if err := p.read(ctx, idle, func(eventlog.Batch) bool { return false }); err != nil {
		return err
	}
	return p.drain()
}

// drain takes in what the log holds when the pipeline is told to stop, and saves the state.
func (p *Pipeline) drain() error {
	ctx, cancel := context.WithTimeout(context.Background(), drainTimeout)
	defer cancel()
	_, end := p.options.Log.Range()
	if p.offset < end {
		if err := p.read(ctx, idle, func(b eventlog.Batch) bool { return b.Next >= end }); err != nil {
			return err
		}
	}
	if err := p.flush(); err != nil {
		return err
	}
	if p.options.Checkpoint == "" {
		return nil
	}
	p.saveEnded(true)
	return p.startSave()
}

// read takes in batches until ctx ends or last says that one was the last.
func (p *Pipeline) read(ctx context.Context, wait time.Duration, last func(eventlog.Batch) bool) error {
	reader, err := p.open()
	if err != nil {
		return err
	}
	defer func() { _ = reader.Close() }()
	for {
		batch, err := reader.Read(ctx, wait)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			_ = reader.Close()
			if !p.skip(err) {
				return fmt.Errorf("read the event log: %w", err)
			}
			if reader, err = p.open(); err != nil {
				return err
			}
			continue
		}
		if err := p.take(batch); err != nil {
			return err
		}
		p.answer() // not sooner: it moves rings forwards, and lists of the batch may be as of a moment before
		if last(batch) {
			return nil
		}
	}
}

// open returns a reader at the pipeline's offset, or after a gap that the log can't fill any more.
func (p *Pipeline) open() (eventlog.Reader, error) {
	for {
		r, err := p.options.Log.NewReader(p.offset)
		if err == nil {
			return r, nil
		}
		if !p.skip(err) {
			return nil, fmt.Errorf("read the event log from offset %d: %w", p.offset, err)
		}
	}
}

// skip moves past records that the log has lost, if that is what the error says. What is counted from then on is not
// everything, so counting begins anew as far as lists are concerned.
func (p *Pipeline) skip(err error) bool {
	next := afterGap(err)
	if next <= p.offset {
		return false
	}
	first := p.offset == 0 && p.since == 0
	p.offset = next
	if first { // on a log that is older: nothing that was counted is missing
		return true
	}
	p.since = 0
	p.noteSkipped(err)
	return true
}

func (p *Pipeline) noteSkipped(err error) {
	if p.options.Observer.Skipped != nil {
		p.options.Observer.Skipped(err)
	}
}
