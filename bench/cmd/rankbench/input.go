package main

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"crest/bench"
)

// entry is a counted line.
type entry struct {
	line  string
	count uint64
}

// truth is the right answer: the counts of the top k in order, and every line that could stand there.
type truth struct {
	counts []uint64
	of     map[string]uint64
}

type inputFiles struct {
	lines, truth string
}

func filesOf(s settings) inputFiles {
	name := filepath.Join(s.dir, fmt.Sprintf("zipf-%d-%d-%d", s.spec.IDs, s.spec.Updates, s.k))
	return inputFiles{lines: name + ".txt", truth: name + ".truth"}
}

// prepareInput makes the input unless an earlier run left it. Another process does it: a child's peak memory as the
// system reports it begins with what its parent has, so this one has to stay small.
func prepareInput(ctx context.Context, s settings) (inputFiles, error) {
	files := filesOf(s)
	if _, err := os.Stat(files.truth); err == nil {
		return files, nil
	}
	self, err := os.Executable()
	if err != nil {
		return files, fmt.Errorf("find this program: %w", err)
	}
	c := exec.CommandContext(ctx, self, append([]string{"-make"}, os.Args[1:]...)...) //nolint:gosec // this program with its own flags
	c.Stderr = os.Stderr
	if err := c.Run(); err != nil {
		return files, fmt.Errorf("make the input: %w", err)
	}
	return files, nil
}

// makeInput writes the lines, and last the right answer, which says that both are whole.
func makeInput(s settings) error {
	stream, err := bench.NewStream(bench.Plain, s.spec)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(s.dir, 0o750); err != nil {
		return fmt.Errorf("make directory: %w", err)
	}
	files := filesOf(s)
	counts := map[string]uint64{}
	threshold := stream.Threshold(s.k)
	err = writeLines(files.lines, func(w *bufio.Writer) {
		for keys := range stream.Batches(4096) {
			for _, key := range keys {
				_, _ = w.WriteString(key) // Flush reports the first error
				_ = w.WriteByte('\n')
				if n := stream.Truth(key); n >= threshold {
					counts[key] = n
				}
			}
		}
	})
	if err != nil {
		return err
	}
	return writeLines(files.truth, func(w *bufio.Writer) {
		for line, count := range counts {
			fmt.Fprintln(w, count, line)
		}
	})
}

func writeLines(name string, write func(w *bufio.Writer)) error {
	f, err := os.Create(name)
	if err != nil {
		return fmt.Errorf("make input: %w", err)
	}
	w := bufio.NewWriterSize(f, 1<<20)
	write(w)
	if err := cmp.Or(w.Flush(), f.Close()); err != nil {
		return fmt.Errorf("write input: %w", err)
	}
	return nil
}

func readTruth(name string, k int) (truth, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return truth{}, fmt.Errorf("read truth: %w", err)
	}
	entries, err := parseCounted(data)
	if err != nil {
		return truth{}, err
	}
	t := truth{of: map[string]uint64{}}
	for _, e := range entries {
		t.of[e.line] = e.count
		t.counts = append(t.counts, e.count)
	}
	slices.SortFunc(t.counts, func(a, b uint64) int { return cmp.Compare(b, a) })
	t.counts = t.counts[:min(k, len(t.counts))]
	return t, nil
}

// parseCounted reads lines of "COUNT LINE", as uniq -c writes them.
func parseCounted(data []byte) ([]entry, error) {
	var entries []entry
	for line := range strings.Lines(string(data)) {
		number, rest, ok := strings.Cut(strings.TrimSpace(line), " ")
		count, err := strconv.ParseUint(number, 10, 64)
		if !ok || err != nil {
			return nil, fmt.Errorf("line %q isn't a count and a line", line)
		}
		entries = append(entries, entry{line: rest, count: count})
	}
	return entries, nil
}
