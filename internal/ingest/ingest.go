package ingest

import (
	"context"
	"fmt"
	"sync"
	"time"

	"crest"
	"crest/internal/config"
	"crest/internal/eventlog"
)

// MaxRejections is how many refused events a [Result] tells the reasons of. All of them are counted.
const MaxRejections = 100

// Log is what Ingest needs of the event log; see [eventlog.Log].
type Log interface {
	Append(ctx context.Context, records []eventlog.Append, durable bool) (crest.Millis, error)
}

// Observer is told what happens. Any function may be nil; they are called concurrently and must not block.
type Observer struct {
	Accepted func(events, clamped int)         // of one request; clamped ones were ahead of this clock
	Rejected func(code crest.Code, events int) // refused by themselves, per code and request
	Failed   func(code crest.Code)             // a whole request, of which nothing was accepted
}

// Ingester accepts events. It is stateless but for reused memory, and may be used concurrently.
type Ingester struct {
	ack       config.Ack
	maxEvents int
	log       Log
	now       func() time.Time
	observer  Observer
	batches   sync.Pool
}

// New returns an Ingester for the types, dimensions, partitions and limits of a valid configuration.
func New(cfg *config.Config, log Log, now func() time.Time, observer Observer) (*Ingester, error) {
	s, err := newSchema(cfg)
	if err != nil {
		return nil, err
	}
	if cfg.Ingest.MaxEvents < 1 {
		return nil, crest.Errorf(crest.CodeOutOfRange, "ingest.max_events", "is %d; it must be positive", cfg.Ingest.MaxEvents)
	}
	in := &Ingester{
		ack: cfg.Ingest.Ack, maxEvents: cfg.Ingest.MaxEvents, log: log, now: now, observer: observer,
	}
	in.batches.New = func() any { return newBatch(s) }
	return in, nil
}

// Request is a body with events.
type Request struct {
	Body   []byte // decompressed; not kept
	Format Format
	Type   string     // of events that name none; empty for the only type there is
	Single bool       // the body must be one event
	Ack    config.Ack // empty for the configured one
}

// Result says what became of the events of a request.
type Result struct {
	Accepted   int
	Rejected   int
	Rejections []Rejection // the first MaxRejections
	Clamped    int         // accepted ones whose time was ahead of the clock here, and was set to it
	Ignored    []string    // names of fields that no event has; the first few
}

// Rejection says why an event was refused.
type Rejection struct {
	Index  int // of the event in its request, from 0; blank lines don't count
	Reason *crest.Error
}

// Ingest checks the events of a request and appends those that are right to the log. When it returns no error, the
// accepted events are as safe as the acknowledgement says, and the others are in the result.
//
// An error means that none was accepted: CodeEmptyBody, CodeMalformed and CodeTooManyEvents for a body that can't be
// used, the log's errors, or ctx's error, after which it is not known.
func (in *Ingester) Ingest(ctx context.Context, req Request) (Result, error) {
	b := in.batches.Get().(*batch) //nolint:forcetypeassert // New puts nothing else there
	defer in.release(b)
	b.begin(req, crest.MillisOf(in.now()), in.maxEvents)
	if err := b.decode(req); err != nil {
		return Result{}, in.failed(err)
	}
	if b.result.Accepted > 0 {
		ack := req.Ack
		if ack == "" {
			ack = in.ack
		}
		if _, err := in.log.Append(ctx, b.records(), ack == config.AckLogged); err != nil {
			return Result{}, in.failed(fmt.Errorf("append %d events: %w", b.result.Accepted, err))
		}
	}
	in.report(b)
	return b.result, nil
}

func (in *Ingester) release(b *batch) {
	if b.reusable() {
		in.batches.Put(b)
	}
}

func (in *Ingester) failed(err error) error {
	if in.observer.Failed != nil {
		in.observer.Failed(crest.CodeOf(err))
	}
	return err
}

func (in *Ingester) report(b *batch) {
	if in.observer.Accepted != nil && b.result.Accepted > 0 {
		in.observer.Accepted(b.result.Accepted, b.result.Clamped)
	}
	if in.observer.Rejected != nil {
		for _, r := range b.refused {
			in.observer.Rejected(r.code, r.events)
		}
	}
}
