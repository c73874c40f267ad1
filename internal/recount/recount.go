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
	verified  crest.Millis // the archive's time as of which files were verified
	pending   bool         // something that follows from the newest counts is still to be done
}

const (
	lookEvery   = 2 * time.Second // how often a running runner looks for something to do
	tryAgain    = 5 * time.Minute // after a failure
	verifyEvery = 24 * time.Hour
)

// New loads what has been counted. Where that can't be read, it goes on without: lists are estimated until it can.
func New(options Options) (*Runner, error) {
	options.Exact.Observer = options.Observer.Exact
	recounter, err := exact.NewRecounter(options.Exact)
	if err != nil {
		return nil, err
	}
	r := &Runner{options: options, recounter: recounter}
	if err := r.load(); err != nil {
		r.failed(err)
	}
	return r, nil
}

// Snapshot returns the newest exact counts, nil when they can't be read.
func (r *Runner) Snapshot() *exact.Snapshot { return r.snapshot.Load() }

// Exact returns the newest exact counts for lists, nil when they can't be read.
func (r *Runner) Exact() list.Exact {
	if s := r.snapshot.Load(); s != nil {
		return s
	}
	return nil
}

// load takes up the newest counts. The snapshot before may still be read from; its files are closed when nobody refers to
// it any more.
func (r *Runner) load() error {
	before := r.snapshot.Load()
	var s *exact.Snapshot
	var err error
	if before == nil {
		s, err = exact.Load(r.options.Exact)
	} else {
		s, err = before.Next()
	}
	if err != nil {
		return err
	}
	r.snapshot.Store(s)
	r.pending = true
	if f := r.options.Observer.Loaded; f != nil {
		f(s.Reach(), s.Problems())
	}
	return nil
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
				wait = now.Add(tryAgain)
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
	r.verifyDaily(slot)
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

// verifyDaily has the next round verify what lists need once a day of the archive's time: files are damaged while a server
// runs, too, and put back.
func (r *Runner) verifyDaily(archived crest.Millis) {
	if s := r.snapshot.Load(); archived == 0 && s != nil {
		archived = s.Reach().Through
	}
	switch {
	case r.verified == 0: // the first round does so anyway
		r.verified = archived
	case archived >= r.verified.Add(verifyEvery):
		r.verified = archived
		r.recounter.Verify()
	}
}

// Step runs one round, and what follows from it.
func (r *Runner) Step(ctx context.Context) (exact.Result, error) {
	began := time.Now()
	result, err := r.recounter.Round(ctx)
	if err != nil {
		if ctx.Err() == nil {
			r.recounter.Verify() // what it failed of may be mended by then
		}
		return result, err
	}
	if f := r.options.Observer.Round; f != nil {
		f(result, time.Since(began))
	}
	return result, r.renew(ctx)
}

// renew takes up newer counts, publishes what only they can give, and grades. What fails is left to be done the next
// time.
func (r *Runner) renew(ctx context.Context) error {
	if s := r.snapshot.Load(); s == nil || s.Changed() {
		if err := r.load(); err != nil {
			return err
		}
	}
	if !r.pending {
		return nil
	}
	done, err := r.grade(ctx)
	err = errors.Join(r.publish(ctx), err)
	r.pending = err != nil || !done
	return err
}

// publish publishes lists of exact hours alone where there are none as new. What came late for these hours and waits to be
// counted is counted first, since no estimate stands for it.
func (r *Runner) publish(ctx context.Context) error {
	if r.options.Lists == nil {
		return nil
	}
	s := r.snapshot.Load()
	all := r.options.Lists.wanted(s.Reach())
	if len(all) == 0 {
		return nil
	}
	reach := s.Reach()
	waiting := false
	for _, c := range s.Cuts(reach.First) {
		if c.Received < reach.Through {
			waiting = true
			r.recounter.Force(c.Hour, c.Hour.Add(time.Hour))
		}
	}
	for waiting {
		result, err := r.recounter.Round(ctx)
		if err != nil {
			return fmt.Errorf("what came late: %w", err)
		}
		waiting = !result.Done
	}
	if s.Changed() {
		if err := r.load(); err != nil {
			return err
		}
		s = r.snapshot.Load()
		all = r.options.Lists.wanted(s.Reach())
	}
	return r.options.Lists.publish(s, all)
}

// grade grades the hours that have been counted and not graded. An hour waits for counting to have made its lists; then
// done is false.
func (r *Runner) grade(ctx context.Context) (done bool, err error) {
	if r.options.Grader == nil {
		return true, nil
	}
	s := r.snapshot.Load()
	reach := s.Reach()
	due, err := r.options.Grader.Due(reach.First, reach.Until)
	if err != nil {
		return false, err
	}
	for _, hour := range due {
		if r.options.Lists != nil && !r.options.Lists.counted(hour.Add(time.Hour)) {
			return false, nil
		}
		if _, failed := r.options.Grader.Hour(ctx, s, hour); failed != nil {
			err = errors.Join(err, failed)
		}
	}
	return err == nil, err
}
