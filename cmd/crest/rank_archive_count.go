package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"crest"
	"crest/internal/archive"
	"crest/internal/counts"
	"crest/internal/exact"
	"crest/internal/rank"
)

type progressFunc = func(exact.Progress)

// archiveCount is a list of an archive.
type archiveCount struct {
	list       rank.List
	duplicates uint64 // weight that was left out as sent before
}

// rankArchive counts a board and lists its top k.
func rankArchive(ctx context.Context, view *archive.View, q archiveQuery, k int) (archiveCount, error) {
	var c archiveCount
	best := counts.NewTop(k)
	err := exactCounts(ctx, view, q, func(r counts.Row) error {
		c.list.Total += r.Count
		c.duplicates += r.Duplicates
		best.Add(r.Item, r.Count, nil)
		return nil
	})
	if err != nil {
		return c, err
	}
	c.list.K, c.list.From, c.list.AsOf, c.list.Exact = k, q.from, q.to, true
	top, rest := best.Take()
	for _, e := range top {
		c.list.Top = append(c.list.Top, crest.Entry{ID: e.ID, Count: e.Count})
	}
	c.list.Cutoff = rest
	c.list.Label()
	c.list.Proven = len(c.list.Top) // exact counts leave no doubt, ties have an order
	return c, nil
}

// onlyType returns the type of the archive's events, if there is one alone.
func onlyType(view *archive.View) (string, error) {
	types, err := archivedTypes(view)
	switch {
	case err != nil:
		return "", err
	case len(types) == 0:
		return "", fmt.Errorf("the archive has no events yet")
	case len(types) > 1:
		return "", usagef("--type: is missing; the archive has %s", strings.Join(types, ", "))
	}
	return types[0], nil
}

// exactCounts counts the events that a query names, and calls each with every item, sorted.
func exactCounts(ctx context.Context, view *archive.View, q archiveQuery, each func(counts.Row) error) error {
	return rankRaw(ctx, view, exact.RankConfig{
		Board: q.board, Dimensions: view.State.Dimensions, From: q.from, To: q.to, By: q.before, Edge: q.edge, Memory: q.memory,
		Workers: q.workers, Observer: exact.Observer{Progress: q.progress},
	}, each)
}

// rankTries is how often raw events are counted when a running server replaces files meanwhile.
const rankTries = 5

// rankRaw counts raw events. It begins again when files have been replaced, which shows before the first row.
func rankRaw(ctx context.Context, view *archive.View, c exact.RankConfig, each func(counts.Row) error) error {
	for try := 1; ; try++ {
		_, err := exact.Rank(ctx, view, c, each)
		if !errors.Is(err, archive.ErrReplaced) || try == rankTries {
			return err
		}
		kept := view.State.KeptFrom
		if view, err = archive.Read(view.Dir()); err != nil {
			return err
		}
		if now := view.State.KeptFrom; now > kept && c.From < now {
			return fmt.Errorf("events up to %s have been deleted meanwhile, for their age; run this again", clockOf(now))
		}
	}
}

// archivedTypes returns the types of the newest hour that has events.
func archivedTypes(view *archive.View) ([]string, error) {
	for _, start := range slices.Backward(view.Hours()) {
		if types, err := hourTypes(view, start); err != nil || len(types) > 0 {
			return types, err
		}
	}
	return nil, nil
}

// hourTypes returns the types of an hour's events, in order.
func hourTypes(view *archive.View, start crest.Millis) ([]string, error) {
	hour, err := view.Hour(start)
	if err != nil {
		return nil, err
	}
	var types []string
	for _, f := range hour.Files {
		some, err := view.Types(start, f)
		if err != nil {
			return nil, err
		}
		types = append(types, some...)
	}
	slices.Sort(types)
	return slices.Compact(types), nil
}
