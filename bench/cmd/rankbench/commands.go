package main

import (
	"encoding/csv"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
)

// command is a pipeline under comparison, and how to read its answer.
type command struct {
	name  string
	steps [][]string // programs with their arguments, each reading what the one before it writes
	check func(output []byte, want truth) error
}

// commands returns what is compared. Sort gets the C locale, in which it is fastest.
func commands(s settings, file string) []command {
	k := strconv.Itoa(s.k)
	list := []command{
		{
			name:  "sort | uniq -c | sort -rn | head",
			steps: [][]string{{"sort", file}, {"uniq", "-c"}, {"sort", "-rn"}, {"head", "-n", k}},
			check: checkCounted,
		},
	}
	for _, awk := range []string{"mawk", "gawk"} {
		if _, err := exec.LookPath(awk); err != nil {
			continue
		}
		list = append(list, command{
			name:  awk + " '{n[$0]++} …' | sort -rn | head",
			steps: [][]string{{awk, `{n[$0]++} END {for (l in n) print n[l], l}`, file}, {"sort", "-rn"}, {"head", "-n", k}},
			check: checkCounted,
		})
	}
	for _, memory := range []string{"", "512MiB", "8MiB"} {
		args := []string{s.crest, "rank", "--input", "text", "--format", "csv", "-k", k}
		name := "crest rank"
		if memory != "" {
			args, name = append(args, "--memory", memory), name+" --memory "+memory
		}
		list = append(list, command{name: name, steps: [][]string{append(args, file)}, check: checkCertified})
	}
	return list
}

// environment keeps sort and awk from interpreting bytes as text of some language.
func environment() []string { return append(os.Environ(), "LC_ALL=C") }

// checkCounted compares the answer of exact commands. Which of several lines with one count are listed doesn't matter.
func checkCounted(output []byte, want truth) error {
	got, err := parseCounted(output)
	if err != nil {
		return err
	}
	if len(got) != len(want.counts) {
		return fmt.Errorf("%d entries, want %d", len(got), len(want.counts))
	}
	for i, e := range got {
		if e.count != want.counts[i] || want.of[e.line] != e.count {
			return fmt.Errorf("rank %d is %q with %d; its count is %d, the rank's is %d", i+1, e.line, e.count, want.of[e.line], want.counts[i])
		}
	}
	return nil
}

// checkCertified compares rank,count,error,item: each truth has to be in its interval, and with error 0 throughout the
// list has to be the exact one.
func checkCertified(output []byte, want truth) error {
	rows, err := csv.NewReader(strings.NewReader(string(output))).ReadAll()
	if err != nil {
		return fmt.Errorf("read csv: %w", err)
	}
	if len(rows)-1 != len(want.counts) {
		return fmt.Errorf("%d entries, want %d", len(rows)-1, len(want.counts))
	}
	exact := strings.Builder{}
	estimated := false
	lowest := want.counts[len(want.counts)-1]
	for _, row := range rows[1:] {
		count, err1 := strconv.ParseUint(row[1], 10, 64)
		overcount, err2 := strconv.ParseUint(row[2], 10, 64)
		if err1 != nil || err2 != nil {
			return fmt.Errorf("row %v has no count and error", row)
		}
		known, ok := want.of[row[3]]
		switch {
		case ok && (known > count || known < count-overcount):
			return fmt.Errorf("%q has %d, certified was %d to %d", row[3], known, count-overcount, count)
		case !ok && count-overcount >= lowest:
			return fmt.Errorf("%q is certified to have %d or more, and has less than %d", row[3], count-overcount, lowest)
		}
		estimated = estimated || overcount > 0
		fmt.Fprintln(&exact, count, row[3])
	}
	if estimated {
		return nil
	}
	return checkCounted([]byte(exact.String()), want)
}
