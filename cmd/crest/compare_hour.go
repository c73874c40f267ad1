package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"crest/internal/archive"
	"crest/internal/counts"
	"crest/internal/exact"
	"crest/internal/explain"
)

// compareHour compares one hour's counts with its raw events.
func (x *comparing) compareHour(ctx context.Context, snapshot *exact.Snapshot, h exact.HourInfo) (comparedHour, error) {
	c := comparedHour{Hour: explain.Moment(h.Hour), Cut: explain.Moment(h.Cut), Examples: []string{}}
	if h.Hour < x.view.State.KeptFrom {
		c.Reason = "its raw events are gone"
		return c, nil
	}
	kept, err := snapshot.HourRows(h.Hour)
	if err != nil {
		return c, err
	}
	var boards []string // all
	if h.TooMany {
		for _, t := range x.settings.Types {
			boards = append(boards, t.Name)
		}
	}
	raw := startRanking(ctx, x.view, x.rankConfig(h.Hour, h.Hour.Add(time.Hour), h.Cut, boards))
	err = compareRows(raw, kept, &c)
	return c, errors.Join(err, raw.Close(), kept.Close())
}

// compareRows goes through two sorted inputs and notes where they differ.
func compareRows(raw, kept counts.Cursor, c *comparedHour) error {
	more, moreKept := raw.Next(), kept.Next()
	for more || moreKept {
		var truth, has counts.Row
		order := -1 // which of them comes first
		if !more {
			order = 1
		} else if moreKept {
			order = compareKeys(raw.Row(), kept.Row())
		}
		if order <= 0 {
			truth = raw.Row()
			more = raw.Next()
		}
		if order >= 0 {
			has = kept.Row()
			moreKept = kept.Next()
		}
		c.note(truth, has)
	}
	return errors.Join(raw.Err(), kept.Err())
}

func compareKeys(a, b counts.Row) int {
	if order := strings.Compare(a.Board, b.Board); order != 0 {
		return order
	}
	return strings.Compare(a.Item, b.Item)
}

// note takes in an item's truth and what the counts have. A row that is missing is all zero.
func (c *comparedHour) note(truth, has counts.Row) {
	c.Rows++
	if board, _, narrowed := strings.Cut(truth.Board, "/"); board != "" && !narrowed {
		c.Weight += truth.Count
	}
	if truth.Count == has.Count && truth.Duplicates == has.Duplicates {
		return
	}
	c.Different++
	if len(c.Examples) < mostExamples {
		of := truth
		if of.Board == "" {
			of = has
		}
		c.Examples = append(c.Examples, fmt.Sprintf("%q on board %s: %s counted and %s sent again in truth, %s and %s in the counts", of.Item, of.Board,
			grouped(truth.Count), grouped(truth.Duplicates), grouped(has.Count), grouped(has.Duplicates)))
	}
}

// ranking is a count of raw events that can be read row by row, while it goes on.
type ranking struct {
	rows   chan []counts.Row
	done   chan struct{}
	cancel context.CancelFunc
	batch  []counts.Row
	err    error // valid when done is closed
}

// rankingBatch is how many rows change hands at once.
const rankingBatch = 1024

// startRanking begins to count.
func startRanking(ctx context.Context, view *archive.View, c exact.RankConfig) *ranking {
	return startRows(ctx, func(ctx context.Context, each func(counts.Row) error) error { return rankRaw(ctx, view, c, each) })
}

func startRows(ctx context.Context, run func(context.Context, func(counts.Row) error) error) *ranking {
	ctx, cancel := context.WithCancel(ctx)
	r := &ranking{rows: make(chan []counts.Row, 4), done: make(chan struct{}), cancel: cancel}
	go func() {
		defer close(r.done)
		defer close(r.rows)
		var batch []counts.Row
		hand := func() error {
			select {
			case r.rows <- batch:
				batch = nil
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		err := run(ctx, func(row counts.Row) error {
			if batch = append(batch, row); len(batch) < rankingBatch {
				return nil
			}
			return hand()
		})
		if err == nil && len(batch) > 0 {
			err = hand()
		}
		r.err = err
	}()
	return r
}

// Next moves to the next row.
func (r *ranking) Next() bool {
	if len(r.batch) > 1 {
		r.batch = r.batch[1:]
		return true
	}
	r.batch = <-r.rows
	return len(r.batch) > 0
}

// Row returns the row that Next moved to.
func (r *ranking) Row() counts.Row { return r.batch[0] }

// Err returns why Next returned false before the end.
func (r *ranking) Err() error {
	<-r.done
	return r.err
}

// Close ends the count and waits for it.
func (r *ranking) Close() error {
	r.cancel()
	<-r.done
	return nil
}
