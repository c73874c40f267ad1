package exact

import (
	"fmt"
	"runtime"
	"slices"
	"time"

	"crest"
)

// Config says what is counted and where it is kept. A recounter and a reader of the same directories are given the same one.
// Zero numbers stand for the defaults.
type Config struct {
	Dir        string         // made if absent
	Archive    string         // the archive's directory
	Types      []TypeBoards   // what is counted; events of other types are left out
	Dimensions []string       // as the archive has them
	Edge       time.Duration  // how far beyond an hour's start and end its ids are looked for; less than 30 minutes
	Memory     int64          // bytes that counting may use, at least 64 MiB; default 512 MiB. What that means is said at budget
	Windows    []crest.Window // that have totals: of whole hours, and of all time
	Candidates int            // kept per board and window; default 3,000
	Wait       time.Duration  // late events are counted when their hour is twice as old, but after this at the latest; default 24 h
	Workers    int            // default: the number of processors
	Observer   Observer

	maxNarrow int // narrowed boards of an hour, or of totals; tests set it
}

// TypeBoards is a type of items and the boards that it has.
type TypeBoards struct {
	Name   string
	Narrow [][]int // sets of dimensions, by their place in Config.Dimensions; each adds a board per combination of values
}

const (
	defaultCandidates = 3000
	defaultMemory     = 512 << 20
	minMemory         = 64 << 20
	maxCandidates     = 100_000
	maxTotalHours     = 31 * 24 // the longest window that can have totals

	// The most narrowed boards that an hour, or a window's totals, can have: ten times as many as lists can be of. It is also a
	// limit of their names' bytes. Another number gives other counts: see hourFormat and totalFormat.
	maxNarrow      = 100_000
	narrowNameSize = 80
)

func (c *Config) setDefaults() {
	if c.Candidates == 0 {
		c.Candidates = defaultCandidates
	}
	if c.Memory == 0 {
		c.Memory = defaultMemory
	}
	if c.Wait == 0 {
		c.Wait = 24 * time.Hour
	}
	if c.Workers == 0 {
		c.Workers = runtime.GOMAXPROCS(0)
	}
	if c.maxNarrow == 0 {
		c.maxNarrow = maxNarrow
	}
}

// Validate reports what is wrong with the configuration, with defaults in place of zeros.
func (c Config) Validate() error {
	c.setDefaults()
	switch {
	case c.Dir == "":
		return crest.Errorf(crest.CodeMissingField, "dir", "of the exact counts is not given")
	case c.Archive == "":
		return crest.Errorf(crest.CodeMissingField, "archive", "its directory is not given")
	case len(c.Types) == 0:
		return crest.Errorf(crest.CodeMissingField, "types", "at least one is needed")
	case c.Candidates < 1 || c.Candidates > maxCandidates:
		return crest.Errorf(crest.CodeOutOfRange, "candidates", "are %d; 1 to %d are possible", c.Candidates, maxCandidates)
	case c.Wait < 0:
		return crest.Errorf(crest.CodeOutOfRange, "wait", "is %s; it must be positive", c.Wait)
	}
	if err := c.checkCounting(); err != nil {
		return err
	}
	return c.checkWindows()
}

// checkCounting is the part of Validate that any count depends on, also one that is not kept.
func (c *Config) checkCounting() error {
	switch {
	case len(c.Dimensions) > crest.MaxDimensions:
		return crest.Errorf(crest.CodeOutOfRange, "dimensions", "are %d; at most %d are possible", len(c.Dimensions), crest.MaxDimensions)
	case c.Edge < 0 || c.Edge >= hourLength/2:
		return crest.Errorf(crest.CodeOutOfRange, "edge", "is %s; it must be less than %s", c.Edge, hourLength/2)
	case c.Memory < minMemory:
		return crest.Errorf(crest.CodeOutOfRange, "memory", "is %.1f MiB; at least %d MiB are needed", float64(c.Memory)/(1<<20), minMemory>>20)
	case c.Workers < 1:
		return crest.Errorf(crest.CodeOutOfRange, "workers", "are %d; at least one is needed", c.Workers)
	}
	return c.checkTypes()
}

func (c *Config) checkTypes() error {
	seen := map[string]bool{}
	for _, t := range c.Types {
		if err := crest.CheckName("type", t.Name, crest.MaxTypeBytes); err != nil {
			return err
		}
		if seen[t.Name] {
			return crest.Errorf(crest.CodeOutOfRange, "types", "has %q twice", t.Name)
		}
		seen[t.Name] = true
		for _, set := range t.Narrow {
			if len(set) == 0 || slices.ContainsFunc(set, func(d int) bool { return d < 0 || d >= len(c.Dimensions) }) {
				return crest.Errorf(crest.CodeOutOfRange, "types", "%q is narrowed by %v; there are %d dimensions", t.Name, set, len(c.Dimensions))
			}
		}
	}
	return nil
}

func (c *Config) checkWindows() error {
	seen := map[string]bool{}
	for _, w := range c.Windows {
		if err := crest.CheckName("window", w.Name, crest.MaxTypeBytes); err != nil {
			return err
		}
		if seen[w.Name] {
			return crest.Errorf(crest.CodeOutOfRange, "windows", "has %q twice", w.Name)
		}
		seen[w.Name] = true
		if w.Length < 0 || w.Length%hourLength != 0 || w.Length/hourLength > maxTotalHours {
			return crest.Errorf(crest.CodeOutOfRange, "windows", "%q is %s long; totals are of 1 to %d whole hours or of all time",
				w.Name, w.Length, maxTotalHours)
		}
	}
	return nil
}

// hourLength is the length of an event hour.
const hourLength = time.Hour

// hourText names an hour as directories and messages do, "2026-11-30T09".
func hourText(hour crest.Millis) string {
	return hour.Time().Format("2006-01-02T15")
}

// Observer gets to know what a recounter does. Each function may be nil. They are called in the course of the work, so they
// must be quick.
type Observer struct {
	Progress func(Progress)      // often, from several goroutines
	Waiting  func(holder string) // another recounter is at work: who, as far as it says so
	Problem  func(Problem)       // something is damaged or can't be counted; told once as long as it lasts
}

// Progress says what a round is doing.
type Progress struct {
	Hour     crest.Millis // that is counted; 0 when the phase concerns no single hour
	Phase    Phase
	Fraction float64 // of the phase that is done, 0 to 1
	Rows     int64   // of the archive, that the hour has; 0 when unknown
}

// Phase is a part of a round.
type Phase string

// The phases of a round, in their order; hours are counted one after another.
const (
	PhaseVerify    Phase = "verify"    // checksums of what is there
	PhaseDuplicate Phase = "duplicate" // ids that were sent twice
	PhaseCount     Phase = "count"     // weights per item
	PhaseWrite     Phase = "write"     // the hour's counts
	PhaseTotals    Phase = "totals"
)

// Problem is something that keeps counts from being exact. Its subject is an hour or a file, or both.
type Problem struct { //nolint:errname // it is told more often than returned
	Hour crest.Millis // 0 when it concerns no single hour
	Path string       // "" when it concerns no single file
	Err  error
}

// Error says it in one line.
func (p Problem) Error() string {
	if p.Hour == 0 {
		return p.Err.Error()
	}
	return fmt.Sprintf("hour %s: %s", hourText(p.Hour), p.Err)
}

// Unwrap returns the cause.
func (p Problem) Unwrap() error { return p.Err }
