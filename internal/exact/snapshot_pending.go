package exact

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"

	"crest"
	"crest/internal/archive"
	"crest/internal/counts"
)

// pending is what came for counted hours, before a moment, and is in no count yet: they wait to be counted again. It can't be
// told without a recount which of it has been sent before.
type pending struct {
	table *counts.Table // its rows have duplicates alone
	dir   string
}

// pendingMemory is enough for what is late, bytes.
const pendingMemory = 96 << 20

// pendingIn looks for what is pending in the hours [from, until), received before asOf. It returns nil when nothing is.
func (s *Snapshot) pendingIn(ctx context.Context, from, until, asOf crest.Millis) (*pending, error) {
	waiting := slices.DeleteFunc(slices.Clone(s.m.between(from, until)), func(h hourEntry) bool { return h.Settled || h.Checked >= asOf })
	if len(waiting) == 0 {
		return nil, nil
	}
	for try := 1; ; try++ {
		p, err := s.countPending(ctx, waiting, asOf)
		if !errors.Is(err, archive.ErrReplaced) || try == readTries {
			return p, err
		}
	}
}

func (s *Snapshot) countPending(ctx context.Context, waiting []hourEntry, asOf crest.Millis) (p *pending, err error) {
	view, err := archive.Read(s.config.Archive)
	if err != nil {
		return nil, err
	}
	var inputs []hourInput
	var filters []rowFilter
	for _, h := range waiting {
		own, err := sourcesOf(view, h.Start, asOf, func(f archive.File) bool { return f.Received.Last >= h.Cut })
		if err != nil {
			return nil, err
		}
		if len(own) == 0 {
			continue
		}
		in := hourInput{hour: h.Start, cut: asOf, own: own}
		inputs = append(inputs, in)
		filters = append(filters, rowFilter{from: in.hour, to: in.end(), cut: asOf, late: h.Cut})
	}
	if len(inputs) == 0 {
		return nil, nil
	}
	p = &pending{}
	if p.dir, err = os.MkdirTemp("", "crest-pending-"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.Close())
		}
	}()
	config := s.config
	config.Memory = min(config.Memory, pendingMemory)
	if slices.ContainsFunc(waiting, func(h hourEntry) bool { return h.Wanted != "" }) {
		config.Types = withoutNarrow(config.Types)
	}
	c, err := newCounter(config, p.dir).begin(plansOf(config.Types), len(inputs))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	for i := range inputs {
		if err := c.add(ctx, &inputs[i], filters[i]); err != nil {
			return nil, err
		}
	}
	path := filepath.Join(p.dir, "pending"+parquetSuffix)
	w, err := counts.Create(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = w.Abort() }() // nothing after Close
	// What the engine calls late is what was received from the cut on.
	sum := counts.Row{}
	flush := func() error {
		if sum.Duplicates == 0 {
			return nil
		}
		return w.Append(sum)
	}
	err = c.write(ctx, func(counts.Row) error { return nil }, func(l counts.Late) error {
		if l.Board == sum.Board && l.Item == sum.Item {
			sum.Duplicates += l.Weight
			return nil
		}
		if err := flush(); err != nil {
			return err
		}
		sum = counts.Row{Board: l.Board, Item: l.Item, Duplicates: l.Weight}
		return nil
	})
	if err = errors.Join(err, flush()); err != nil {
		return nil, err
	}
	info, err := w.Close()
	if err != nil {
		return nil, err
	}
	p.table, err = counts.Open(path, info)
	return p, err
}

// Close removes it.
func (p *pending) Close() error {
	var err error
	if p.table != nil {
		err = p.table.Close()
	}
	return errors.Join(err, os.RemoveAll(p.dir))
}
