package rank

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"crest/internal/rows"
)

// pipeline moves batches from a reader over parsers, which work on several batches at once, to the counting, which sees
// them in order. A fixed number of batches circulates: that bounds its memory and is all the queueing there is.
type pipeline struct {
	config   *Config
	counting counting
	observer Observer
	inputs   []*rows.Input
	stats    Stats

	free    chan *batch   // to the reader
	parse   chan *batch   // to the parsers
	ordered chan *batch   // to the dispatcher
	count   []chan *batch // to each counting worker
	cancel  context.CancelCauseFunc
}

func newPipeline(c *Config, inputs []*rows.Input, counting counting, o Observer) *pipeline {
	workers := max(1, c.Workers)
	batches := 2*workers + 2
	shards := 1
	if c.Every == 0 {
		shards = c.shards()
	}
	p := &pipeline{
		config: c, counting: counting, observer: o, inputs: inputs,
		free: make(chan *batch, batches), parse: make(chan *batch, batches), ordered: make(chan *batch, batches),
		count: make([]chan *batch, counting.workers()),
	}
	for range batches {
		p.free <- newBatch(shards)
	}
	for i := range p.count {
		p.count[i] = make(chan *batch, batches)
	}
	return p
}

// run returns when every batch has been counted, or with the first error.
func (p *pipeline) run(ctx context.Context) error {
	ctx, p.cancel = context.WithCancelCause(ctx)
	defer p.cancel(nil)
	for _, in := range p.inputs {
		if in.Size == 0 {
			p.stats.Size = 0
			break
		}
		p.stats.Size += in.Size
	}
	var all sync.WaitGroup
	for range max(1, p.config.Workers) {
		all.Go(p.parseAll)
	}
	for i := range p.count {
		all.Go(func() { p.countAll(i) })
	}
	all.Go(func() { p.dispatch(ctx) })
	if err := p.read(ctx); err != nil {
		p.cancel(err)
	}
	close(p.parse)
	close(p.ordered)
	all.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// read cuts the inputs into batches.
func (p *pipeline) read(ctx context.Context) error {
	wanted := wantedColumns(p.config).wanted
	for _, in := range p.inputs {
		reader, err := rows.NewReader(in, p.config.Format, wanted)
		if err != nil {
			return err
		}
		for {
			var b *batch
			select {
			case b = <-p.free:
			case <-ctx.Done():
				return nil
			}
			b.input, b.reader = in, reader
			err := reader.Next(&b.block)
			if errors.Is(err, io.EOF) {
				p.free <- b
				break
			}
			if err != nil {
				return err
			}
			p.parse <- b
			p.ordered <- b
		}
		if err := in.Close(); err != nil {
			return fmt.Errorf("close %s: %w", in.Name, err)
		}
	}
	return nil
}

func (p *pipeline) parseAll() {
	parsing := newParsing(p.config)
	for b := range p.parse {
		parsing.parse(b)
		b.ready <- struct{}{}
	}
}

// dispatch hands parsed batches to every counting worker in the order in which they were read.
func (p *pipeline) dispatch(ctx context.Context) {
	for b := range p.ordered {
		<-b.ready
		if ctx.Err() == nil {
			p.stats.add(&b.tally)
			p.report()
		}
		b.users.Store(int32(len(p.count)))
		for _, c := range p.count {
			c <- b
		}
	}
	for _, c := range p.count {
		close(c)
	}
}

func (p *pipeline) report() {
	if p.observer.Progress == nil {
		return
	}
	p.stats.Bytes = 0
	for _, in := range p.inputs {
		p.stats.Bytes += in.BytesRead()
	}
	p.observer.Progress(p.stats)
}

// countAll counts one worker's share of every batch. After a failure it only gives batches back.
func (p *pipeline) countAll(worker int) {
	failed := false
	for b := range p.count[worker] {
		if !failed {
			if err := p.counting.apply(worker, b); err != nil {
				failed = true
				p.cancel(err)
			}
		}
		if b.users.Add(-1) == 0 {
			p.free <- b
		}
	}
}
