// Package exacttest makes archives for tests and measurements of counting: through the archive's own writer, from events
// that are made up as they are written.
package exacttest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"crest"
	"crest/internal/archive"
	"crest/internal/eventlog"
)

// Received is an event and when the log took it.
type Received struct {
	crest.Event
	At crest.Millis
}

// Write archives events, which must be in the order in which they were received, into the directory of an archive that has
// none yet. The archive is then complete up to the moment until, or the last event if that is later.
func Write(ctx context.Context, dir string, dimensions []string, events iter.Seq[Received], until crest.Millis) error {
	w, err := archive.Open(archive.Config{Dir: dir, Dimensions: dimensions})
	if err != nil {
		return err
	}
	running, stop := context.WithCancel(ctx)
	defer stop()
	next, end := iter.Pull(events)
	defer end()
	log := &madeLog{reader: &madeReader{dimensions: dimensions, next: next, until: until, done: stop}}
	err = w.Run(running, log)
	if err == nil {
		err = log.reader.err
	}
	if err == nil {
		err = ctx.Err()
	}
	return errors.Join(err, w.Close())
}

// madeLog is a log that can be read once, from its start.
type madeLog struct {
	eventlog.Log
	reader *madeReader
}

func (l *madeLog) Range() (oldest, end eventlog.Offset) { return 0, l.reader.offset }

func (l *madeLog) NewReader(from eventlog.Offset) (eventlog.Reader, error) {
	if from != l.reader.offset {
		return nil, fmt.Errorf("made events can be read once only: asked for %d at %d", from, l.reader.offset)
	}
	return l.reader, nil
}

// madeReader encodes events as they are asked for.
type madeReader struct {
	dimensions []string
	next       func() (Received, bool)
	until      crest.Millis
	done       func() // called when all has been read

	encoder eventlog.Encoder
	held    *Received // that came with another received time than the record before
	offset  eventlog.Offset
	now     crest.Millis
	ended   bool
	err     error
}

const (
	recordEvents = 500
	batchRecords = 16
)

// Read returns the next records. At the end it says so and returns empty batches.
func (r *madeReader) Read(ctx context.Context, _ time.Duration) (eventlog.Batch, error) {
	if r.ended {
		if ctx.Err() != nil {
			return eventlog.Batch{}, ctx.Err()
		}
		r.done()
		return eventlog.Batch{Next: r.offset, Watermark: r.now}, nil
	}
	var b eventlog.Batch
	for len(b.Records) < batchRecords && !r.ended {
		if record, ok := r.record(); ok {
			b.Records = append(b.Records, record)
		}
	}
	if r.ended {
		r.now = max(r.now+1, r.until)
	}
	b.Next, b.Watermark = r.offset, r.now
	return b, r.err
}

// record makes a record of events that were received at the same moment.
func (r *madeReader) record() (eventlog.Record, bool) {
	r.encoder.Reset(r.dimensions)
	for r.encoder.Len() < recordEvents {
		ev := r.held
		r.held = nil
		if ev == nil {
			e, ok := r.next()
			if !ok {
				r.ended = true
				break
			}
			ev = &e
		}
		if r.encoder.Len() > 0 && ev.At != r.now {
			r.held = ev
			break
		}
		if ev.At < r.now {
			r.err = fmt.Errorf("an event received at %d comes after one received at %d", ev.At, r.now)
			r.ended = true
			break
		}
		r.now = ev.At
		if err := r.encoder.Add(&ev.Event); err != nil {
			r.err, r.ended = err, true
			break
		}
	}
	if r.encoder.Len() == 0 {
		return eventlog.Record{}, false
	}
	r.offset++
	return eventlog.Record{Received: r.now, Next: r.offset, Payload: append([]byte(nil), r.encoder.Bytes()...)}, true
}

// Close does nothing: the events end with whoever makes them.
func (r *madeReader) Close() error { return nil }
