// Package recount keeps the exact path going beside counting. After every closed hour it has the hour counted, gives
// the newest exact counts to the lists, has the hour's lists graded, and publishes lists of exact hours alone where there
// are no newer ones.
package recount

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"crest"
	"crest/internal/exact"
	"crest/internal/grade"
	"crest/internal/list"
)

// Grader grades an hour's lists; a *grade.Grader is one.
type Grader interface {
	Due(first, until crest.Millis) ([]crest.Millis, error)
	Hour(ctx context.Context, truth grade.Truth, hour crest.Millis) ([]grade.Grade, error)
}

// Options are what a runner needs.
type Options struct {
	Exact    exact.Config
	Archived func() crest.Millis // received time before which the archive has everything; nil when it can't be known without reading it
	Lists    *Lists              // where lists of exact hours alone go; nil for nowhere
	Grader   Grader              // nil when nothing is graded
	Observer Observer
}

// Observer is told what a runner does. Every function may be nil.
type Observer struct {
	Exact  exact.Observer
	Round  func(exact.Result, time.Duration)
	Loaded func(list.Reach, []exact.Problem) // newer exact counts are in use
	Failed func(error)                       // it is tried again
}

// Runner runs rounds. Exact may be called from any goroutine, the rest from one at a time.
type Runner struct {
	options   Options
	recounter *exact.Recounter
	snapshot  atomic.Pointer[exact.Snapshot]
	looked    crest.Millis // the archive's slot that rounds have got to
}

// lookEvery is how often a running runner looks for something to do.
const lookEvery = 2 * time.Second

// New loads what has been counted.
func New(options Options) (*Runner, error) {
	options.Exact.Observer = options.Observer.Exact
	recounter, err := exact.NewRecounter(options.Exact)
	if err != nil {
		return nil, err
	}
	r := &Runner{options: options, recounter: recounter}
	s, err := exact.Load(options.Exact)
	if err != nil {
		return nil, fmt.Errorf("load the exact counts: %w", err)
	}
	r.use(s)
	return r, nil
}

// Recounter returns what counts, to force hours.
func (r *Runner) Recounter() *exact.Recounter { return r.recounter }

// Snapshot returns the newest exact counts.
func (r *Runner) Snapshot() *exact.Snapshot { return r.snapshot.Load() }

// Exact returns the newest exact counts for lists.
func (r *Runner) Exact() list.Exact { return r.snapshot.Load() }

// use hands out a snapshot from now on. The one before may still be read from; its files are closed when nobody refers
// to it any more.
func (r *Runner) use(s *exact.Snapshot) {
	r.snapshot.Store(s)
	if f := r.options.Observer.Loaded; f != nil {
		f(s.Reach(), s.Problems())
	}
}

// Run does what is due until ctx ends.
func (r *Runner) Run(ctx context.Context) error {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	wait := crest.Millis(0)
	for {
		if now := crest.MillisOf(time.Now()); now >= wait {
			if err := r.CatchUp(ctx); err != nil && ctx.Err() == nil {
				r.failed(err)
				wait = now.Add(time.Minute)
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

func (r *Runner) failed(err error) {
	if f := r.options.Observer.Failed; f != nil {
		f(err)
	}
}

// CatchUp runs rounds until nothing is due. Without anything new in the archive it only looks whether somebody else has
// counted.
func (r *Runner) CatchUp(ctx context.Context) error {
	var slot crest.Millis
	if r.options.Archived != nil {
		slot = r.options.Archived().Floor(crest.Slot)
		if slot == r.looked {
			return r.renew(ctx)
		}
	}
	for {
		result, err := r.Step(ctx)
		if err != nil {
			return err
		}
		if result.Done {
			r.looked = slot
			return nil
		}
	}
}

// Step runs one round, and what follows from it.
func (r *Runner) Step(ctx context.Context) (exact.Result, error) {
	began := time.Now()
	result, err := r.recounter.Round(ctx)
	if err != nil {
		return result, fmt.Errorf("recount: %w", err)
	}
	if f := r.options.Observer.Round; f != nil {
		f(result, time.Since(began))
	}
	return result, r.renew(ctx)
}

// renew takes up newer counts, publishes what only they can give, and grades.
func (r *Runner) renew(ctx context.Context) error {
	before := r.snapshot.Load()
	if !before.Changed() {
		return nil
	}
	s, err := before.Next()
	if err != nil {
		return fmt.Errorf("load the exact counts: %w", err)
	}
	r.use(s)
	var errs error
	if r.options.Lists != nil {
		errs = r.options.Lists.publish(s)
	}
	return errors.Join(errs, r.grade(ctx, s))
}

// grade grades the hours that have been counted and not graded.
func (r *Runner) grade(ctx context.Context, s *exact.Snapshot) error {
	if r.options.Grader == nil {
		return nil
	}
	reach := s.Reach()
	due, err := r.options.Grader.Due(reach.First, reach.Until)
	if err != nil {
		return err
	}
	for _, hour := range due {
		if _, err := r.options.Grader.Hour(ctx, s, hour); err != nil {
			return err
		}
	}
	return nil
}
