// Command oracle checks Crest's exact counts and lists with an independent engine: DuckDB, by SQL, over the archive.
//
//	oracle check --data data                 every hour, the totals, and the lists on disk
//	oracle check --data data --config crest.yaml
//
// It exits with 1 when there is a difference, and with 2 when it could not compare.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"crest"
	"crest/internal/config"
	"crest/internal/list"
	"crest/oracle/recount"
)

var errDifferent = errors.New("the oracle and Crest differ")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:])
	stop()
	switch {
	case errors.Is(err, errDifferent):
		os.Exit(1)
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "oracle:", err)
		os.Exit(2)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 || args[0] != "check" {
		return errors.New("the only command is check; see oracle check -h")
	}
	flags := flag.NewFlagSet("oracle check", flag.ContinueOnError)
	data := flags.String("data", "", "data directory; that of the configuration when empty")
	file := flags.String("config", "", "configuration file")
	preset := flags.String("preset", "", "preset, when there is no configuration file")
	memory := flags.String("memory", "", "memory of DuckDB, such as 4GiB; its own default when empty")
	quiet := flags.Bool("quiet", false, "print differences alone")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	cfg, err := config.Load(*file, *preset)
	if err != nil {
		return err
	}
	if *data != "" {
		cfg.Data = *data
	}
	report, err := check(ctx, &cfg, *memory, *quiet)
	if err != nil {
		return err
	}
	printReport(report, *quiet)
	if report.Differences > 0 {
		return errDifferent
	}
	return nil
}

func check(ctx context.Context, cfg *config.Config, memory string, quiet bool) (*recount.Report, error) {
	c := recount.ConfigOf(cfg)
	c.Memory = memory
	r, err := recount.Open(ctx, c)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	report := new(recount.Report)
	err = r.Check(ctx, report, func(hour crest.Millis) {
		if !quiet {
			fmt.Fprintf(os.Stderr, "\r%s ", hour.Time().Format("2006-01-02 15:04"))
		}
	})
	if !quiet {
		fmt.Fprint(os.Stderr, "\r")
	}
	if err != nil {
		return nil, err
	}
	lists, err := served(cfg)
	if err != nil {
		return nil, err
	}
	return report, r.CheckLists(ctx, report, lists)
}

// served returns the newest lists on disk.
func served(cfg *config.Config) ([]*crest.List, error) {
	dir := filepath.Join(cfg.Data, "lists")
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	store, err := list.Open(list.Config{Dir: dir, Windows: cfg.Windows, MaxK: cfg.Lists.MaxK})
	if err != nil {
		return nil, fmt.Errorf("open the lists: %w", err)
	}
	var lists []*crest.List
	for _, p := range store.All() {
		lists = append(lists, p.List())
	}
	return lists, nil
}

func printReport(r *recount.Report, quiet bool) {
	for _, d := range r.First {
		fmt.Println(d)
	}
	if n := r.Differences - int64(len(r.First)); n > 0 {
		fmt.Printf("and %d more differences\n", n)
	}
	if quiet {
		return
	}
	for _, s := range r.Skipped {
		fmt.Println("not compared:", s)
	}
	if r.Unverified > 0 {
		fmt.Printf("not compared: %d hours whose raw events are gone\n", r.Unverified)
	}
	fmt.Printf("%d hours (%d without events), %d events, totals of %d windows, %d lists: %d items and entries compared, %d differences\n",
		r.Hours, r.Empty, r.Rows, r.Totals, r.Lists, r.Compared, r.Differences)
	if r.Until > 0 {
		fmt.Println("exact until", r.Until.Time().Format(time.RFC3339))
	}
}
