package load

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"crest"
)

// Options says what is sent.
type Options struct {
	URL         string        // of the server, "http://localhost:8080"
	Rate        int           // events per second, over all connections; 0 is as many as are answered
	For         time.Duration // how long
	Items       uint64        // how many different ones there can be
	Zipf        float64       // skew; 0 draws all items equally often
	Format      string        // "protobuf" or "json"
	Batch       int           // events of one request; 0 is 500, or fewer at a low rate
	Connections int           // requests on their way at once
	Type        string
	Dimensions  []Dimension // values that events get
	Ack         string      // "logged", "enqueued", or the server's choice when empty
	Seed        uint64
}

// Dimension is a dimension of which every event has one of so many values.
type Dimension struct {
	Name   string
	Values uint64
}

// Validate reports what is wrong with the options.
func (o *Options) Validate() error {
	switch {
	case o.Rate < 0:
		return crest.Errorf(crest.CodeOutOfRange, "rate", "is %d; it must be positive, or 0 for as fast as the server answers", o.Rate)
	case o.For <= 0:
		return crest.Errorf(crest.CodeOutOfRange, "for", "is %s; it must be positive", o.For)
	case o.Batch < 0 || o.Batch > 100_000:
		return crest.Errorf(crest.CodeOutOfRange, "batch", "is %d; it must be from 1 to 100000", o.Batch)
	case o.Rate > 0 && float64(o.Batch) > float64(o.Rate)*o.For.Seconds():
		return crest.Errorf(crest.CodeOutOfRange, "batch", "is %d, more than the events of %s at %d a second; make it smaller", o.Batch, o.For, o.Rate)
	case o.Connections < 1 || o.Connections > 10_000:
		return crest.Errorf(crest.CodeOutOfRange, "connections", "is %d; it must be from 1 to 10000", o.Connections)
	case o.Format != "protobuf" && o.Format != "json":
		return crest.Errorf(crest.CodeOutOfRange, "format", "is %q; valid are protobuf and json", o.Format)
	}
	return nil
}

const (
	usualBatch   = 500
	leastBatches = 20 // requests a second, when the batch is ours to choose: a rate is to be even, not one batch now and then
)

func (o *Options) batch() int {
	switch {
	case o.Batch > 0:
		return o.Batch
	case o.Rate > 0:
		return max(1, min(usualBatch, o.Rate/leastBatches))
	}
	return usualBatch
}

// Report is what was measured. Latencies are those of requests that were answered with 202. With a rate they count from
// the moment when the request was due, so that a server that stalls can't hide it by delaying the requests behind.
type Report struct {
	Seconds   float64           `json:"seconds"`
	Requests  uint64            `json:"requests"`
	Sent      uint64            `json:"events_sent"`
	Acked     uint64            `json:"events_acked"`
	Rejected  uint64            `json:"events_rejected"`
	PerSecond float64           `json:"acked_per_second"`
	P50       float64           `json:"latency_p50_ms,omitempty"` // as the others, absent when no request was answered with 202
	P90       float64           `json:"latency_p90_ms,omitempty"`
	P99       float64           `json:"latency_p99_ms,omitempty"`
	Max       float64           `json:"latency_max_ms,omitempty"`
	Errors    map[string]uint64 `json:"errors"`                   // requests that failed, by code
	Ignored   []string          `json:"ignored_fields,omitempty"` // names that the server does not know, such as a dimension's
}

// Progress is how many events were acknowledged so far.
type Progress struct {
	Acked, Failed uint64 // events, requests
	Elapsed       time.Duration
}

// Run sends until the time is over or ctx ends, waits for the last answers, and reports. progress is called about once a
// second and may be nil.
func Run(ctx context.Context, o Options, progress func(Progress)) (Report, error) {
	if err := o.Validate(); err != nil {
		return Report{}, err
	}
	o.Batch = o.batch()
	zipf, err := NewZipf(o.Items, o.Zipf)
	if err != nil {
		return Report{}, err
	}
	transport := &http.Transport{MaxIdleConnsPerHost: o.Connections, MaxConnsPerHost: o.Connections, DisableCompression: true}
	defer transport.CloseIdleConnections()
	r := &run{options: o, client: &http.Client{Transport: transport, Timeout: 30 * time.Second}, endpoint: endpoint(o)}
	connections := make([]*connection, o.Connections)
	for i := range connections {
		connections[i] = &connection{run: r, template: newTemplate(o, zipf, o.Seed+uint64(i)*7919), errors: map[string]uint64{}}
	}
	r.start = time.Now()
	sending, stop := context.WithDeadline(ctx, r.start.Add(o.For))
	defer stop()
	var all sync.WaitGroup
	for _, c := range connections {
		all.Go(func() { c.send(ctx, sending) })
	}
	all.Go(func() { r.report(sending, progress) })
	all.Wait()
	return r.total(connections), nil
}

func endpoint(o Options) string {
	url := o.URL + "/v1/events"
	if o.Ack != "" {
		url += "?ack=" + o.Ack
	}
	return url
}

// run is what the connections of a run share.
type run struct {
	options  Options
	client   *http.Client
	endpoint string
	start    time.Time
	ticket   atomic.Int64 // of the next request
	acked    atomic.Uint64
	failed   atomic.Uint64
}

// dueAfter returns when a request is due, from the start.
func (r *run) dueAfter(ticket int64) time.Duration {
	return time.Duration(float64(ticket) * float64(r.options.Batch) / float64(r.options.Rate) * float64(time.Second))
}

func (r *run) report(ctx context.Context, progress func(Progress)) {
	if progress == nil {
		return
	}
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			progress(Progress{Acked: r.acked.Load(), Failed: r.failed.Load(), Elapsed: time.Since(r.start)})
		}
	}
}

func (r *run) total(connections []*connection) Report {
	var latency histogram
	t := Report{Seconds: time.Since(r.start).Seconds(), Errors: map[string]uint64{}}
	for _, c := range connections {
		t.Requests += c.requests
		t.Acked += c.acked
		t.Rejected += c.rejected
		latency.merge(&c.latency)
		for code, n := range maps.All(c.errors) {
			t.Errors[code] += n
		}
		if t.Ignored == nil {
			t.Ignored = c.ignored
		}
	}
	t.Sent = t.Requests * uint64(r.options.Batch)
	t.PerSecond = float64(t.Acked) / t.Seconds
	ms := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
	t.P50, t.P90, t.P99, t.Max = ms(latency.percentile(50)), ms(latency.percentile(90)), ms(latency.percentile(99)), ms(latency.max)
	return t
}

// connection sends one request at a time.
type connection struct {
	run      *run
	template *template
	answer   bytes.Buffer

	requests, acked, rejected uint64
	latency                   histogram
	errors                    map[string]uint64
	ignored                   []string // what the server said first; every request has the same fields
}

// pauseAfterError keeps a broken server from being flooded with requests.
const pauseAfterError = 20 * time.Millisecond

// send posts requests as they become due, until sending ends. A request that is on its way is waited for.
func (c *connection) send(ctx, sending context.Context) {
	for {
		due := time.Now()
		if c.run.options.Rate > 0 {
			after := c.run.dueAfter(c.run.ticket.Add(1) - 1)
			if due = c.run.start.Add(after); after >= c.run.options.For || !sleepUntil(sending, due) {
				return
			}
		}
		if sending.Err() != nil {
			return
		}
		code := c.post(ctx, c.template.fill(crest.MillisOf(time.Now())))
		if code == "" {
			c.latency.add(time.Since(due))
			continue
		}
		c.errors[code]++
		c.run.failed.Add(1)
		if !sleepUntil(sending, time.Now().Add(pauseAfterError)) {
			return
		}
	}
}

// sleepUntil reports whether the moment came before ctx ended.
func sleepUntil(ctx context.Context, t time.Time) bool {
	d := time.Until(t)
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// answerJSON is either form of a server's answer.
type answerJSON struct {
	Accepted uint64       `json:"accepted"`
	Rejected uint64       `json:"rejected"`
	Ignored  []string     `json:"ignored_fields"`
	Error    *crest.Error `json:"error"`
}

// post sends one request and returns the code of its error, "" when its events were acknowledged.
func (c *connection) post(ctx context.Context, body []byte) string {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.run.endpoint, bytes.NewReader(body))
	if err != nil {
		return "invalid_request"
	}
	request.Header.Set("Content-Type", "application/x-protobuf")
	if c.template.json {
		request.Header.Set("Content-Type", "application/json")
	}
	c.requests++
	response, err := c.run.client.Do(request)
	if err != nil {
		return transportCode(err)
	}
	defer response.Body.Close()
	c.answer.Reset()
	if _, err := c.answer.ReadFrom(io.LimitReader(response.Body, 1<<20)); err != nil {
		return transportCode(err)
	}
	var answer answerJSON
	if err := json.Unmarshal(c.answer.Bytes(), &answer); err != nil {
		return "not_crest_" + http.StatusText(response.StatusCode)
	}
	c.acked += answer.Accepted
	c.rejected += answer.Rejected
	if c.ignored == nil {
		c.ignored = answer.Ignored
	}
	c.run.acked.Add(answer.Accepted)
	switch {
	case response.StatusCode == http.StatusAccepted:
		return ""
	case answer.Error != nil:
		return string(answer.Error.Code)
	default:
		return "all_rejected"
	}
}

func transportCode(err error) string {
	var timeout interface{ Timeout() bool }
	switch {
	case errors.Is(err, context.Canceled):
		return "cancelled"
	case errors.As(err, &timeout) && timeout.Timeout():
		return "timeout"
	}
	return "connection"
}
