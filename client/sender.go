package client

import (
	"context"
	"sync"
	"time"

	"crest"
)

// SenderOptions adjusts a Sender. The zero value is a good choice.
type SenderOptions struct {
	Delay   time.Duration                                // how long an event waits for others at most; 100 ms when 0
	Pending int                                          // events that wait before Add blocks; 10,000 when 0
	Sent    func(sent []Event, result Result, err error) // told of every batch, from Run's goroutine; may be nil
}

// Sender collects events and sends them in batches. Run does the sending; Add may be called by many goroutines.
type Sender struct {
	client  *Client
	options SenderOptions
	events  chan Event

	stopping chan struct{} // closed when Run begins to end: lets blocked Adds go
	adding   sync.RWMutex  // held for reading by Add
	stopped  bool          // guarded by adding: nothing is added any more
}

// NewSender returns a sender. Nothing is sent before Run.
func NewSender(c *Client, o SenderOptions) (*Sender, error) {
	if o.Delay == 0 {
		o.Delay = 100 * time.Millisecond
	}
	if o.Pending == 0 {
		o.Pending = 10_000
	}
	if o.Delay < 0 || o.Pending < 1 {
		return nil, crest.Errorf(crest.CodeOutOfRange, "", "delay and pending must be positive")
	}
	return &Sender{client: c, options: o, events: make(chan Event, o.Pending), stopping: make(chan struct{})}, nil
}

// Add hands over an event. It blocks while too many wait, until there is room, ctx ends, or Run is
// about to return. Without an error the event will be sent.
func (s *Sender) Add(ctx context.Context, e Event) error {
	s.adding.RLock()
	defer s.adding.RUnlock()
	if s.stopped {
		return errStopped()
	}
	select {
	case s.events <- e:
		return nil
	case <-s.stopping:
		return errStopped()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func errStopped() error { return crest.Errorf(crest.CodeShuttingDown, "", "the sender has stopped") }

// stop makes sure that every event whose Add succeeded is in the channel, and that none comes after.
func (s *Sender) stop() {
	close(s.stopping)
	s.adding.Lock()
	defer s.adding.Unlock()
	s.stopped = true
}

// Run sends until ctx ends, then sends what still waits, for as long as Options.Patience allows, and returns. A batch
// that can't be sent is reported to Sent and dropped; Run returns the last such error. It must be called once.
func (s *Sender) Run(ctx context.Context) error {
	var failure error
	batch := make([]Event, 0, s.client.options.MaxBatch)
	send := func(ctx context.Context) {
		if len(batch) == 0 {
			return
		}
		result, err := s.client.Send(ctx, batch)
		if err != nil {
			failure = err
		}
		if s.options.Sent != nil {
			s.options.Sent(batch, result, err)
		}
		batch = batch[:0]
	}
	timer := time.NewTimer(s.options.Delay)
	defer timer.Stop()
	for ctx.Err() == nil {
		timer.Reset(s.options.Delay)
		for wait := true; wait && len(batch) < cap(batch); {
			select {
			case e := <-s.events:
				batch = append(batch, e)
			case <-timer.C:
				wait = false
			case <-ctx.Done():
				wait = false
			}
		}
		send(context.WithoutCancel(ctx))
	}
	s.stop()
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.client.options.Patience)
	defer cancel()
	for {
		select {
		case e := <-s.events:
			if batch = append(batch, e); len(batch) == cap(batch) {
				send(last)
			}
		default:
			send(last)
			return failure
		}
	}
}
