package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"crest"
	"crest/internal/archive"
	"crest/internal/config"
	"crest/internal/exact"
	"crest/internal/recount"
)

// recountCmd counts closed hours exactly.
type recountCmd struct {
	exactFlags `embed:""`

	Hour   string        `placeholder:"HOUR" help:"Stop when this hour of UTC has been counted, such as 2026-11-30T09."`
	From   string        `placeholder:"HOUR" help:"First of several hours."`
	To     string        `placeholder:"HOUR" help:"The hour after the last of several."`
	Force  bool          `help:"Count these hours again, or all that the archive has, even if nothing of them has changed."`
	Memory *config.Bytes `placeholder:"SIZE" help:"Most memory, such as 512MiB. With less, ids are looked through more often. Default: the configuration's."`
	JSON   bool          `name:"json" help:"Print the result as JSON."`
	Quiet  bool          `short:"q" help:"No progress on standard error."`
}

// Help is shown by crest recount --help.
func (recountCmd) Help() string {
	return `Each hour that the archive has closed is counted once more, without the events that were sent twice, and then totals are made. That
is what crest serve does by itself every hour; this command works beside it, one of them at a time, and without it. What has
been counted stays when it is interrupted.

Examples:
  crest recount                                        all that is due
  crest recount --preset shares --data /var/lib/crest
  crest recount --hour 2026-11-30T09 --force           this hour again
  crest recount --from 2026-11-29T00 --to 2026-11-30T00 --force --memory 2GiB
  crest recount --json | jq .exact_until`
}

// hourGrader compares the lists that were published at the end of an hour with its exact counts.
type hourGrader interface {
	Hour(ctx context.Context, hour crest.Millis) error
}

// Run runs the command.
func (c *recountCmd) Run(ctx context.Context, s *streams) error {
	hours, err := parseSpan(c.Hour, c.From, c.To)
	if err != nil {
		return err
	}
	cfg, err := c.load()
	if err != nil {
		return err
	}
	if err := setRecountMemory(cfg, c.Memory); err != nil {
		return err
	}
	view, err := openArchive(cfg)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	r := recounting{
		view: view, wanted: hours, force: c.Force, s: s, quiet: c.Quiet, table: !c.JSON,
		progress: newRecountProgress(s, c.Quiet),
	}
	settings := recount.ConfigOf(cfg)
	settings.Observer = r.observer()
	if r.recounter, err = exact.NewRecounter(settings); err != nil {
		return usageError{namingFlags(err, "memory")}
	}
	r.grader = graderOf(cfg, settings, r.report.graded)
	if err := r.check(); err != nil {
		return err
	}
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(int64(cfg.Recount.Memory)))
	closed := r.closedUntil()
	r.progress.left = func(hour crest.Millis) int { return int(closed-hour)/int(time.Hour.Milliseconds()) - 1 }
	err = r.run(ctx)
	r.progress.clear()
	if ctx.Err() != nil {
		err = fmt.Errorf("stopped; what has been counted stays, and the next run goes on from there")
	}
	if c.JSON {
		return errors.Join(r.report.printJSON(s.out), err)
	}
	return errors.Join(r.report.printEnd(s.out, view), err)
}

// recounter is what counts, a round at a time.
type recounter interface {
	Force(from, to crest.Millis)
	Round(ctx context.Context) (exact.Result, error)
}

// recounting is one run of the command.
type recounting struct {
	view      *archive.View
	wanted    span // zero for all that is due
	force     bool
	s         *streams
	quiet     bool
	table     bool // print hours as they are counted
	recounter recounter
	grader    hourGrader // nil for none
	progress  *recountProgress
	report    recountReport
}

func (r *recounting) observer() exact.Observer {
	return exact.Observer{
		Progress: r.progress.note,
		Waiting: func(holder string) {
			if !r.quiet {
				r.progress.say("waiting: another recount is at work (" + holder + ")")
			}
		},
		Problem: func(exact.Problem) {}, // results have them too
	}
}

// closedUntil returns the end of the last closed hour.
func (r *recounting) closedUntil() crest.Millis {
	return r.view.State.Watermark.Add(-crest.CloseAfter).Floor(time.Hour)
}

// check refuses hours that can't be counted at all, and asks for those to be counted again that are forced.
func (r *recounting) check() error {
	closed := r.closedUntil()
	kept, first := r.view.State.KeptFrom, crest.Millis(0)
	if hours := r.view.Hours(); len(hours) > 0 {
		first = hours[0]
	}
	if kept == 0 {
		kept = first
	}
	w := r.wanted
	switch {
	case w.to != 0 && w.to <= first && r.view.State.KeptFrom == 0:
		return fmt.Errorf("the archive has no events of %s; the first hour that has any is %s", w, hourName(first))
	case w.from != 0 && w.from >= closed:
		return fmt.Errorf("hour %s is still open: it closes when everything received before %s is in the archive, which has everything before %s",
			hourName(w.from), clockOf(closesAt(w.from)), clockOf(r.view.State.Watermark))
	case r.force && w.from != 0 && w.from < r.view.State.KeptFrom:
		return fmt.Errorf("hour %s can't be counted again: its events are gone, the archive goes back to %s; its counts stay as they are",
			hourName(w.from), hourName(r.view.State.KeptFrom))
	case r.force && closed <= kept:
		r.report.note("no hour is closed yet, so there is none to count again")
		return nil
	case w.to != 0 && w.to > closed:
		r.report.Open = clockOf(closed)
		r.wanted.to = closed
	}
	if r.force {
		from, to := max(w.from, kept), closed
		if r.wanted.to != 0 {
			to = min(to, r.wanted.to)
		}
		if from >= to {
			r.report.note("the archive has no events of " + r.wanted.String())
		}
		r.recounter.Force(from, to)
	}
	return nil
}

// run counts until nothing is due any more, or until the hours that are wanted have been counted.
func (r *recounting) run(ctx context.Context) error {
	for {
		r.progress.begin()
		result, err := r.recounter.Round(ctx)
		if err != nil {
			return err
		}
		r.progress.clear()
		took := r.progress.took()
		for _, h := range result.Counted {
			row := rowOf(h, took[h.Hour])
			r.report.Hours = append(r.report.Hours, row)
			if r.table {
				r.report.printRow(r.s.out, row)
			}
		}
		r.report.add(result)
		if r.grader != nil {
			for _, h := range result.Counted {
				if err := r.grader.Hour(ctx, h.Hour); err != nil {
					return fmt.Errorf("grade the lists of hour %s: %w", hourName(h.Hour), err)
				}
			}
		}
		if result.Done || r.satisfied(result) {
			return r.verdict(result)
		}
	}
}

// satisfied reports whether the hours that were asked for have been counted.
func (r *recounting) satisfied(result exact.Result) bool {
	if r.wanted.to == 0 || result.Until < r.wanted.to {
		return false
	}
	return !r.force || r.report.countedAll(r.wanted, r.view.Hours())
}

// verdict says what was asked for and not done.
func (r *recounting) verdict(result exact.Result) error {
	w := r.wanted
	if n := len(r.report.Problems); n > 0 {
		return fmt.Errorf("%d of what is due could not be done; the reasons are above", n)
	}
	switch {
	case w.to != 0 && result.Until == 0:
		return fmt.Errorf("nothing of %s could be counted", w)
	case w.to != 0 && w.to <= result.First:
		return fmt.Errorf("the archive has no events of %s; counts begin with hour %s", w, hourName(result.First))
	case w.to != 0 && result.Until < w.to:
		return fmt.Errorf("counts are exact until %s only", clockOf(result.Until))
	}
	if w.from != 0 && !r.force && !r.report.countedAny(w) {
		r.report.note(fmt.Sprintf("nothing to do: %s had been counted, and no events came that are due; --force counts again", w))
	}
	return nil
}

// String names the hours.
func (w span) String() string {
	if w.to == w.from.Add(time.Hour) {
		return "hour " + hourName(w.from)
	}
	switch {
	case w == span{}:
		return "all hours"
	case w.to == 0:
		return "the hours from " + hourName(w.from)
	case w.from == 0:
		return "the hours before " + hourName(w.to)
	}
	return fmt.Sprintf("the hours from %s to %s", hourName(w.from), hourName(w.to))
}
