package ingest

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"crest"
	"crest/internal/config"
	"crest/internal/eventlog"
)

// received is the time at which the tests' requests arrive.
var received = time.Date(2026, 11, 30, 10, 42, 0, 0, time.UTC)

const receivedMillis = crest.Millis(1_796_035_320_000)

// fakeLog decodes what is appended to it.
type fakeLog struct {
	schema *schema
	err    error

	mu      sync.Mutex
	events  []crest.Event
	records int
	durable []bool
	wrong   []string
}

func (l *fakeLog) Append(ctx context.Context, records []eventlog.Append, durable bool) (crest.Millis, error) {
	if l.err != nil {
		return 0, l.err
	}
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.durable = append(l.durable, durable)
	names := make([]string, len(l.schema.types))
	for i, t := range l.schema.types {
		names[i] = t.name
	}
	d := eventlog.NewDecoder(names, l.schema.dimensionNames)
	for _, r := range records {
		l.records++
		if err := d.Reset(slices.Clone(r.Payload)); err != nil {
			l.wrong = append(l.wrong, err.Error())
			continue
		}
		var ev crest.Event
		for d.Next(&ev) {
			if p := eventlog.Partition(ev.Session, ev.ID, l.schema.partitions); p != r.Partition {
				l.wrong = append(l.wrong, "an event is in another partition than its session's")
			}
			l.events = append(l.events, copyOf(ev))
		}
		if err := d.Err(); err != nil {
			l.wrong = append(l.wrong, err.Error())
		}
	}
	return receivedMillis, nil
}

// copyOf returns an event that does not alias a payload.
func copyOf(ev crest.Event) crest.Event {
	ev.Item, ev.Spelling, ev.Type = strings.Clone(ev.Item), strings.Clone(ev.Spelling), strings.Clone(ev.Type)
	for i := range ev.Dimensions {
		ev.Dimensions[i] = strings.Clone(ev.Dimensions[i])
	}
	return ev
}

// testConfig has what presets have, and more: two types with ids of their own name, and a dimension with a list of
// values.
func testConfig() *config.Config {
	return &config.Config{
		Types: []config.Type{
			{Name: "video"},
			{Name: "hashtag", Normalize: "hashtag"},
			{Name: "article", IDField: "article_id"},
		},
		Dimensions: []config.Dimension{{Name: "category"}, {Name: "region", Values: []string{"eu", "us"}}},
		Counting:   config.Counting{Partitions: 4},
		Ingest:     config.Ingest{Ack: config.AckLogged, MaxEvents: 1000},
	}
}

func mustSchema(t *testing.T, cfg *config.Config) *schema {
	t.Helper()
	s, err := newSchema(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func newTestIngester(t *testing.T, cfg *config.Config) (*Ingester, *fakeLog) {
	t.Helper()
	log := &fakeLog{}
	in, err := New(cfg, log, func() time.Time { return received }, Observer{})
	if err != nil {
		t.Fatal(err)
	}
	log.schema = mustSchema(t, cfg)
	t.Cleanup(func() {
		for _, w := range log.wrong {
			t.Error(w)
		}
	})
	return in, log
}
