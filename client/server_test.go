package client_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"crest"
	"crest/client"
	"crest/internal/config"
	"crest/internal/eventlog"
	"crest/internal/httpapi"
	"crest/internal/ingest"
	"crest/internal/replay"
	"crest/internal/rows"
)

// nowhere is a log that takes everything and keeps nothing.
type nowhere struct{}

func (nowhere) Append(context.Context, []eventlog.Append, bool) (crest.Millis, error) {
	return crest.MillisOf(time.Now()), nil
}

// server is the write edge that a node has.
func server(t *testing.T) string {
	t.Helper()
	cfg, err := config.Preset("shares")
	if err != nil {
		t.Fatal(err)
	}
	in, err := ingest.New(&cfg, nowhere{}, time.Now, ingest.Observer{})
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	httpapi.WriteRoutes(mux, in, httpapi.WriteConfigOf(&cfg))
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s.URL
}

func clients(t *testing.T, o client.Options) map[client.Format]*client.Client {
	t.Helper()
	all := map[client.Format]*client.Client{}
	for _, o.Format = range []client.Format{client.Protobuf, client.JSON} {
		c, err := client.New(server(t), o)
		if err != nil {
			t.Fatal(err)
		}
		all[o.Format] = c
	}
	return all
}

func TestEventsThatAreAllRefusedAreNoError(t *testing.T) {
	old := client.Event{Item: "a", Time: time.Unix(1, 0)}
	for format, c := range clients(t, client.Options{MaxBatch: 2}) {
		result, err := c.Send(t.Context(), []client.Event{old, old, {Item: "b"}, old})
		if err != nil || result.Accepted != 1 || result.Rejected != 3 || len(result.Errors) != 3 {
			t.Errorf("%s: %+v, %v", format, result, err)
			continue
		}
		if e := result.Errors[2]; e.Index != 3 || e.Code != crest.CodeTooOld || e.Message == "" {
			t.Errorf("%s: the last refusal is %+v", format, e)
		}
	}
}

func TestIgnoredFieldsAreTold(t *testing.T) {
	events := []client.Event{{Item: "a", Dimensions: map[string]string{"colour": "red"}}, {Item: "b", Dimensions: map[string]string{"colour": "red", "region": "eu"}}}
	for format, c := range clients(t, client.Options{MaxBatch: 1}) {
		result, err := c.Send(t.Context(), events)
		if err != nil || result.Accepted != 2 || len(result.Ignored) != 1 || !strings.Contains(result.Ignored[0], "colour") {
			t.Errorf("%s: %+v, %v", format, result, err)
		}
	}
}

func TestSenderGoesOnAfterABatchThatIsRefused(t *testing.T) {
	for format, c := range clients(t, client.Options{MaxBatch: 1}) {
		var accepted, rejected int
		s, err := client.NewSender(c, client.SenderOptions{Sent: func(_ []client.Event, r client.Result, err error) {
			if err != nil {
				t.Errorf("%s: %v", format, err)
			}
			accepted += r.Accepted
			rejected += r.Rejected
		}})
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range []string{"a", "", "b"} {
			if err := s.Add(t.Context(), client.Event{Item: item}); err != nil {
				t.Fatal(err)
			}
		}
		ctx, stop := context.WithCancel(t.Context())
		stop()
		if err := s.Run(ctx); err != nil || accepted != 2 || rejected != 1 {
			t.Errorf("%s: %d accepted, %d rejected, %v", format, accepted, rejected, err)
		}
	}
}

// clock is the time of day; nothing is waited for.
type clock struct{}

func (clock) Now() time.Time { return time.Now() }

func (clock) SleepUntil(context.Context, time.Time) error { return nil }

func TestReplayGoesOnAfterABatchThatIsRefused(t *testing.T) {
	now := time.Now().Add(-time.Minute).UTC().Format(time.RFC3339)
	content := "ts,item,colour\n2001-01-01T00:00:00Z,a,red\n2001-01-02T00:00:00Z,b,red\n" + now + ",c,red\n"
	for format, c := range clients(t, client.Options{}) {
		stats, err := replay.Run(t.Context(), func() (*rows.Input, error) {
			return &rows.Input{Name: "x.csv", From: strings.NewReader(content)}, nil
		}, c, clock{}, replay.Config{Batch: 1, Dimensions: []string{"colour"}}, nil)
		if err != nil || stats.Accepted != 1 || stats.Rejected != 2 || stats.ByCode[crest.CodeTooOld] != 2 {
			t.Errorf("%s: %+v, %v", format, stats, err)
		}
		if len(stats.Ignored) != 1 || !strings.Contains(stats.Ignored[0], "colour") {
			t.Errorf("%s: ignored %q", format, stats.Ignored)
		}
	}
}
