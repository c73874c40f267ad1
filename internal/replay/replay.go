// Package replay posts the events of a file to a server: in order of time, as fast as they happened, faster, or as fast
// as they are accepted, and as of then or as of now.
package replay

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"crest"
	"crest/client"
	"crest/internal/rows"
)

// Config says how a file is read and posted. Columns that are empty have a default; a file need not have those.
type Config struct {
	Format     rows.Format
	Item       string   // column of the item; "" is "item", or the whole line of plain text
	Time       string   // of the event time; "" is the first there is of ts_ms, ts, timestamp and time
	Arrived    string   // of the arrival; "" when every event arrived as it happened
	ID         string   // of the event's id; "" is "id"
	Session    string   // "" is "session"
	Weight     string   // "" is "weight"
	Dimensions []string // names of columns that are dimensions
	Type       string   // of every event, whatever the file says; "" is what its column "type" says

	Speed      float64 // how many times faster than they happened; 0 is as fast as the server accepts
	ShiftToNow bool    // let the events happen now: see Run
	Batch      int     // most events of one request
	MaxSorted  int     // how many events are held to sort them; 500,000 when 0
}

// Sender posts events and returns when the server has answered for them.
type Sender interface {
	Send(ctx context.Context, events []client.Event) (client.Result, error)
}

// Clock tells and awaits the time.
type Clock interface {
	Now() time.Time
	// SleepUntil returns early, with the reason, when ctx ends.
	SleepUntil(ctx context.Context, t time.Time) error
}

// Stats is what happened to the events.
type Stats struct {
	Lines    uint64                `json:"lines"`        // read
	Unusable uint64                `json:"unusable"`     // lines that could not be read as events
	Disorder uint64                `json:"out_of_order"` // posted late, because the file is further out of order than could be sorted
	Accepted uint64                `json:"accepted"`
	Rejected uint64                `json:"rejected"` // by the server
	Clamped  uint64                `json:"clamped"`
	Retries  uint64                `json:"retries"`
	Ignored  []string              `json:"ignored_fields,omitempty"` // names that the server does not know, such as a dimension's
	Reasons  []string              `json:"reasons"`                  // the first of unusable lines and rejected events
	ByCode   map[crest.Code]uint64 `json:"rejected_by_code"`         // of those that the server named
	At       crest.Millis          `json:"-"`                        // time in the file of the last event posted
}

const maxReasons = 5

func (s *Stats) reason(text string) {
	if len(s.Reasons) < maxReasons {
		s.Reasons = append(s.Reasons, text)
	}
}

// Run posts the file's events in order of their arrival. open opens the file; it is called a second time when the file is
// too long to be sorted in memory and its last moment has to be known.
//
// With ShiftToNow, the first event happens now and the others follow at the chosen speed; at full speed the last event
// happens now and the others did as long ago as they were before it. An event dated after its arrival is then dated as
// of its arrival, because the server would not take it.
//
// Events without an id get one made of the file's name and the line, and of the start when shifted: within a run every
// retry has the same id, and a file that is posted again as it is brings the same events, not new ones.
func Run(ctx context.Context, open func() (*rows.Input, error), to Sender, clock Clock, c Config, progress func(Stats)) (Stats, error) {
	r := &run{config: c, to: to, clock: clock, progress: progress, start: clock.Now(), stats: Stats{ByCode: map[crest.Code]uint64{}}}
	if c.Batch < 1 {
		return r.stats, crest.Errorf(crest.CodeOutOfRange, "batch", "is %d; it must be positive", c.Batch)
	}
	if !(c.Speed >= 0) || math.IsInf(c.Speed, 1) {
		return r.stats, crest.Errorf(crest.CodeOutOfRange, "speed", "is %g; it must be positive, or max", c.Speed)
	}
	in, err := open()
	if err != nil {
		return r.stats, err
	}
	defer in.Close()
	r.sorter, err = newSorter(in, &r.config, r.start, &r.stats)
	if err != nil {
		return r.stats, err
	}
	if err := r.sorter.fill(); err != nil {
		return r.stats, err
	}
	if err := r.anchor(open); err != nil {
		return r.stats, err
	}
	return r.stats, r.post(ctx)
}

// run is one replay.
type run struct {
	config   Config
	to       Sender
	clock    Clock
	progress func(Stats)
	start    time.Time
	sorter   *sorter
	stats    Stats

	from  crest.Millis // the moment in the file that …
	onto  time.Time    // … happens at this one
	batch []client.Event
}

// anchor decides which moment of the file happens when.
func (r *run) anchor(open func() (*rows.Input, error)) error {
	r.onto = r.start
	first, ok := r.sorter.peek()
	if !ok {
		return nil
	}
	r.from = first.arrived
	if r.config.Speed > 0 || !r.config.ShiftToNow {
		return nil
	}
	latest := r.sorter.latest
	if !r.sorter.ended {
		var err error
		if latest, err = scanLatest(open, &r.config); err != nil {
			return fmt.Errorf("look for the last event: %w", err)
		}
	}
	r.from = latest
	return nil
}

// due returns when an event of that moment in the file happens.
func (r *run) due(t crest.Millis) time.Time {
	speed := r.config.Speed
	if speed == 0 {
		speed = 1
	}
	return r.onto.Add(time.Duration(float64(t-r.from) / speed * float64(time.Millisecond)))
}

func (r *run) post(ctx context.Context) error {
	for {
		e, ok, err := r.sorter.next()
		if err != nil {
			return err
		}
		if !ok {
			return r.flush(ctx)
		}
		if r.config.Speed > 0 {
			if due := r.due(e.arrived); due.After(r.clock.Now()) {
				if err := r.flush(ctx); err != nil {
					return err
				}
				if err := r.clock.SleepUntil(ctx, due); err != nil {
					return err
				}
			}
		}
		if r.config.ShiftToNow {
			e.event.Time = r.due(min(e.time, e.arrived))
		} else {
			e.event.Time = e.time.Time()
		}
		r.stats.At = e.arrived
		r.batch = append(r.batch, e.event)
		if len(r.batch) >= r.config.Batch {
			if err := r.flush(ctx); err != nil {
				return err
			}
		}
	}
}

func (r *run) flush(ctx context.Context) error {
	if len(r.batch) == 0 {
		return nil
	}
	result, err := r.to.Send(ctx, r.batch)
	r.stats.Accepted += uint64(result.Accepted)
	r.stats.Rejected += uint64(result.Rejected)
	r.stats.Clamped += uint64(result.Clamped)
	r.stats.Retries += uint64(result.Retries)
	for _, name := range result.Ignored {
		if !slices.Contains(r.stats.Ignored, name) {
			r.stats.Ignored = append(r.stats.Ignored, name)
		}
	}
	for _, e := range result.Errors {
		r.stats.ByCode[e.Code]++
		r.stats.reason(fmt.Sprintf("event %q: %v", r.batch[e.Index].Item, crest.Errorf(e.Code, e.Field, "%s", e.Message)))
	}
	r.batch = r.batch[:0]
	if err == nil && r.progress != nil {
		r.progress(r.stats)
	}
	return err
}
