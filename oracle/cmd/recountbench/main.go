// Command recountbench measures a recount of one busy hour: crest recount and embedded DuckDB, each in a process of its own, on the
// same files in the same run, turn by turn. It compares what they count item by item.
//
// DuckDB is asked for less: one event per id and a sum per item, without the neighbour hours, late weights and sorted output
// of a recount.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"

	"crest/internal/exact/exacttest"
)

// options are the flags.
type options struct {
	crest    string
	dir      string
	rows     int
	universe int
	rounds   int
	memory   string
	seed     uint64
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if len(os.Args) == 4 && os.Args[1] == "duckdb" { // the process that is measured
		exit(countByDuckDB(ctx, os.Args[2], os.Args[3]))
		return
	}
	var o options
	flag.StringVar(&o.crest, "crest", "../bin/crest", "the program to measure")
	flag.StringVar(&o.dir, "dir", "", "where data goes, and is found again; a temporary directory when empty")
	flag.IntVar(&o.rows, "rows", 30_000_000, "events of the hour, of which 2 % were sent twice")
	flag.IntVar(&o.universe, "universe", 20_000_000, "items that there are; fewer occur")
	flag.IntVar(&o.rounds, "rounds", 3, "how often each is measured")
	flag.StringVar(&o.memory, "memory", "512MiB,256MiB", "memory limits of crest recount")
	flag.Uint64Var(&o.seed, "seed", 1, "of the events")
	flag.Parse()
	exit(run(ctx, o))
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "recountbench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	if o.dir == "" {
		dir, err := os.MkdirTemp("", "recountbench")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		o.dir = dir
	}
	archive := filepath.Join(o.dir, "archive")
	if _, err := os.Stat(archive); errors.Is(err, os.ErrNotExist) {
		fmt.Printf("writing %d events, seed %d\n", o.rows, o.seed)
		hour := exacttest.Hour{Start: exacttest.DefaultStart, Rows: o.rows, Universe: o.universe, Duplicates: 0.02, Seed: o.seed}
		if err := exacttest.WriteHour(ctx, archive, hour); err != nil {
			return err
		}
	}
	files, bytes, err := parquetFiles(archive)
	if err != nil {
		return err
	}
	fmt.Printf("%d files, %.0f MB\n", len(files), float64(bytes)/1e6)
	limits := strings.Split(o.memory, ",")
	results := make([]measured, len(limits)+1)
	for i, limit := range limits {
		results[i].name = "crest recount --memory " + limit
	}
	duck := &results[len(limits)]
	duck.name = "embedded DuckDB"
	result := filepath.Join(o.dir, "duckdb.parquet")
	for range o.rounds {
		for i, limit := range limits {
			if err := os.RemoveAll(filepath.Join(o.dir, "exact")); err != nil {
				return err
			}
			if err := results[i].run(ctx, o.crest, "recount", "--data", o.dir, "--preset", "views", "--memory", limit, "--quiet"); err != nil {
				return err
			}
			if err := compare(ctx, o.dir, result, duck.rounds > 0); err != nil {
				return err
			}
		}
		self, err := os.Executable()
		if err != nil {
			return err
		}
		if err := duck.run(ctx, self, "duckdb", archive, result); err != nil {
			return err
		}
		if err := compare(ctx, o.dir, result, true); err != nil {
			return err
		}
	}
	fmt.Println("\n| | wall s | processor s | peak MB | beside DuckDB |\n|---|---:|---:|---:|---:|")
	for _, r := range results {
		fmt.Printf("| %s | %.2f | %.2f | %d | %.2f |\n", r.name, r.wall.Seconds(), r.cpu.Seconds(), r.peak>>20, r.wall.Seconds()/duck.wall.Seconds())
	}
	return nil
}

// runProgram runs a program and shows what it says only when it fails.
func runProgram(ctx context.Context, name string, args ...string) (*os.ProcessState, error) {
	cmd := exec.CommandContext(ctx, name, args...) //nolint:gosec // the user names the program
	out, err := cmd.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, out)
	}
	return cmd.ProcessState, nil
}
