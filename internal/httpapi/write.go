package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"crest"
	"crest/internal/config"
	"crest/internal/ingest"
)

// Ingester takes the events of a request; see [ingest.Ingester].
type Ingester interface {
	Ingest(ctx context.Context, req ingest.Request) (ingest.Result, error)
}

// WriteConfig limits the write edge.
type WriteConfig struct {
	MaxBody         int64 // bytes as sent
	MaxDecompressed int64 // bytes after gzip or zstd
	MaxInFlight     int64 // bytes of all bodies being worked on; more are told to come again
	ShareType       string
	Failed          func(err error) // told of requests that failed on this side; may be nil
}

// inFlightBodies is how many of the largest bodies may be worked on at once.
const inFlightBodies = 8

// WriteConfigOf returns the limits of a valid configuration.
func WriteConfigOf(c *config.Config) WriteConfig {
	w := WriteConfig{
		MaxBody:         int64(c.Ingest.MaxBody),
		MaxDecompressed: int64(c.Ingest.MaxDecompressed),
		MaxInFlight:     inFlightBodies * int64(c.Ingest.MaxBody+c.Ingest.MaxDecompressed),
	}
	if c.Ingest.Shares {
		w.ShareType = c.Types[0].Name
	}
	return w
}

// WriteRoutes adds POST /v1/events, and, when there is a type of shares, POST /v1/shares for one of them and
// POST /v1/shares:batch for many.
func WriteRoutes(mux *http.ServeMux, in Ingester, cfg WriteConfig) {
	newWriter(in, cfg).routes(mux, cfg.ShareType)
}

// writer is the write edge.
type writer struct {
	ingester Ingester
	bodies   *bodies
	failed   func(error)
}

func newWriter(in Ingester, cfg WriteConfig) *writer {
	return &writer{ingester: in, bodies: newBodies(cfg), failed: cfg.Failed}
}

func (w *writer) routes(mux *http.ServeMux, shareType string) {
	post := func(path string, req ingest.Request) {
		mux.HandleFunc("POST "+path, func(rw http.ResponseWriter, r *http.Request) { w.serve(rw, r, req) })
		mux.HandleFunc(path, methodNotAllowed(http.MethodPost))
	}
	post("/v1/events", ingest.Request{})
	if shareType != "" {
		post("/v1/shares", ingest.Request{Type: shareType, Single: true})
		post("/v1/shares:batch", ingest.Request{Type: shareType})
	}
}

// writeAnswer is the JSON of an answer to events. When none was accepted, Error says so too, for clients that look at
// nothing else.
type writeAnswer struct {
	Accepted int         `json:"accepted"`
	Rejected int         `json:"rejected"`
	Clamped  int         `json:"clamped"`
	Errors   []eventJSON `json:"errors"`
	Ignored  []string    `json:"ignored_fields,omitempty"`
	Error    *errorJSON  `json:"error,omitempty"`
}

// eventJSON is the JSON of a refused event.
type eventJSON struct {
	Index int `json:"index"`
	errorJSON
}

func (w *writer) serve(rw http.ResponseWriter, r *http.Request, req ingest.Request) {
	result, err := w.take(rw, r, req)
	if err != nil {
		if w.failed != nil && statusOf(publicError(err).Code) >= http.StatusInternalServerError {
			w.failed(err)
		}
		writeError(rw, err)
		return
	}
	status, answer := answerTo(result)
	writeJSON(rw, status, answer)
}

// take reads a request's body and has its events taken.
func (w *writer) take(rw http.ResponseWriter, r *http.Request, req ingest.Request) (ingest.Result, error) {
	var err error
	if req.Ack, err = ackOf(r.URL.RawQuery); err != nil {
		return ingest.Result{}, err
	}
	if req.Format, err = ingest.FormatOf(r.Header.Get("Content-Type")); err != nil {
		return ingest.Result{}, err
	}
	body, err := w.bodies.read(rw, r)
	if err != nil {
		return ingest.Result{}, err
	}
	defer body.release()
	req.Body = body.bytes
	return w.ingester.Ingest(r.Context(), req)
}

// answerTo returns the answer to a request whose body could be used: 202 unless every event of it was refused.
func answerTo(result ingest.Result) (int, writeAnswer) {
	a := writeAnswer{
		Accepted: result.Accepted, Rejected: result.Rejected, Clamped: result.Clamped, Ignored: result.Ignored,
		Errors: make([]eventJSON, len(result.Rejections)),
	}
	for i, r := range result.Rejections {
		a.Errors[i] = eventJSON{Index: r.Index, errorJSON: toErrorJSON(r.Reason)}
	}
	if a.Accepted > 0 || a.Rejected == 0 {
		return http.StatusAccepted, a
	}
	first := a.Errors[0].errorJSON
	if a.Rejected > 1 {
		subject := ""
		if first.Field != "" {
			subject = first.Field + " "
		}
		first.Message = fmt.Sprintf("none of the %d events was accepted; what is wrong with the first: %s%s", a.Rejected, subject, first.Message)
	}
	a.Error = &first
	return http.StatusBadRequest, a
}

// ackOf reads the only parameter of the write edge, ack=logged or ack=enqueued.
func ackOf(query string) (config.Ack, error) {
	if query == "" {
		return "", nil
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return "", crest.Errorf(crest.CodeInvalidParameter, "", "the query can't be read: %.100v", err)
	}
	for name, given := range values {
		if name != "ack" {
			return "", withValid(crest.Errorf(crest.CodeInvalidParameter, "", "there is no parameter %.80q", name), []string{"ack"})
		}
		if len(given) > 1 {
			return "", crest.Errorf(crest.CodeInvalidParameter, name, "is there twice")
		}
	}
	switch ack := config.Ack(values.Get("ack")); ack {
	case config.AckLogged, config.AckEnqueued:
		return ack, nil
	default:
		valid := []string{string(config.AckLogged), string(config.AckEnqueued)}
		return "", withValid(crest.Errorf(crest.CodeInvalidParameter, "ack", "is %.80q; it can be %s", ack, strings.Join(valid, " or ")), valid)
	}
}
