// Command archivebench compares the archive's writer with the library that it uses. The archive gets the events as a log has
// them: it reads, decodes, sorts them by hour and writes Parquet. The bare writer gets the same rows ready made in memory and
// writes them with the same columns, encodings and compression. Both end with a sync.
//
// Rounds are interleaved and the least time counts, so that a busy machine spoils both alike.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "archivebench:", err)
		os.Exit(1)
	}
}

// cost is what writing the rows took.
type cost struct {
	wall, cpu time.Duration
	bytes     int64 // of the Parquet files
}

func run(ctx context.Context) error {
	rows := flag.Int("rows", 5_000_000, "events to write")
	rounds := flag.Int("rounds", 5, "rounds, each writing the rows both ways")
	dimensions := flag.Int("dimensions", 0, "dimensions of the events: 0 or 2")
	batch := flag.Int("batch", 500, "events of a record of the log")
	dir := flag.String("dir", "", "where files go, and are removed; default a new temporary directory")
	seed := flag.Uint64("seed", 1, "of the events")
	only := flag.String("only", "", "archive or bare alone, for a profile")
	profile := flag.String("cpuprofile", "", "file for a processor profile")
	flag.Parse()
	if *rows < 1 || *rounds < 1 || *batch < 1 || *dimensions != 0 && *dimensions != 2 {
		return fmt.Errorf("a size is out of range")
	}
	if *dir == "" {
		made, err := os.MkdirTemp("", "crest-archivebench-")
		if err != nil {
			return fmt.Errorf("make directory: %w", err)
		}
		defer os.RemoveAll(made)
		*dir = made
	}
	if err := os.MkdirAll(*dir, 0o750); err != nil {
		return fmt.Errorf("make directory: %w", err)
	}
	s := generate(*rows, *batch, *dimensions, *seed)
	stop, err := startProfile(*profile)
	if err != nil {
		return err
	}
	defer stop()
	contenders := []contender{{name: "bare", write: writeBare}, {name: "archive", write: writeArchive}}
	for range *rounds {
		for i := range contenders {
			if c := &contenders[i]; *only == "" || *only == c.name {
				if err := c.measure(ctx, s, *dir); err != nil {
					return fmt.Errorf("%s: %w", c.name, err)
				}
			}
		}
	}
	fmt.Printf("%d rows, %d dimensions, seed %d, least of %d rounds, %d processors\n\n", *rows, *dimensions, *seed, *rounds, runtime.GOMAXPROCS(0))
	fmt.Printf("| %-8s | ns/row | CPU ns/row | B/row |\n|---|---:|---:|---:|\n", "writer")
	for _, c := range contenders {
		n := float64(*rows)
		fmt.Printf("| %-8s | %.0f | %.0f | %.1f |\n", c.name, float64(c.best.wall)/n, float64(c.best.cpu)/n, float64(c.best.bytes)/n)
	}
	if bare, ours := contenders[0].best, contenders[1].best; bare.wall > 0 && ours.wall > 0 {
		fmt.Printf("\narchive/bare: time %.2f, CPU %.2f\n", float64(ours.wall)/float64(bare.wall), float64(ours.cpu)/float64(bare.cpu))
	}
	return nil
}

// contender is a way of writing the rows, with the least that it took.
type contender struct {
	name  string
	write func(context.Context, *stream, string) (int64, error)
	best  cost
}

// measure writes the rows once, with the garbage of before collected.
func (c *contender) measure(ctx context.Context, s *stream, dir string) error {
	runtime.GC()
	cpu, err := processorTime()
	if err != nil {
		return err
	}
	started := time.Now()
	if c.best.bytes, err = c.write(ctx, s, filepath.Join(dir, c.name)); err != nil {
		return err
	}
	wall := time.Since(started)
	after, err := processorTime()
	if err != nil {
		return err
	}
	if c.best.wall == 0 {
		c.best.wall, c.best.cpu = wall, after-cpu
	}
	c.best.wall, c.best.cpu = min(c.best.wall, wall), min(c.best.cpu, after-cpu)
	return nil
}

func processorTime() (time.Duration, error) {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0, fmt.Errorf("getrusage: %w", err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), nil
}
