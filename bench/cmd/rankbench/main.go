// Command rankbench compares `crest rank` with sort, uniq and awk on a generated file: wall time, processor time, peak
// memory, and whether the answers are right.
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

	"crest/bench"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "rankbench:", err)
		os.Exit(1)
	}
}

type settings struct {
	crest  string
	dir    string
	spec   bench.Spec
	k      int
	rounds int
	making bool
}

func run(ctx context.Context) error {
	s := settings{spec: bench.FullSize()}
	flag.StringVar(&s.crest, "crest", "../bin/crest", "the binary to measure; `make build` makes it")
	flag.StringVar(&s.dir, "dir", filepath.Join(os.TempDir(), "crest-rankbench"), "where the generated file is kept for the next run")
	flag.IntVar(&s.spec.IDs, "ids", s.spec.IDs, "distinct ids")
	flag.IntVar(&s.spec.Updates, "lines", s.spec.Updates, "lines of the file")
	flag.IntVar(&s.k, "k", 1000, "entries to list")
	flag.IntVar(&s.rounds, "rounds", 1, "runs of each command, of which the fastest counts")
	flag.BoolVar(&s.making, "make", false, "only make the file (the program starts itself so, to stay small)")
	flag.Parse()
	if s.making {
		return makeInput(s)
	}

	input, err := prepareInput(ctx, s)
	if err != nil {
		return err
	}
	want, err := readTruth(input.truth, s.k)
	if err != nil {
		return err
	}
	fmt.Printf("%d lines of 12 bytes, Zipf(%g) over %d ids, top %d\n\n", s.spec.Updates, s.spec.Skew, s.spec.IDs, s.k)
	fmt.Println("| command | wall s | processor s | peak MB | answer |")
	fmt.Println("|---|---:|---:|---:|---|")
	wrong := false
	for _, c := range commands(s, input.lines) {
		best, err := fastest(ctx, c, s.rounds)
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		answer := "exact"
		if err := c.check(best.output, want); err != nil {
			answer, wrong = "WRONG: "+err.Error(), true
		} else if best.estimated {
			answer = "certified"
		}
		fmt.Printf("| %s | %.2f | %.2f | %.0f | %s |\n", inCode(c.name), best.wall.Seconds(), best.processor.Seconds(),
			float64(best.peakBytes)/1e6, answer)
	}
	if wrong {
		return errors.New("an answer was wrong")
	}
	return nil
}

// inCode formats a command for a cell of a Markdown table, in which a bar would end the cell.
func inCode(command string) string {
	return "`" + strings.ReplaceAll(command, "|", `\|`) + "`"
}
