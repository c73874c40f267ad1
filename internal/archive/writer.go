package archive

import (
	"context"
	"errors"
	"sync/atomic"

	"crest"
	"crest/internal/eventlog"
)

// Writer archives what a log has. Only Run may not be called concurrently with itself.
type Writer struct {
	cfg       Config
	storage   storage
	offset    atomic.Int64
	watermark atomic.Int64
}

// Open prepares the archive in a directory for writing, or makes one, and gets it into order after a crash. It fails when
// another process writes to it.
func Open(cfg Config) (*Writer, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg.setDefaults()
	return &Writer{cfg: cfg, storage: disk{}}, nil
}

// Run archives what the log gets until ctx ends, then what it holds by then, commits, and returns nil. While the disk fails
// it tries again, and Observer.Failed is told. Errors are those that trying again can't mend: the log has been closed, or
// it is not the one that the archive was made from.
func (w *Writer) Run(ctx context.Context, log eventlog.Log) error {
	return errors.New("not yet")
}

// Commit asks the running writer to commit now: everything that the log held at the call is in the archive when it
// returns. It waits for a writer that is not running yet, or is trying again, until ctx ends.
func (w *Writer) Commit(ctx context.Context) error {
	return errors.New("not yet")
}

// Needed returns the oldest offset that the archive has yet to read. The log must keep what comes after it.
func (w *Writer) Needed() eventlog.Offset { return eventlog.Offset(w.offset.Load()) }

// Watermark returns the received time before which everything is in the archive.
func (w *Writer) Watermark() crest.Millis { return crest.Millis(w.watermark.Load()) }

// Close gives up the archive, for another writer to open. Run must have returned.
func (w *Writer) Close() error { return nil }
