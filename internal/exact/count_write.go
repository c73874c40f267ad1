package exact

import (
	"context"

	"crest/internal/counts"
)

// batch is a part of a count's rows on their way to the writers.
type batch struct {
	rows    []counts.Row
	late    []counts.Late
	records int64 // that have been merged by its end
}

const (
	batchRows  = 2048
	batchesOut = 3        // between merging and writing
	textBlock  = 32 << 10 // bytes of items at a time
)

// write gives all rows in order. Merging and writing go on at the same time.
func (c *counting) write(ctx context.Context, out func(counts.Row) error, late func(counts.Late) error) error {
	if c.table == nil {
		return nil
	}
	ranks := c.boards.ranks()
	if err := c.table.sort(ctx, c.workers, ranks); err != nil {
		return err
	}
	m := &merge{ranks: ranks}
	m.addTable(c.table)
	all := int64(c.table.len())
	for _, r := range c.spill.runs {
		if err := m.addRun(r); err != nil {
			return err
		}
		all += r.records
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	g := &grouping{boards: c.boards, end: c.hour.Add(hourLength), full: make(chan *batch, batchesOut), empty: make(chan *batch, batchesOut+2)}
	for range cap(g.empty) {
		g.empty <- &batch{}
	}
	go func() {
		defer close(g.full)
		if err := g.run(ctx, m); err != nil {
			cancel(err)
		}
	}()
	for b := range g.full { // to the end, so that nothing is left running
		if ctx.Err() == nil {
			if err := b.write(out, late); err != nil {
				cancel(err)
			}
		}
		c.progress(Progress{Hour: c.hour, Phase: PhaseWrite, Fraction: min(1, float64(b.records)/float64(all))})
		g.empty <- b
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	c.stats.items, c.stats.boards = g.items, g.boardCount
	return nil
}

func (b *batch) write(out func(counts.Row) error, late func(counts.Late) error) error {
	for _, r := range b.rows {
		if err := out(r); err != nil {
			return err
		}
	}
	for _, l := range b.late {
		if err := late(l); err != nil {
			return err
		}
	}
	b.rows, b.late = b.rows[:0], b.late[:0]
	return nil
}
