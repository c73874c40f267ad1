package archive

import (
	"fmt"
	"time"

	"crest"
)

// Config says where and how an archive is written. Zero sizes and functions stand for the defaults.
type Config struct {
	Dir        string        // made if absent; one writer at a time
	Dimensions []string      // as the log's events have them; each is a column
	Retain     time.Duration // hours older than this are deleted, by received time; 0 keeps all, else at least MinRetain
	FileRows   int64         // a new file is begun at this many rows; default 8 Mi
	FileBytes  int64         // and at about this many bytes; default 256 MiB
	Observer   Observer
}

// MinRetain is the shortest retention: an hour can't get events any more when it is deleted.
const MinRetain = crest.MaxAge + hourLength + crest.CloseAfter + crest.Slot

func (c *Config) setDefaults() {
	if c.FileRows == 0 {
		c.FileRows = 8 << 20
	}
	if c.FileBytes == 0 {
		c.FileBytes = 256 << 20
	}
}

// Validate reports what is wrong with the configuration, with defaults in place of zeros.
func (c Config) Validate() error {
	c.setDefaults()
	switch {
	case c.Dir == "":
		return crest.Errorf(crest.CodeMissingField, "dir", "of the archive is not given")
	case c.Retain != 0 && c.Retain < MinRetain:
		return crest.Errorf(crest.CodeOutOfRange, "retain", "is %s; the archive must keep events for at least %s, or 0 for ever", c.Retain, MinRetain)
	case c.FileRows < 1:
		return crest.Errorf(crest.CodeOutOfRange, "file rows", "is %d; a file has at least one", c.FileRows)
	case c.FileBytes < 1:
		return crest.Errorf(crest.CodeOutOfRange, "file bytes", "is %d; it must be positive", c.FileBytes)
	}
	if err := checkDimensions(c.Dimensions); err != nil {
		return fmt.Errorf("archive: %w", err)
	}
	return nil
}

// Observer gets to know what the writer does. Each function may be nil. They are called in the course of the work, by
// several goroutines, so they must be quick.
type Observer struct {
	Read      func(events, records int) // taken from the log
	Committed func(Commit)
	Skipped   func(err error)                      // records that are lost or can't be read, or events of hours that are deleted
	Failed    func(err error, retry time.Duration) // writing failed; it is tried again after a while
	Repaired  func(path, reason string)            // Open has left out or rebuilt something
	Deleted   func(hours int, bytes int64)         // retention
}

// Commit is what one commit added.
type Commit struct {
	Watermark crest.Millis // everything received before is in
	Files     int          // new ones
	Hours     int          // that got any
	Rows      int64
	Bytes     int64         // of the new files
	Took      time.Duration // closing and syncing, not writing
}
