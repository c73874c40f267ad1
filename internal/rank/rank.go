// Package rank counts files of events offline and lists the top K, over everything or over windows of event time.
//
// Memory is bounded by configuration, whatever the number of lines and of distinct items. Every count is at least the
// truth and exceeds it by at most its error; while everything fits, errors are 0. The result depends on the files and
// the configuration alone, not on the number of cores.
package rank

import (
	"context"
	"fmt"
	"math/bits"
	"time"

	"crest"
	"crest/internal/rows"
	"crest/sketch"
	"crest/window"
)

// The limits of a configuration.
const (
	MaxK      = 1_000_000
	MinMemory = sketch.MinMemory
	MaxMemory = mostShards * sketch.MaxMemory
	MaxWeight = 1<<32 - 1 // one line
)

// mostShards is into how many hash ranges the memory is divided at most.
const mostShards = 64

// Condition is a value that a column must have. Conditions on one column are alternatives; those on several must all hold.
type Condition struct {
	Column string
	Value  string
}

// Config says what is counted.
type Config struct {
	Format  rows.Format
	Item    string // column of the item; "" is the column "item", or the whole line of plain text
	Where   []Condition
	Weight  string // column of a positive integer; "" counts every line once
	Time    string // column of the event time; needed for At and Every
	Arrived string // column of the arrival; "" when every event arrived as it happened

	Window time.Duration // length; 0 reaches back to the beginning
	At     *crest.Millis // list as of this moment: events of [At - Window, At) that had arrived before At
	Every  time.Duration // list as of every multiple of it, in order of arrival

	K         int
	Normalize func() func(dst []byte, item []byte) []byte // makes a normaliser for one goroutine; nil counts items as they are
	Memory    int                                         // most bytes for counting, over all shards and buckets
	Workers   int                                         // goroutines that parse, and as many that count; 0 means 1
}

// Validate reports what is wrong with the configuration.
func (c *Config) Validate() error {
	switch {
	case c.K < 1 || c.K > MaxK:
		return crest.Errorf(crest.CodeInvalidK, "k", "is %d; it must be from 1 to %d", c.K, MaxK)
	case c.Memory < MinMemory || c.Memory > MaxMemory:
		return crest.Errorf(crest.CodeOutOfRange, "memory", "is %d bytes; it must be from %d KiB to %d GiB", c.Memory, MinMemory>>10, MaxMemory>>30)
	case c.At != nil && c.Every != 0:
		return crest.Errorf(crest.CodeInvalidParameter, "at", "can't be combined with --every; choose one list or many")
	case c.Window < 0:
		return crest.Errorf(crest.CodeOutOfRange, "window", "is %s; it must be positive", c.Window)
	case c.Every < 0:
		return crest.Errorf(crest.CodeOutOfRange, "every", "is %s; it must be positive", c.Every)
	case c.Window > 0 && c.At == nil && c.Every == 0:
		return crest.Errorf(crest.CodeMissingField, "window", "needs to know when it ends: add --at TIME, or --every 1m")
	case (c.At != nil || c.Every != 0) && c.Time == "":
		return crest.Errorf(crest.CodeMissingField, "time", "is missing: name the column of the event time, such as --time ts_ms")
	case c.Time == "" && c.Arrived != "":
		return crest.Errorf(crest.CodeInvalidParameter, "arrived", "has a meaning only with --time, and with --at or --every")
	}
	if c.Every > 0 {
		return c.validateEvery()
	}
	return nil
}

func (c *Config) validateEvery() error {
	if c.Every%time.Millisecond != 0 || c.Window%time.Millisecond != 0 {
		return crest.Errorf(crest.CodeOutOfRange, "every", "and --window must be whole milliseconds")
	}
	ring := c.ring()
	if err := ring.Validate(); err != nil {
		return crest.Errorf(crest.CodeOutOfRange, "every", "is %s and cuts a window of %s into %d buckets; choose a rounder or a longer step",
			c.Every, c.Window, ring.Buckets)
	}
	if ring.Memory < MinMemory {
		return crest.Errorf(crest.CodeOutOfRange, "memory", "is %d KiB, too little for %d buckets; give at least %d KiB", c.Memory>>10, ring.Buckets,
			MinMemory*(ring.Buckets+1)>>10)
	}
	return nil
}

// ring is the row of buckets that moves over the events: as wide as a step and the window's length allow.
func (c *Config) ring() window.Config {
	if c.Window == 0 {
		return window.Config{Buckets: 1, Windows: []int{1}, Memory: min(c.Memory, sketch.MaxMemory)}
	}
	width := gcd(c.Window, c.Every)
	n := int(c.Window / width)
	return window.Config{Width: width, Buckets: n, Windows: []int{n}, Memory: min(c.Memory/(n+1), sketch.MaxMemory)}
}

func gcd(a, b time.Duration) time.Duration {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// shards returns over how many hash ranges the memory is divided: enough that one range's counters stay in the cache
// while a block is counted, but none of less than 64 KiB.
func (c *Config) shards() int {
	const least = 64 << 10
	n := min(mostShards, max(1, c.Memory/least))
	return 1 << (bits.Len(uint(n)) - 1)
}

// List is a top K and what is known about it.
type List struct {
	crest.List
	Exact bool // every count is exact and nothing is missing but what K cuts off
}

// Observer is told how far the work is. Its functions may be nil and are called from one goroutine at a time.
type Observer struct {
	Progress func(Stats) // after every block of about a megabyte
}

// Run counts the inputs one after the other and hands every list to emit. It returns what it saw, also when it fails.
func Run(ctx context.Context, inputs []*rows.Input, c Config, o Observer, emit func(List) error) (Stats, error) {
	if err := c.Validate(); err != nil {
		return Stats{}, err
	}
	counting, err := newCounting(&c, emit)
	if err != nil {
		return Stats{}, err
	}
	r := newRun(&c, inputs, counting, o)
	if err := r.do(ctx); err != nil {
		return r.stats, err
	}
	return r.stats, counting.finish(&r.stats)
}

// counting is what the events of a run are counted with.
type counting interface {
	// apply counts one worker's share of a batch. Batches come in order to every worker; different workers run at once.
	apply(worker int, b *batch) error
	// workers returns how many workers there are.
	workers() int
	// finish hands out the last lists, after every batch has been applied.
	finish(*Stats) error
}

func newCounting(c *Config, emit func(List) error) (counting, error) {
	if c.Every > 0 {
		return newMoving(c, emit)
	}
	return newWhole(c, emit)
}

// place names an input for messages with a line.
func place(in *rows.Input, line int64) string { return fmt.Sprintf("%s, line %d", in.Name, line) }
