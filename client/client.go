package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/klauspost/compress/gzip"

	"crest"
)

// Format is how events are written.
type Format string

// The formats.
const (
	Protobuf Format = "protobuf" // the smallest and cheapest
	JSON     Format = "json"
)

// Options adjusts a Client. The zero value is a good choice.
type Options struct {
	Format   Format        // Protobuf when empty
	Ack      string        // "logged", "enqueued", or the server's own choice when empty
	MaxBatch int           // events of one request; 1,000 when 0
	Gzip     bool          // compress bodies: for slow networks
	Patience time.Duration // how long one batch is retried; 1 minute when 0
	HTTP     *http.Client  // for its connections and timeout; a client of its own with 30 s when nil
}

// Client sends events to one server.
type Client struct {
	endpoint string
	options  Options
	pause    func(ctx context.Context, d time.Duration) error // between retries; replaced by tests
}

// The pauses between retries, when the server names none.
const (
	firstPause = 100 * time.Millisecond
	longPause  = 5 * time.Second
)

// New returns a client of the server at a base URL, such as "http://localhost:8080".
func New(base string, o Options) (*Client, error) {
	u, err := url.Parse(base)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return nil, crest.Errorf(crest.CodeInvalidParameter, "url", "%q is no server's address; write http://host:port", base)
	}
	switch {
	case o.Format == "":
		o.Format = Protobuf
	case o.Format != Protobuf && o.Format != JSON:
		return nil, crest.Errorf(crest.CodeInvalidParameter, "format", "is %q; valid are %s and %s", o.Format, Protobuf, JSON)
	}
	if o.MaxBatch == 0 {
		o.MaxBatch = 1000
	}
	if o.Patience == 0 {
		o.Patience = time.Minute
	}
	if o.MaxBatch < 1 || o.Patience < 0 {
		return nil, crest.Errorf(crest.CodeOutOfRange, "", "a batch and patience must be positive")
	}
	if o.HTTP == nil {
		o.HTTP = &http.Client{Timeout: 30 * time.Second}
	}
	u = u.JoinPath("v1", "events")
	if o.Ack != "" {
		u.RawQuery = url.Values{"ack": {o.Ack}}.Encode()
	}
	return &Client{endpoint: u.String(), options: o, pause: sleep}, nil
}

// Rejection says why the server refused one event. Index is its position among the events that were sent.
type Rejection struct {
	Index   int        `json:"index"`
	Code    crest.Code `json:"code"`
	Field   string     `json:"field"`
	Message string     `json:"message"`
}

// Result is what the server did with the events.
type Result struct {
	Accepted int         `json:"accepted"`
	Rejected int         `json:"rejected"`
	Clamped  int         `json:"clamped"`        // accepted with a time that was ahead of the server's clock
	Errors   []Rejection `json:"errors"`         // the first of the rejected, at most 100 of each request
	Ignored  []string    `json:"ignored_fields"` // names that the server does not know, such as that of an undeclared dimension
	Retries  int         `json:"-"`              // requests that had to be sent again
}

func (r *Result) add(o Result, offset int) {
	r.Accepted += o.Accepted
	r.Rejected += o.Rejected
	r.Clamped += o.Clamped
	r.Retries += o.Retries
	for _, name := range o.Ignored {
		if !slices.Contains(r.Ignored, name) {
			r.Ignored = append(r.Ignored, name)
		}
	}
	for _, e := range o.Errors {
		e.Index += offset
		r.Errors = append(r.Errors, e)
	}
}

// Send sends the events in order, in batches one after the other. It returns when the server has accepted or refused
// each of them, or with an error, and then the result counts those of the batches before. An event that is refused is
// no error: see Result.Errors.
func (c *Client) Send(ctx context.Context, events []Event) (Result, error) {
	var total Result
	for start := 0; start < len(events); start += c.options.MaxBatch {
		batch := events[start:min(start+c.options.MaxBatch, len(events))]
		result, err := c.sendBatch(ctx, identified(batch))
		total.add(result, start)
		if err != nil {
			return total, err
		}
	}
	return total, nil
}

// sendBatch halves a batch that is too large for the server.
func (c *Client) sendBatch(ctx context.Context, events []Event) (Result, error) {
	body, err := c.encode(events)
	if err != nil {
		return Result{}, err
	}
	result, err := c.retry(ctx, body)
	code := crest.CodeOf(err)
	if (code != crest.CodeBodyTooLarge && code != crest.CodeTooManyEvents) || len(events) == 1 {
		return result, err
	}
	half := len(events) / 2
	result, err = c.sendBatch(ctx, events[:half])
	if err != nil {
		return result, err
	}
	second, err := c.sendBatch(ctx, events[half:])
	result.add(second, half)
	return result, err
}

func (c *Client) encode(events []Event) ([]byte, error) {
	var body []byte
	if c.options.Format == JSON {
		body = appendJSON(nil, events)
	} else {
		body = appendProtobuf(nil, events)
	}
	if !c.options.Gzip {
		return body, nil
	}
	var packed bytes.Buffer
	z, err := gzip.NewWriterLevel(&packed, gzip.BestSpeed)
	if err != nil {
		return nil, fmt.Errorf("compress events: %w", err)
	}
	if _, err := z.Write(body); err != nil {
		return nil, fmt.Errorf("compress events: %w", err)
	}
	if err := z.Close(); err != nil {
		return nil, fmt.Errorf("compress events: %w", err)
	}
	return packed.Bytes(), nil
}

// retry sends a body until the server has answered for it or patience is over.
func (c *Client) retry(ctx context.Context, body []byte) (Result, error) {
	deadline := time.Now().Add(c.options.Patience)
	next := firstPause
	for retries := 0; ; retries++ {
		result, wait, err := c.post(ctx, body)
		result.Retries = retries
		again, retryable := errors.AsType[*temporaryError](err)
		if !retryable {
			return result, err
		}
		if wait == 0 {
			wait = next/2 + rand.N(next/2) // so that many clients don't come back at once
			next = min(2*next, longPause)
		}
		if time.Now().Add(wait).After(deadline) {
			return result, fmt.Errorf("gave up after %d tries in %s: %w", retries+1, c.options.Patience, again.error)
		}
		if err := c.pause(ctx, wait); err != nil {
			return result, errors.Join(err, again.error)
		}
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// temporaryError is one that may be gone at the next try.
type temporaryError struct{ error }

func (e *temporaryError) Unwrap() error { return e.error }

// maxAnswer bounds what is read of a server's answer.
const maxAnswer = 1 << 20

// post sends a body once. wait is how long the server asks to wait, if it does.
func (c *Client) post(ctx context.Context, body []byte) (result Result, wait time.Duration, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.endpoint, bytes.NewReader(body))
	if err != nil {
		return result, 0, err
	}
	request.Header.Set("Content-Type", "application/x-protobuf")
	if c.options.Format == JSON {
		request.Header.Set("Content-Type", "application/json")
	}
	if c.options.Gzip {
		request.Header.Set("Content-Encoding", "gzip")
	}
	response, err := c.options.HTTP.Do(request)
	if err != nil {
		if ctx.Err() != nil {
			return result, 0, err
		}
		return result, 0, &temporaryError{err}
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil { // the events may have been accepted: the ids make it safe to ask again
		return result, 0, &temporaryError{fmt.Errorf("read the answer: %w", err)}
	}
	return interpret(response, answer)
}

// answerJSON is either form of the server's answer.
type answerJSON struct {
	Result
	Error *crest.Error `json:"error"`
}

func interpret(response *http.Response, answer []byte) (result Result, wait time.Duration, err error) {
	var a answerJSON
	parsed := json.Unmarshal(answer, &a) == nil
	status := response.StatusCode
	switch {
	case parsed && a.Error == nil && (status == http.StatusAccepted || status == http.StatusOK):
		return a.Result, 0, nil
	case parsed && status == http.StatusBadRequest && a.Rejected > 0: // it read the events and refused every one of them
		return a.Result, 0, nil
	case parsed && a.Error != nil:
		err = fmt.Errorf("server answered %s: %w", response.Status, a.Error)
	default:
		err = fmt.Errorf("server answered %s, which is not the answer of a Crest server; is the URL right?", response.Status)
	}
	switch status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return result, retryAfter(response.Header.Get("Retry-After")), &temporaryError{err}
	}
	return result, 0, err
}

// retryAfter reads the header's seconds or date.
func retryAfter(header string) time.Duration {
	if seconds, err := strconv.Atoi(header); err == nil && seconds >= 0 && seconds <= 3600 {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(header); err == nil {
		return max(0, time.Until(at))
	}
	return 0
}
