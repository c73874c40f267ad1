package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"time"

	"crest"
	"crest/client"
	"crest/internal/replay"
	"crest/internal/rows"
)

// replayCmd posts a file's events.
type replayCmd struct {
	File string `arg:"" help:"File to post: NDJSON, CSV, TSV or text, plain, gzip or zstd; - is standard input."`

	To         string `default:"http://127.0.0.1:8080" help:"Server to post to."`
	Speed      string `default:"1" help:"How many times faster than the events happened, or max for as fast as the server accepts."`
	ShiftToNow bool   `help:"Let the events happen now: the first one at the start, or at full speed the last one. Servers refuse events older than 3 days."`
	Type       string `placeholder:"TYPE" help:"Type of every event. Default: the file's column type."`

	Input      string   `enum:"auto,ndjson,csv,tsv,text" default:"auto" help:"How lines are written: auto (by name, then by the first line), ndjson, csv, tsv or text."`
	Item       string   `placeholder:"COLUMN" help:"Column of the item: a name or a number. Default: item, or the whole line of text."`
	Time       string   `placeholder:"COL" help:"Column of the event time. Default: ts_ms, ts, timestamp or time."`
	Arrived    string   `placeholder:"COL" help:"Column of the arrival time, in whose order events are posted. Default: as they happened."`
	ID         string   `name:"id" placeholder:"COL" help:"Column of the event's id. Default: id; without it, one made of file name and line."`
	Session    string   `placeholder:"COL" help:"Column of the session. Default: session."`
	Weight     string   `placeholder:"COL" help:"Column of the weight. Default: weight."`
	Dimensions []string `default:"category,region" help:"Columns that are dimensions."`

	Format string  `enum:"protobuf,json" default:"protobuf" help:"How events are posted: protobuf or json."`
	Ack    *string `enum:"logged,enqueued" placeholder:"WHEN" help:"Acknowledgement to ask for: logged or enqueued. Default: the server's."`
	Batch  int     `default:"1000" help:"Most events of one request."`
	JSON   bool    `name:"json" help:"Print the report as JSON."`
	Quiet  bool    `short:"q" help:"No progress on standard error."`
}

// Help is shown by crest replay --help.
func (replayCmd) Help() string {
	return `Events are posted in order of time, one request after the other. A request that fails is sent again with the same ids, so
nothing counts twice. Posting the same file again brings the same ids too, except with --shift-to-now, which makes new events.

Examples:
  crest replay tags.ndjson.gz --shift-to-now --speed 60          an hour in a minute
  crest replay access.csv.gz --shift-to-now --speed max --type video
  crest replay events.csv --time ts --arrived seen --to http://trends.example.com`
}

// Run runs the command.
func (c *replayCmd) Run(ctx context.Context, s *streams) error {
	settings, err := c.settings()
	if err != nil {
		return err
	}
	to, err := client.New(c.To, client.Options{Format: client.Format(c.Format), Ack: valueOf(c.Ack), MaxBatch: max(1, c.Batch)})
	if err != nil {
		return usagef("--to %s: write http://host:port", c.To)
	}
	if _, err := (server{c.To, "--to"}).types(ctx); err != nil { // tells early that no server is there
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	progress := newProgress(s, c.Quiet)
	stats, err := replay.Run(ctx, c.opener(s), to, wallClock{}, settings, func(stats replay.Stats) {
		progress.show(func(elapsed time.Duration) string {
			return fmt.Sprintf("at %s: %s events accepted, %s/s, %s refused", stats.At.Time().Format(time.RFC3339), grouped(stats.Accepted),
				grouped(uint64(float64(stats.Accepted)/elapsed.Seconds())), grouped(stats.Rejected))
		})
	})
	progress.clear()
	if err == nil || stats.Lines > 0 {
		if printErr := c.report(s, stats); err == nil {
			err = printErr
		}
	}
	if err == nil && stats.Lines > 0 && stats.Accepted == 0 {
		err = fmt.Errorf("no event was accepted; the reasons are above")
	}
	return asUsage(err)
}

func (c *replayCmd) settings() (replay.Config, error) {
	settings := replay.Config{
		Format: rows.Format(c.Input), Item: c.Item, Time: c.Time, Arrived: c.Arrived, ID: c.ID, Session: c.Session, Weight: c.Weight,
		Dimensions: c.Dimensions, Type: c.Type, ShiftToNow: c.ShiftToNow, Batch: c.Batch,
	}
	if c.Speed != "max" {
		speed, err := strconv.ParseFloat(c.Speed, 64)
		if err != nil || !(speed > 0) {
			return settings, usagef("--speed %s: write a positive number, or max", c.Speed)
		}
		settings.Speed = speed
	}
	if c.Batch < 1 {
		return settings, usagef("--batch %d: it must be positive", c.Batch)
	}
	return settings, nil
}

// opener opens the file as often as it is asked to; standard input only once.
func (c *replayCmd) opener(s *streams) func() (*rows.Input, error) {
	opened := false
	return func() (*rows.Input, error) {
		if c.File == "-" && opened {
			return nil, usagef("standard input is too long for --shift-to-now with --speed max; replay a file")
		}
		opened = true
		return rows.Open(c.File, s.in)
	}
}

func (c *replayCmd) report(s *streams, stats replay.Stats) error {
	warnIgnored(s, stats.Ignored)
	if c.JSON {
		e := json.NewEncoder(s.out)
		e.SetIndent("", "  ")
		return e.Encode(stats)
	}
	for _, r := range stats.Reasons {
		fmt.Fprintln(s.err, "refused:", printable(r))
	}
	for _, code := range slices.Sorted(maps.Keys(stats.ByCode)) {
		if uint64(len(stats.Reasons)) < stats.Rejected {
			fmt.Fprintf(s.err, "refused as %s: %s of the events that the server named\n", code, grouped(stats.ByCode[code]))
		}
	}
	if stats.ByCode[crest.CodeTooOld] > 0 && !c.ShiftToNow {
		fmt.Fprintf(s.err, "servers refuse events older than %.0f hours; with --shift-to-now they happen now\n", crest.MaxAge.Hours())
	}
	if stats.Disorder > 0 {
		fmt.Fprintf(s.err, "%s events were posted late: the file is too long to be sorted\n", grouped(stats.Disorder))
	}
	_, err := fmt.Fprintf(s.out, "%s lines read, %s unusable; %s events accepted, %s refused by the server, %s requests repeated\n",
		grouped(stats.Lines), grouped(stats.Unusable), grouped(stats.Accepted), grouped(stats.Rejected), grouped(stats.Retries))
	return err
}

// wallClock is the time of day.
type wallClock struct{}

// Now returns the time.
func (wallClock) Now() time.Time { return time.Now() }

// SleepUntil waits.
func (wallClock) SleepUntil(ctx context.Context, t time.Time) error {
	timer := time.NewTimer(time.Until(t))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
