package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// report prints figures as they are found and remembers which promises were broken.
type report struct {
	broken []string
}

func (*report) begin() {
	fmt.Println("| figure | value | promise |")
	fmt.Println("|---|---:|---|")
}

// figure prints a value that nothing was promised about.
func (*report) figure(name, format string, args ...any) {
	fmt.Printf("| %s | %s | |\n", name, fmt.Sprintf(format, args...))
}

// promise prints a value and whether it keeps a promise.
func (r *report) promise(kept bool, name, promised, format string, args ...any) {
	verdict := "kept"
	if !kept {
		verdict = "BROKEN"
		r.broken = append(r.broken, name)
	}
	fmt.Printf("| %s | %s | %s: %s |\n", name, fmt.Sprintf(format, args...), promised, verdict)
}

func (r *report) verdict() error {
	if len(r.broken) > 0 {
		return errors.New("promises broken: " + strings.Join(r.broken, "; "))
	}
	return nil
}

// spread is the quantiles of some durations.
type spread struct {
	n                  int
	p50, p99, max, avg time.Duration
}

func spreadOf(d []time.Duration) spread {
	if len(d) == 0 {
		return spread{}
	}
	d = slices.Sorted(slices.Values(d))
	sum := time.Duration(0)
	for _, x := range d {
		sum += x
	}
	at := func(q float64) time.Duration { return d[min(len(d)-1, int(q*float64(len(d))))] }
	return spread{n: len(d), p50: at(0.5), p99: at(0.99), max: d[len(d)-1], avg: sum / time.Duration(len(d))}
}
