package main

import (
	"fmt"
	"time"

	"crest/internal/config"
	"crest/internal/rank"
)

// progress is a line on standard error that shows how far a command is. It does nothing unless that is a terminal.
type progress struct {
	s     *streams
	on    bool
	start time.Time
	last  time.Time
	shown bool
}

func newProgress(s *streams, quiet bool) *progress {
	return &progress{s: s, on: s.errTerm && !quiet, start: time.Now()}
}

func (p *progress) rank(stats rank.Stats) {
	p.show(func(elapsed time.Duration) string {
		line := fmt.Sprintf("%s lines, %s, %.1f M lines/s", grouped(stats.Lines), config.Bytes(stats.Bytes),
			float64(stats.Lines)/1e6/elapsed.Seconds())
		if stats.Size > 0 {
			line = fmt.Sprintf("%3d%%  %s", min(100, stats.Bytes*100/stats.Size), line)
		}
		return line
	})
}

// show replaces the line, a few times a second.
func (p *progress) show(line func(elapsed time.Duration) string) {
	now := time.Now()
	if !p.on || now.Sub(p.last) < 200*time.Millisecond {
		return
	}
	p.last = now
	p.shown = true
	fmt.Fprintf(p.s.err, "\r\x1b[K%s", line(now.Sub(p.start)))
}

// clear takes the line away.
func (p *progress) clear() {
	if p.shown {
		fmt.Fprint(p.s.err, "\r\x1b[K")
		p.shown = false
	}
}
