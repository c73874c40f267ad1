package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"crest/internal/config"
	"crest/internal/recount"
)

// compareCmd holds what a server says against a full recount of the events.
type compareCmd struct {
	exactFlags `embed:""`

	Server string        `default:"http://${listen}" help:"Server whose lists are compared; \"\" for none."`
	Admin  string        `default:"http://${admin}" help:"Its operator's address, to have what it received archived; \"\" when nothing new comes in."`
	Window []string      `placeholder:"NAME" help:"Windows to compare, such as 24h. Default: all."`
	Board  []string      `sep:"none" placeholder:"NAME" help:"Boards to compare, such as article/region=eu. Default: all."`
	K      int           `short:"k" placeholder:"N" help:"Entries of each list. Default: as many as the server gives."`
	Hours  bool          `help:"Also count every hour that the archive has again, and compare it with its counts item by item."`
	Memory *config.Bytes `placeholder:"SIZE" help:"Most memory, such as 512MiB. Default: the configuration's."`
	JSON   bool          `name:"json" help:"Print the result as JSON."`
	Quiet  bool          `short:"q" help:"No progress on standard error."`
}

// Help is shown by crest compare --help.
func (compareCmd) Help() string {
	return `Everything is counted from the raw events, for each list those that its window has and that had been received by its moment. Then every
entry must have a count of at least the truth and at most its error above it, nothing off the list more than the cutoff, and each
proven rank must be right. Anything else is a bug, and the exit code 1. An event that was sent again later than the server
remembers ids counts twice on lists of short windows; a list may be that much higher.

Run it where the data directory is, with the configuration that the server runs with.

Examples:
  crest compare
  crest compare --preset shares --data /var/lib/crest --window 24h --board article/region=eu
  crest compare --hours --server ""                    the exact counts of all hours, without a server
  crest compare --json | jq '.lists[] | select(.faults != [])'`
}

// Run runs the command.
func (c *compareCmd) Run(ctx context.Context, s *streams) error {
	if c.K < 0 {
		return usagef("--k: is %d; it must be positive", c.K)
	}
	if c.Server == "" && !c.Hours {
		return usagef("--server: is \"\", so there is nothing to compare; give --hours, or the address of a server")
	}
	for _, flag := range []struct {
		name  string
		given bool
	}{{"--board", len(c.Board) > 0}, {"--window", len(c.Window) > 0}, {"--k", c.K != 0}} {
		if c.Server == "" && flag.given {
			return usagef("%s: says which lists of a server are compared, and --server is \"\"; take one of them away", flag.name)
		}
	}
	cfg, err := c.load()
	if err != nil {
		return err
	}
	if err := setRecountMemory(cfg, c.Memory); err != nil {
		return err
	}
	settings := recount.ConfigOf(cfg)
	if err := settings.Validate(); err != nil {
		return usageError{namingFlags(err, "memory")}
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(int64(cfg.Recount.Memory)))

	x := comparing{cfg: cfg, settings: settings, progress: newRecountProgress(s, c.Quiet)}
	defer x.progress.clear()
	if c.Server != "" {
		if err := x.fetch(ctx, server{c.Server, "--server"}, c.Window, c.Board, c.K); err != nil {
			return err
		}
		if err := x.archive(ctx, server{c.Admin, "--admin"}); err != nil {
			return err
		}
	}
	if x.view, err = openArchive(cfg); err != nil {
		return err
	}
	if err := x.compareLists(ctx); err != nil {
		return err
	}
	if c.Hours {
		if err := x.compareHours(ctx); err != nil {
			return err
		}
	}
	x.progress.clear()
	if c.JSON {
		err = x.report.printJSON(s.out)
	} else {
		err = x.report.printEnd(s.out)
	}
	return errors.Join(err, x.report.verdict())
}

// verdict returns an error when a promise is broken.
func (r *compareReport) verdict() error {
	lists, hours := 0, 0
	for _, l := range r.Lists {
		if len(l.Faults) > 0 {
			lists++
		}
	}
	for _, h := range r.Hours {
		if h.Different > 0 {
			hours++
		}
	}
	switch {
	case len(r.Lists) == 0 && len(r.Hours) == 0:
		return fmt.Errorf("there is nothing to compare")
	case lists > 0 && hours > 0:
		return fmt.Errorf("%d of %d lists and %d of %d hours are not what they must be", lists, len(r.Lists), hours, len(r.Hours))
	case lists > 0:
		return fmt.Errorf("%d of %d lists are not what they must be", lists, len(r.Lists))
	case hours > 0:
		return fmt.Errorf("%d of %d hours are not what they must be", hours, len(r.Hours))
	}
	return nil
}
