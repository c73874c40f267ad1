package main

import (
	"fmt"
	"sync"
	"time"

	"crest"
	"crest/internal/exact"
)

// recountProgress shows how far a recount is, and keeps for how long each hour has been counted. It is told by several
// goroutines.
type recountProgress struct {
	mu     sync.Mutex
	line   *progress
	now    func() time.Time
	hours  int // counted so far
	hour   crest.Millis
	phase  exact.Phase
	since  time.Time // when the hour was begun
	phased time.Time // when the phase was
	spent  map[crest.Millis]time.Duration
	total  time.Duration
	left   func(hour crest.Millis) int // closed hours that come after this one
}

func newRecountProgress(s *streams, quiet bool) *recountProgress {
	return &recountProgress{line: newProgress(s, quiet), now: time.Now, spent: map[crest.Millis]time.Duration{}}
}

// begin starts a round.
func (p *recountProgress) begin() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hour, p.phase = 0, ""
	clear(p.spent)
}

// note takes in what the recounter says.
func (p *recountProgress) note(at exact.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	if at.Hour != p.hour {
		p.leave(now)
		p.hour, p.since = at.Hour, now
	}
	if at.Phase != p.phase {
		p.phase, p.phased = at.Phase, now
	}
	p.line.show(func(time.Duration) string { return p.text(at, now) })
}

// leave adds what the hour took. An hour may come again, in another phase.
func (p *recountProgress) leave(now time.Time) {
	if p.hour == 0 {
		return
	}
	if _, again := p.spent[p.hour]; !again {
		p.hours++
	}
	p.spent[p.hour] += now.Sub(p.since)
	p.total += now.Sub(p.since)
}

// took ends a round and returns how long each of its hours took.
func (p *recountProgress) took() map[crest.Millis]time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.leave(p.now())
	p.hour = 0
	return p.spent
}

// text is the line for what is being done.
func (p *recountProgress) text(at exact.Progress, now time.Time) string {
	line := string(at.Phase)
	if at.Hour != 0 {
		line = "hour " + hourName(at.Hour) + ", " + line
	}
	line += fmt.Sprintf(" %3.0f%%", 100*at.Fraction)
	if took := now.Sub(p.phased).Seconds(); at.Rows > 0 && took > 0 {
		line += fmt.Sprintf(", %s rows/s", short(at.Fraction*float64(at.Rows)/took))
	}
	if p.left != nil && p.hours > 0 && at.Hour != 0 {
		if n := p.left(at.Hour); n > 0 {
			line += fmt.Sprintf(", %d hours more in about %s", n, (p.total / time.Duration(p.hours) * time.Duration(n)).Round(time.Second))
		}
	}
	return line
}

// say replaces the line by a message that stays.
func (p *recountProgress) say(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.line.clear()
	fmt.Fprintln(p.line.s.err, printable(text))
}

func (p *recountProgress) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.line.clear()
}
