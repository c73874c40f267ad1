package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"crest"
	"crest/internal/counts"
	"crest/internal/exact"
)

// truth counts the raw events of [from, asOf) that had been received before asOf, on the types of the boards.
func (x *comparing) truth(ctx context.Context, from, asOf crest.Millis, boards []string, each func(counts.Row) error) error {
	return rankRaw(ctx, x.view, x.rankConfig(from, asOf, asOf, boards), each)
}

// rankConfig says how raw events are counted as a recount does it. No boards are all boards.
func (x *comparing) rankConfig(from, to, by crest.Millis, boards []string) exact.RankConfig {
	c := exact.RankConfig{
		Dimensions: x.settings.Dimensions, From: from, To: to, By: by, Edge: x.settings.Edge, Memory: x.settings.Memory,
		Observer: exact.Observer{Progress: x.progress.note},
	}
	for _, t := range x.settings.Types {
		of := func(board string) bool { name, _, _ := strings.Cut(board, "/"); return name == t.Name }
		narrowed := func(board string) bool { return of(board) && board != t.Name }
		switch {
		case len(boards) == 0:
		case !slices.ContainsFunc(boards, of):
			continue
		case !slices.ContainsFunc(boards, narrowed):
			t.Narrow = nil
		}
		c.Types = append(c.Types, t)
	}
	return c
}

// truthOfAllTime adds the exact counts of the hours before kept, whose raw events are gone, to the truth of those after.
func (x *comparing) truthOfAllTime(ctx context.Context, kept, asOf crest.Millis, boards []string, each func(counts.Row) error) error {
	snapshot, err := exact.Load(x.settings)
	if err != nil {
		return err
	}
	defer snapshot.Close()
	var inputs []counts.Input
	for _, h := range snapshot.Hours() {
		if h.Hour >= kept {
			continue
		}
		rows, err := snapshot.HourRows(h.Hour)
		if err != nil {
			return closeAll(inputs, err)
		}
		inputs = append(inputs, counts.Input{Cursor: rows})
	}
	if until := snapshot.Reach().Until; until < kept {
		return closeAll(inputs, fmt.Errorf("neither the events nor the counts of the hours from %s to %s are there; run crest recount", hourName(until), hourName(kept)))
	}
	raw := startRanking(ctx, x.view, x.rankConfig(kept, asOf, asOf, boards))
	return counts.Merge(nil, append(inputs, counts.Input{Cursor: raw}), func(r counts.Row, _ []uint64) error { return each(r) })
}

func closeAll(inputs []counts.Input, err error) error {
	for _, in := range inputs {
		_ = in.Cursor.Close() // only read from
	}
	return err
}

// mostExamples bounds how many items of an hour are shown that differ.
const mostExamples = 5

// compareHours counts every hour of the archive again, as of its cut, and compares it with its counts item by item.
func (x *comparing) compareHours(ctx context.Context) error {
	snapshot, err := exact.Load(x.settings)
	if err != nil {
		return err
	}
	defer snapshot.Close()
	began := time.Now()
	for _, h := range snapshot.Hours() {
		hour, err := x.compareHour(ctx, snapshot, h)
		if err != nil {
			return fmt.Errorf("compare hour %s: %w", hourName(h.Hour), err)
		}
		x.report.Hours = append(x.report.Hours, hour)
	}
	for _, p := range snapshot.Problems() {
		x.report.Problems = append(x.report.Problems, p.Error())
	}
	if len(x.report.Hours) == 0 && len(x.report.Problems) == 0 {
		x.report.Problems = append(x.report.Problems, "no hour has been counted exactly yet; crest recount counts those that are closed")
	}
	x.report.Seconds += time.Since(began).Seconds()
	return nil
}
