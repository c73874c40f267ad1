package disklog

import (
	"fmt"
	"time"

	"crest/internal/eventlog"
)

// Config says where and how a log is kept. Zero sizes, ages and functions stand for the defaults.
type Config struct {
	Dir             string           // made if absent; one process at a time can have it open
	SegmentBytes    int64            // a new file is begun once one has reached this size; default 256 MiB
	RetainAge       time.Duration    // how long records are kept; default 72 h
	RetainBytes     int64            // how much is kept at most, give or take a segment; default 64 GiB
	MaxPendingBytes int              // how much may wait to be written, default 64 MiB; up to twice that is allocated
	Now             func() time.Time // the clock that stamps records; default time.Now
	Observer        Observer
}

// The limits of a configuration.
const (
	minSegmentBytes = 4 << 10
	maxPendingBytes = 1 << 30
)

func (c *Config) setDefaults() {
	if c.SegmentBytes == 0 {
		c.SegmentBytes = 256 << 20
	}
	if c.RetainAge == 0 {
		c.RetainAge = 72 * time.Hour
	}
	if c.RetainBytes == 0 {
		c.RetainBytes = max(64<<30, c.SegmentBytes)
	}
	if c.MaxPendingBytes == 0 {
		c.MaxPendingBytes = 64 << 20
	}
	if c.Now == nil {
		c.Now = time.Now
	}
}

// Validate reports what is wrong with the configuration, with defaults in place of zeros.
func (c Config) Validate() error {
	c.setDefaults()
	switch {
	case c.Dir == "":
		return fmt.Errorf("event log: no directory is given")
	case c.SegmentBytes < minSegmentBytes:
		return fmt.Errorf("event log: segments of %d bytes are too small; at least %d are needed", c.SegmentBytes, minSegmentBytes)
	case c.RetainAge < 0:
		return fmt.Errorf("event log: the age to keep records for is negative: %s", c.RetainAge)
	case c.RetainBytes < c.SegmentBytes:
		return fmt.Errorf("event log: keeping %d bytes does not allow one segment of %d", c.RetainBytes, c.SegmentBytes)
	case c.MaxPendingBytes < frameHeaderBytes+1 || c.MaxPendingBytes > maxPendingBytes:
		return fmt.Errorf("event log: %d bytes waiting to be written are out of range; from %d to %d are allowed",
			c.MaxPendingBytes, frameHeaderBytes+1, maxPendingBytes)
	}
	return nil
}

// Observer gets to know what the log does. Each function may be nil. They are called in the course of the work, so they
// must be quick and must not call the log.
type Observer struct {
	Committed func(Commit)                        // records are on disk
	Lost      func(records, bytes int, err error) // records could not be written; whoever waits for them is told err
	Recovered func(Recovery)                      // Open found the log as a crash, or a bad disk, had left it
	Trimmed   func(bytes int64)                   // Retain deleted a segment
}

// Commit is one write of all that was waiting, made durable.
type Commit struct {
	Bytes int
	Sync  time.Duration // getting them on disk
}

// Recovery is what Open had to leave out or cut off.
type Recovery struct {
	Path    string
	CutAt   eventlog.Offset // where the last write had not been finished
	Cut     int64           // bytes cut off there; never part of an acknowledged durable append
	Damaged int             // stretches of damaged records in Path; readers get a *eventlog.CorruptError there
}
