package pipeline

import (
	"encoding/binary"
	"slices"
	"testing"
	"time"

	"crest"
	"crest/internal/config"
	"crest/internal/eventlog"
	"crest/internal/list"
)

const (
	minute = crest.Millis(60_000)
	hour   = 60 * minute
	day    = 24 * hour
	night  = 20_000 * day // a midnight
)

// drive feeds a pipeline with batches by hand: to the millisecond, and days of them in no time.
type drive struct {
	t          *testing.T
	pipeline   *Pipeline
	lists      *recorder
	truth      *truth
	offset     eventlog.Offset
	events     uint64
	exact      list.Exact
	dimensions []string
	built      chan struct{}
}

func newDrive(t *testing.T, cfg *config.Config) *drive {
	t.Helper()
	d := &drive{t: t, lists: &recorder{}, truth: &truth{seen: map[crest.EventID]bool{}}, built: make(chan struct{})}
	p, err := New(cfg, Options{
		Lists: d.lists, Now: func() time.Time { return (night - day).Time() }, Exact: func() list.Exact { return d.exact },
		Observer: Observer{Skipped: func(err error) { t.Error("skipped:", err) }},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range cfg.Dimensions {
		d.dimensions = append(d.dimensions, x.Name)
	}
	d.pipeline = p
	go func() { defer close(d.built); p.buildLists() }()
	return d
}

func (d *drive) event(typ, item string, at crest.Millis, weight uint32, dimensions ...string) crest.Event {
	d.events++
	ev := crest.Event{Type: typ, Item: item, Time: at, Weight: weight, Session: 1}
	binary.BigEndian.PutUint64(ev.ID[:], d.events)
	copy(ev.Dimensions[:], dimensions)
	return ev
}

// post hands over one record, and says that nothing received before the watermark is to come. Without events it only
// says that.
func (d *drive) post(received, watermark crest.Millis, events ...crest.Event) {
	d.t.Helper()
	batch := eventlog.Batch{Watermark: watermark}
	if len(events) > 0 {
		var e eventlog.Encoder
		e.Reset(d.dimensions)
		for i := range events {
			if err := e.Add(&events[i]); err != nil {
				d.t.Fatal(err)
			}
		}
		d.offset += 100
		batch.Records = []eventlog.Record{{Received: received, Payload: slices.Clone(e.Bytes()), Next: d.offset}}
		d.truth.add(received, events...)
	}
	batch.Next = d.offset
	if err := d.pipeline.take(batch); err != nil {
		d.t.Fatal(err)
	}
	d.pipeline.answer()
}

// end returns every list that was published.
func (d *drive) end() []crest.List {
	close(d.pipeline.build)
	<-d.built
	return d.lists.published()
}

// check reports counts of the board's and window's lists that are below the truth of what they don't say they lack, and
// items above a cutoff.
func (d *drive) check(lists []crest.List, board, window string) {
	d.t.Helper()
	n := 0
	for i := range lists {
		l := &lists[i]
		if l.Board != board || l.Window != window {
			continue
		}
		n++
		known := &truth{}
		for _, ev := range d.truth.events {
			if ev.received >= l.Since {
				known.events = append(known.events, ev)
			}
		}
		listed := map[string]uint64{}
		for _, e := range l.Top {
			listed[e.ID] = e.Count
		}
		for id, count := range known.counts(l) {
			if said, ok := listed[id]; ok && said < count || !ok && count > l.Cutoff {
				d.t.Fatalf("%s: %s has %d, listed with %d, cutoff %d", nameOf(l), id, count, said, l.Cutoff)
			}
		}
	}
	if n == 0 {
		d.t.Errorf("no list of %s, %s", board, window)
	}
}
