package archive

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"crest"
	"crest/internal/dirlock"
	"crest/internal/durable"
	"crest/internal/eventlog"
)

const lockName = "LOCK" // held by the process that writes

// Writer archives what a log has. All methods but Run may be called concurrently.
//
// While Run is under way there are two goroutines: Run's own reads and decodes the log and puts rows into blocks (feed); one
// that it starts and awaits compresses and writes them (sink).
type Writer struct {
	cfg     Config
	storage durable.Files
	lock    *dirlock.Lock
	retry   retry
	state   record // as of the last commit before Run, or before it tried again

	offset    atomic.Int64
	watermark atomic.Int64

	mu       sync.Mutex
	requests []*request
	ended    bool
}

// retry is how long to wait before writing is tried again after a failure: longer each time.
type retry struct{ first, longest time.Duration }

// request is a call of Commit that waits.
type request struct {
	until eventlog.Offset // what the log held at the call; -1 while that is not known
	asked bool            // a commit that covers it is under way
	done  chan error
}

// permanentError is one that trying again can't mend.
type permanentError struct{ error }

func (e *permanentError) Unwrap() error { return e.error }

// Open prepares the archive in a directory for writing, or makes one, and gets it into order after a crash. It fails when
// another process writes to it.
func Open(cfg Config) (*Writer, error) { return open(cfg, durable.Disk{}) }

func open(cfg Config, st durable.Files) (_ *Writer, err error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg.setDefaults()
	w := &Writer{cfg: cfg, storage: st, retry: retry{time.Second, 30 * time.Second}}
	if !exists(cfg.Dir) {
		if err := os.MkdirAll(cfg.Dir, durable.DirMode); err != nil {
			return nil, fmt.Errorf("make the archive: %w", err)
		}
		if err := st.SyncDir(filepath.Dir(cfg.Dir)); err != nil {
			return nil, fmt.Errorf("make the archive: %w", err)
		}
	}
	if w.lock, err = dirlock.Take(cfg.Dir, lockName); err != nil {
		return nil, fmt.Errorf("open the archive: %w", err)
	}
	if err := w.start(); err != nil {
		_ = w.lock.Close()
		return nil, fmt.Errorf("open the archive in %s: %w", cfg.Dir, err)
	}
	return w, nil
}

// start takes up the archive as of its last commit.
func (w *Writer) start() error {
	state, err := w.recover()
	if err != nil {
		return err
	}
	if state.Watermark != 0 && !slices.Equal(state.Dimensions, w.cfg.Dimensions) {
		// Who reads the archive goes by what is declared now, also before the next commit.
		state.Dimensions = w.cfg.Dimensions
		if err := writeDocument(w.storage, filepath.Join(w.cfg.Dir, stateName), state); err != nil {
			return err
		}
	}
	w.state = state
	w.offset.Store(int64(state.Offset))
	w.watermark.Store(int64(state.Watermark))
	return nil
}

// Run archives what the log gets until ctx ends, then what it holds by then, commits, and returns nil. While the disk fails
// it tries again, and Observer.Failed is told. Errors are those that trying again can't mend: the log has been closed, or
// it is not the one that the archive was made from; or the last commit could not be written. Call it once.
func (w *Writer) Run(ctx context.Context, log eventlog.Log) error {
	defer w.end()
	wait := w.retry.first
	for started := true; ; {
		before := w.Needed()
		var err error
		if !started {
			err = w.start()
		}
		if err == nil {
			err = w.archive(ctx, log)
		}
		started = false
		permanent, ok := errors.AsType[*permanentError](err)
		switch {
		case err == nil:
			return nil
		case ok:
			return permanent.error
		case ctx.Err() != nil:
			return fmt.Errorf("archive: %w", err)
		}
		if w.Needed() > before {
			wait = w.retry.first
		}
		w.failed(err, wait)
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
		wait = min(2*wait, w.retry.longest)
	}
}

// archive goes on from the last commit until ctx ends or something fails.
func (w *Writer) archive(ctx context.Context, log eventlog.Log) error {
	steps, failed, free := make(chan step, queuedBlocks), make(chan struct{}), make(chan *block, 4*queuedBlocks)
	s := &sink{w: w, dir: w.cfg.Dir, storage: w.storage, free: free, state: w.state, hours: map[crest.Millis]*change{}}
	f := &feed{
		w: w, log: log, out: steps, failed: failed, free: free,
		decoder: eventlog.NewDecoder(nil, w.cfg.Dimensions), types: map[string]string{}, open: map[crest.Millis]*block{},
		state: w.state.State, offset: w.state.Offset, watermark: w.state.Watermark, oldest: math.MaxInt64,
	}
	f.state.Dimensions = w.cfg.Dimensions
	if len(w.state.Hours) > 0 {
		f.oldest = w.state.Hours[0]
	}
	reading, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	sunk := make(chan error, 1)
	go func() {
		err := s.run(steps)
		if err != nil {
			close(failed)
			stop(errSinkFailed) // the feed may be waiting for the log, not for the sink
		}
		sunk <- err
	}()
	err := f.run(reading)
	close(steps)
	if failure := <-sunk; failure != nil {
		return failure
	}
	return err
}

// queuedBlocks is how many blocks can wait to be written.
const queuedBlocks = 16

// Commit asks the running writer to commit now: everything that the log held at the call is in the archive when it
// returns. It waits for a writer that is not running yet, or is trying again, until ctx ends. After Run has ended it fails
// with CodeShuttingDown.
func (w *Writer) Commit(ctx context.Context) error {
	r := &request{until: -1, done: make(chan error, 1)}
	w.mu.Lock()
	if w.ended {
		w.mu.Unlock()
		return crest.Errorf(crest.CodeShuttingDown, "", "the archive is no longer written")
	}
	w.requests = append(w.requests, r)
	w.mu.Unlock()
	select {
	case err := <-r.done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}
