// Command recountbench measures a recount of one busy hour: crest recount and embedded DuckDB, each in a process of its own, on the
// same files in the same run, turn by turn. It compares what they count item by item.
//
// DuckDB is asked for less: one event per id and a sum per item, without the neighbour hours, late weights, totals and
// candidates of a recount; once with its output sorted, and once without.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
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
	if len(os.Args) > 1 { // the processes that measure and are measured
		switch os.Args[1] {
		case "measure":
			exit(measure(ctx, os.Args[2:]))
			return
		case "duckdb":
			exit(countByDuckDB(ctx, os.Args[2:]))
			return
		}
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
	results, err := rounds(ctx, o, archive)
	if err != nil {
		return err
	}
	duck := results[len(results)-1]
	fmt.Println("\n| | wall s | beside DuckDB | processor s | beside DuckDB | peak MiB |\n|---|---:|---:|---:|---:|---:|")
	for _, r := range results {
		fmt.Printf("| %s | %.2f | %.2f | %.2f | %.2f | %d |\n", r.name, r.Wall.Seconds(), r.Wall.Seconds()/duck.Wall.Seconds(),
			r.CPU.Seconds(), r.CPU.Seconds()/duck.CPU.Seconds(), r.Peak>>20)
	}
	return nil
}

// rounds measures all of them in turn. The last one is plain DuckDB.
func rounds(ctx context.Context, o options, archive string) ([]measured, error) {
	var results []measured
	limits := strings.Split(o.memory, ",")
	for _, limit := range limits {
		results = append(results, measured{name: "crest recount --memory " + limit})
	}
	results = append(results, measured{name: "embedded DuckDB, sorted as Crest's counts are"}, measured{name: "embedded DuckDB"})
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	exact, counted := filepath.Join(o.dir, "exact"), filepath.Join(o.dir, "duckdb.parquet")
	for range o.rounds {
		for i := range results {
			r := &results[i]
			switch {
			case i < len(limits):
				if err := os.RemoveAll(exact); err != nil {
					return nil, err
				}
				err = r.run(ctx, o.crest, "recount", "--data", o.dir, "--preset", "views", "--memory", limits[i], "--quiet")
			case i < len(results)-1:
				err = r.run(ctx, self, "duckdb", archive, counted, "ORDER BY item")
			default:
				err = r.run(ctx, self, "duckdb", archive, counted, "")
			}
			if err != nil {
				return nil, err
			}
			if err := compare(ctx, exact, counted); err != nil {
				return nil, fmt.Errorf("after %s: %w", r.name, err)
			}
		}
	}
	return results, nil
}
