package sim

import (
	"context"
	"sync"
	"time"

	"crest"
	"crest/internal/eventlog"
)

// Log is an event log whose readers wait for the clock of the simulation in place of the real one, so that the simulation
// knows when they have come to rest.
type Log struct {
	eventlog.Log

	clock   *Clock
	mu      sync.Mutex
	rested  map[*reader]crest.Millis // where a reader waits for the clock to go on from
	changed chan struct{}            // closed when rested changes
}

// NewLog wraps a log whose own clock is the same.
func NewLog(log eventlog.Log, clock *Clock) *Log {
	return &Log{Log: log, clock: clock, rested: map[*reader]crest.Millis{}, changed: make(chan struct{})}
}

// NewReader is [eventlog.Log.NewReader].
func (l *Log) NewReader(from eventlog.Offset) (eventlog.Reader, error) {
	r, err := l.Log.NewReader(from)
	if err != nil {
		return nil, err
	}
	return &reader{Reader: r, log: l}, nil
}

// resting returns how many readers have taken in everything before a moment, and a channel that tells of a change.
func (l *Log) resting(t crest.Millis) (int, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for _, at := range l.rested {
		if at >= t {
			n++
		}
	}
	return n, l.changed
}

// rest notes that a reader waits, having seen everything before a moment; 0 says that it doesn't wait.
func (l *Log) rest(r *reader, t crest.Millis) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if t == 0 {
		delete(l.rested, r)
	} else {
		l.rested[r] = t
	}
	close(l.changed)
	l.changed = make(chan struct{})
}

type reader struct {
	eventlog.Reader

	log       *Log
	watermark crest.Millis // of the last batch
}

// Read returns what there is. When the log has nothing and owes nothing, it waits until the clock moves, however long that
// takes.
func (r *reader) Read(ctx context.Context, wait time.Duration) (eventlog.Batch, error) {
	for {
		moved, now := r.log.clock.next()
		batch, err := r.Reader.Read(ctx, 0)
		if err == nil && wait > 0 && len(batch.Records) == 0 && batch.Watermark < now {
			batch, err = r.Reader.Read(ctx, wait) // what was appended is still on its way to the disk
		}
		if err != nil || wait <= 0 || len(batch.Records) > 0 || batch.Watermark > r.watermark {
			r.watermark = max(r.watermark, batch.Watermark)
			return batch, err
		}
		if batch.Watermark < now {
			continue
		}
		r.log.rest(r, r.watermark)
		select {
		case <-moved:
		case <-ctx.Done():
		}
		r.log.rest(r, 0)
	}
}
