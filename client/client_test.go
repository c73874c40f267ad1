package client

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"crest"
)

// fakeServer answers POST /v1/events by a script of handlers; the last one repeats.
type fakeServer struct {
	mu     sync.Mutex
	script []http.HandlerFunc
	bodies [][]byte
}

func (f *fakeServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(err)
	}
	if r.Header.Get("Content-Encoding") == "gzip" {
		z, err := gzip.NewReader(strings.NewReader(string(body)))
		if err != nil {
			panic(err)
		}
		if body, err = io.ReadAll(z); err != nil {
			panic(err)
		}
	}
	f.bodies = append(f.bodies, body)
	handler := f.script[0]
	if len(f.script) > 1 {
		f.script = f.script[1:]
	}
	r.Body = io.NopCloser(strings.NewReader(string(body)))
	handler(w, r)
}

// accept accepts every event of a JSON body.
func accept(w http.ResponseWriter, r *http.Request) {
	var events []json.RawMessage
	if err := json.NewDecoder(r.Body).Decode(&events); err != nil {
		panic(err)
	}
	w.WriteHeader(http.StatusAccepted)
	fmt.Fprintf(w, `{"accepted":%d,"rejected":0,"clamped":0,"errors":[]}`, len(events))
}

func fail(status int, code crest.Code, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"error":{"code":%q,"message":"no"}}`, code)
	}
}

// hangUp breaks the connection.
func hangUp(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

func newTest(t *testing.T, o Options, script ...http.HandlerFunc) (*Client, *fakeServer, *[]time.Duration) {
	t.Helper()
	f := &fakeServer{script: script}
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	if o.Format == "" {
		o.Format = JSON
	}
	c, err := New(server.URL, o)
	if err != nil {
		t.Fatal(err)
	}
	pauses := &[]time.Duration{}
	c.pause = func(_ context.Context, d time.Duration) error {
		*pauses = append(*pauses, d)
		return nil
	}
	return c, f, pauses
}

func someEvents(n int) []Event {
	events := make([]Event, n)
	for i := range events {
		events[i] = Event{Item: fmt.Sprintf("v%d", i)}
	}
	return events
}

func TestRetriesKeepTheIDs(t *testing.T) {
	c, f, pauses := newTest(t, Options{},
		hangUp, fail(503, crest.CodeLogUnavailable), fail(429, crest.CodeBehind, "Retry-After", "2"), accept)
	events := someEvents(3)
	events[1].ID = "mine"
	result, err := c.Send(t.Context(), events)
	if err != nil || result.Accepted != 3 || result.Retries != 3 {
		t.Fatalf("got %+v, %v", result, err)
	}
	if len(f.bodies) != 4 {
		t.Fatalf("sent %d times, want 4", len(f.bodies))
	}
	for i, body := range f.bodies {
		if string(body) != string(f.bodies[0]) {
			t.Errorf("try %d sent another body:\n%s\n%s", i, body, f.bodies[0])
		}
	}
	var sent []struct{ ID, Item string }
	if err := json.Unmarshal(f.bodies[0], &sent); err != nil {
		t.Fatal(err)
	}
	if sent[1].ID != "mine" || len(sent[0].ID) != 36 || sent[0].ID == sent[2].ID {
		t.Errorf("ids: %+v", sent)
	}
	if events[0].ID != "" {
		t.Error("the caller's events were changed")
	}
	if len(*pauses) != 3 || (*pauses)[2] != 2*time.Second {
		t.Errorf("pauses %v, want the third to be the server's 2 s", *pauses)
	}
	if (*pauses)[0] < firstPause/2 || (*pauses)[1] <= firstPause/2 || (*pauses)[1] > 2*firstPause {
		t.Errorf("pauses %v don't grow from %s", *pauses, firstPause)
	}
}

func TestPatienceEnds(t *testing.T) {
	c, _, _ := newTest(t, Options{Patience: 5 * time.Second}, fail(429, crest.CodeBehind, "Retry-After", "60"))
	_, err := c.Send(t.Context(), someEvents(1))
	if err == nil || crest.CodeOf(err) != crest.CodeBehind || !strings.Contains(err.Error(), "gave up after 1 tries") {
		t.Errorf("got %v", err)
	}
}

func TestMistakesAreNotRetried(t *testing.T) {
	for _, test := range []struct {
		answer http.HandlerFunc
		code   crest.Code
	}{
		{fail(400, crest.CodeMalformed), crest.CodeMalformed},
		{fail(415, crest.CodeUnsupportedMedia), crest.CodeUnsupportedMedia},
		{func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>hello") }, crest.CodeInternal},
	} {
		c, f, _ := newTest(t, Options{}, test.answer)
		_, err := c.Send(t.Context(), someEvents(2))
		if err == nil || crest.CodeOf(err) != test.code || len(f.bodies) != 1 {
			t.Errorf("got %v after %d tries, want code %s after 1", err, len(f.bodies), test.code)
		}
	}
}

func TestRejectionsKeepTheirPlace(t *testing.T) {
	refuseSecond := func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusAccepted)
		fmt.Fprint(w, `{"accepted":1,"rejected":1,"clamped":1,"errors":[{"index":1,"code":"too_long","field":"item","message":"m"}]}`)
	}
	allRefused := func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `{"accepted":0,"rejected":2,"errors":[{"index":0,"code":"unknown_type"},{"index":1,"code":"unknown_type"}]}`)
	}
	c, _, _ := newTest(t, Options{MaxBatch: 2}, refuseSecond, allRefused, accept)
	result, err := c.Send(t.Context(), someEvents(5))
	if err != nil || result.Accepted != 2 || result.Rejected != 3 || result.Clamped != 1 {
		t.Fatalf("got %+v, %v", result, err)
	}
	var at []int
	for _, e := range result.Errors {
		at = append(at, e.Index)
	}
	if fmt.Sprint(at) != "[1 2 3]" {
		t.Errorf("rejected events %v, want [1 2 3]", at)
	}
}

func TestTooLargeBatchesAreHalved(t *testing.T) {
	atMostThree := func(w http.ResponseWriter, r *http.Request) {
		var events []json.RawMessage
		if err := json.NewDecoder(r.Body).Decode(&events); err != nil {
			panic(err)
		}
		if len(events) > 3 {
			fail(413, crest.CodeTooManyEvents)(w, r)
			return
		}
		w.WriteHeader(http.StatusAccepted)
		fmt.Fprintf(w, `{"accepted":%d,"rejected":0,"errors":[]}`, len(events))
	}
	c, _, _ := newTest(t, Options{}, atMostThree)
	result, err := c.Send(t.Context(), someEvents(10))
	if err != nil || result.Accepted != 10 {
		t.Errorf("got %+v, %v", result, err)
	}
	tooLarge, _, _ := newTest(t, Options{}, fail(413, crest.CodeBodyTooLarge))
	if _, err := tooLarge.Send(t.Context(), someEvents(4)); crest.CodeOf(err) != crest.CodeBodyTooLarge {
		t.Errorf("a single event too large: %v", err)
	}
}

func TestJSONForm(t *testing.T) {
	e := Event{
		ID: "i\"d", Type: "video", Item: "é\n<😀>", Session: "s", Weight: 3, Time: time.UnixMilli(1_700_000_000_123),
		Dimensions: map[string]string{"region": "eu"},
	}
	var got map[string]any
	if err := json.Unmarshal(appendEventJSON(nil, &e), &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"id": "i\"d", "type": "video", "item": "é\n<😀>", "session": "s", "weight": 3.0, "ts_ms": 1_700_000_000_123.0,
		"dimensions": map[string]any{"region": "eu"},
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestGzipAndAck(t *testing.T) {
	var query string
	c, f, _ := newTest(t, Options{Gzip: true, Ack: "logged"}, func(w http.ResponseWriter, r *http.Request) {
		query = r.URL.RawQuery
		accept(w, r)
	})
	if result, err := c.Send(t.Context(), someEvents(50)); err != nil || result.Accepted != 50 {
		t.Fatalf("got %+v, %v", result, err)
	}
	if query != "ack=logged" || !strings.HasPrefix(string(f.bodies[0]), `[{"id":`) {
		t.Errorf("query %q, body %.40s", query, f.bodies[0])
	}
}

func TestNewRefusesNonsense(t *testing.T) {
	for _, url := range []string{"", "localhost:8080", "ftp://x", "http://", "::"} {
		if _, err := New(url, Options{}); err == nil {
			t.Errorf("New(%q) succeeded", url)
		}
	}
	if _, err := New("http://x", Options{Format: "xml"}); err == nil {
		t.Error("format xml was taken")
	}
}

func TestSenderSendsEverythingOnce(t *testing.T) {
	c, f, _ := newTest(t, Options{MaxBatch: 7}, fail(503, crest.CodeLogUnavailable), hangUp, accept)
	accepted := 0
	s, err := NewSender(c, SenderOptions{Delay: time.Millisecond, Pending: 3, Sent: func(_ []Event, r Result, err error) {
		if err != nil {
			t.Error(err)
		}
		accepted += r.Accepted
	}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- s.Run(ctx) }()
	var adders sync.WaitGroup
	for range 4 {
		adders.Go(func() {
			for i := range 25 {
				if err := s.Add(t.Context(), Event{Item: fmt.Sprint(i)}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	adders.Wait()
	cancel()
	if err := <-done; err != nil || accepted != 100 {
		t.Errorf("accepted %d of 100, %v", accepted, err)
	}
	for _, body := range f.bodies {
		var events []json.RawMessage
		if err := json.Unmarshal(body, &events); err != nil || len(events) > 7 {
			t.Errorf("a batch of %d, %v", len(events), err)
		}
	}
	if err := s.Add(t.Context(), Event{Item: "late"}); crest.CodeOf(err) != crest.CodeShuttingDown {
		t.Errorf("Add after Run: %v", err)
	}
}

func TestCancelledContext(t *testing.T) {
	c, _, _ := newTest(t, Options{}, fail(503, crest.CodeLogUnavailable))
	c.pause = sleep
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Send(ctx, someEvents(1)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
