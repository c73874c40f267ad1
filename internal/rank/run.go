package rank

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"crest"
	"crest/internal/rows"
)

// run moves batches from a reader over parsers, which work on several batches at once, to the counting, which sees
// them in order. A fixed number of batches circulates: that bounds its memory and is all the queueing there is.
type run struct {
	config   *Config
	counting counting
	observer Observer
	inputs   []*rows.Input
	stats    Stats
	first    *rows.Reader // of the first input

	free    chan *batch   // to the reader
	parse   chan *batch   // to the parsers
	ordered chan *batch   // to the dispatcher
	count   []chan *batch // to each counting worker
	cancel  context.CancelCauseFunc
}

func newRun(c *Config, inputs []*rows.Input, counting counting, o Observer) *run {
	workers := max(1, c.Workers)
	batches := 2*workers + 2
	shards := 1
	if c.Every == 0 {
		shards = c.shards()
	}
	r := &run{
		config: c, counting: counting, observer: o, inputs: inputs,
		free: make(chan *batch, batches), parse: make(chan *batch, batches), ordered: make(chan *batch, batches),
		count: make([]chan *batch, counting.workers()),
	}
	for range batches {
		r.free <- newBatch(shards)
	}
	for i := range r.count {
		r.count[i] = make(chan *batch, batches)
	}
	return r
}

// do returns when every batch has been counted, or with the first error.
func (r *run) do(ctx context.Context) error {
	ctx, r.cancel = context.WithCancelCause(ctx)
	defer r.cancel(nil)
	for _, in := range r.inputs {
		if in.Size == 0 {
			r.stats.Size = 0
			break
		}
		r.stats.Size += in.Size
	}
	var all sync.WaitGroup
	for range max(1, r.config.Workers) {
		all.Go(r.parseAll)
	}
	for i := range r.count {
		all.Go(func() { r.countAll(i) })
	}
	all.Go(func() { r.dispatch(ctx) })
	if err := r.read(ctx); err != nil {
		r.cancel(err)
	}
	close(r.parse)
	close(r.ordered)
	all.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return r.withoutItem()
}

// withoutItem says once what otherwise every line is refused for: that the field counted by default is on none of them.
func (r *run) withoutItem() error {
	s := &r.stats
	if r.config.Item != "" || len(s.ByCode) != 1 || s.Refused+s.Filtered < s.Lines {
		return nil
	}
	for _, refusal := range s.Reasons {
		if e, ok := errors.AsType[*crest.Error](refusal.Reason); !ok || e.Code != crest.CodeMissingField || e.Field != rows.DefaultItem {
			return nil
		}
	}
	fields := r.first.FirstFields()
	if len(fields) == 0 || slices.Contains(fields, rows.DefaultItem) {
		return nil
	}
	return crest.Errorf(crest.CodeMissingField, rows.DefaultItem, "is on no line of %s; name a column with --item; line 1 has %s",
		r.inputs[0].Name, strings.Join(fields, ", "))
}

// read cuts the inputs into batches.
func (r *run) read(ctx context.Context) error {
	wanted := wantedColumns(r.config).wanted
	for _, in := range r.inputs {
		reader, err := rows.NewReader(in, r.config.Format, wanted)
		if err != nil {
			return err
		}
		if r.first == nil {
			r.first = reader
		}
		for {
			var b *batch
			select {
			case b = <-r.free:
			case <-ctx.Done():
				return nil
			}
			b.input, b.reader = in, reader
			err := reader.Next(&b.block)
			if errors.Is(err, io.EOF) {
				r.free <- b
				break
			}
			if err != nil {
				return err
			}
			r.parse <- b
			r.ordered <- b
		}
		if err := in.Close(); err != nil {
			return fmt.Errorf("close %s: %w", in.Name, err)
		}
	}
	return nil
}

func (r *run) parseAll() {
	parsing := newParsing(r.config)
	for b := range r.parse {
		parsing.parse(b)
		b.ready <- struct{}{}
	}
}

// dispatch hands parsed batches to every counting worker in the order in which they were read.
func (r *run) dispatch(ctx context.Context) {
	for b := range r.ordered {
		<-b.ready
		if ctx.Err() == nil {
			r.stats.add(&b.tally)
			r.report()
		}
		b.users.Store(int32(len(r.count)))
		for _, c := range r.count {
			c <- b
		}
	}
	for _, c := range r.count {
		close(c)
	}
}

func (r *run) report() {
	if r.observer.Progress == nil {
		return
	}
	r.stats.Bytes = 0
	for _, in := range r.inputs {
		r.stats.Bytes += in.BytesRead()
	}
	r.observer.Progress(r.stats)
}

// countAll counts one worker's share of every batch. After a failure it only gives batches back.
func (r *run) countAll(worker int) {
	failed := false
	for b := range r.count[worker] {
		if !failed {
			if err := r.counting.apply(worker, b); err != nil {
				failed = true
				r.cancel(err)
			}
		}
		if b.users.Add(-1) == 0 {
			r.free <- b
		}
	}
}
