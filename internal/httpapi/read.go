package httpapi

import (
	"net/http"
	"strconv"
	"time"

	"crest"
	"crest/internal/config"
	"crest/internal/list"
)

// Lists is where the read edge finds lists. Its methods must not block.
type Lists interface {
	// Current returns the newest list of a board and window, nil when there has been none.
	Current(board, window string) *list.Published
	// All returns all current lists.
	All() []*list.Published
}

// readRoutes adds the read edge: GET /v1/top and GET /v1/lists. Its answers may be read by pages of any origin.
// The configuration must be valid; now is the clock.
func readRoutes(mux *http.ServeMux, lists Lists, cfg *config.Config, now func() time.Time) {
	e := newReadEdge(lists, cfg, now)
	for path, handler := range map[string]http.HandlerFunc{"/v1/top": e.top, "/v1/lists": e.catalogue} {
		mux.HandleFunc("GET "+path, handler)
		mux.HandleFunc("OPTIONS "+path, preflight)
		mux.HandleFunc(path, methodNotAllowed("GET, HEAD, OPTIONS"))
	}
}

// preflight answers a browser that asks whether a page of another origin may send If-None-Match.
func preflight(w http.ResponseWriter, _ *http.Request) {
	h := w.Header()
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Access-Control-Allow-Methods", "GET, HEAD")
	h.Set("Access-Control-Allow-Headers", "If-None-Match")
	h.Set("Access-Control-Max-Age", "86400")
	w.WriteHeader(http.StatusNoContent)
}

// readEdge answers from lists that others have made: it counts nothing, merges nothing and ranks nothing.
type readEdge struct {
	lists   Lists
	now     func() time.Time
	choice  choice
	headers map[string]*readHeaders // by window
}

// readHeaders are the headers of a window's lists that are the same in every answer. They are shared by all answers,
// and never written to.
type readHeaders struct {
	contentType, nosniff, vary, cacheControl, origin, expose, gzip, zstd []string
}

func newReadEdge(lists Lists, cfg *config.Config, now func() time.Time) *readEdge {
	e := &readEdge{lists: lists, now: now, choice: newChoice(cfg), headers: map[string]*readHeaders{}}
	for _, w := range cfg.Windows {
		e.headers[w.Name] = &readHeaders{
			contentType:  []string{"application/json; charset=utf-8"},
			nosniff:      []string{"nosniff"},
			vary:         []string{"Accept-Encoding"},
			cacheControl: []string{cacheControl(w)},
			origin:       []string{"*"},
			expose:       []string{"ETag"},
			gzip:         []string{"gzip"},
			zstd:         []string{"zstd"},
		}
	}
	return e
}

// top answers GET /v1/top.
func (e *readEdge) top(w http.ResponseWriter, r *http.Request) {
	q, err := e.choice.parse(r.URL.RawQuery)
	if err != nil {
		e.refuse(w, err)
		return
	}
	p := e.lists.Current(q.board, q.window.Name)
	if p == nil {
		e.topWithoutList(w, &q)
		return
	}
	body, encoding, etag := p.Body(q.k, negotiate(r.Header["Accept-Encoding"]))
	h := w.Header()
	c := e.setHeaders(h, q.window.Name)
	h["Etag"] = []string{etag}
	if matches(r.Header["If-None-Match"], etag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h["Content-Type"] = c.contentType
	switch encoding {
	case "gzip":
		h["Content-Encoding"] = c.gzip
	case "zstd":
		h["Content-Encoding"] = c.zstd
	}
	h["Content-Length"] = []string{strconv.Itoa(len(body))}
	// A reader that has gone can't be told, and it is nobody else's trouble.
	_, _ = w.Write(body)
}

// setHeaders sets the headers that an answer has with and without a body.
func (e *readEdge) setHeaders(h http.Header, window string) *readHeaders {
	c := e.headers[window]
	h["X-Content-Type-Options"] = c.nosniff
	h["Vary"] = c.vary
	h["Cache-Control"] = c.cacheControl
	h["Access-Control-Allow-Origin"] = c.origin
	h["Access-Control-Expose-Headers"] = c.expose
	return c
}

// topWithoutList answers for a board and window of which no list has been made yet. A type's board, and a narrowed one
// that has had events, get an empty list that says why; a narrowed board without any does not exist.
func (e *readEdge) topWithoutList(w http.ResponseWriter, q *query) {
	if len(q.narrow) > 0 && !e.exists(q.board) {
		e.refuse(w, crest.Errorf(crest.CodeUnknownBoard, "",
			"there is no board %q: no event of these dimensions has been counted; GET /v1/lists names the boards there are", q.board))
		return
	}
	now := crest.MillisOf(e.now())
	l := crest.List{
		Type: q.typ.Name, Window: q.window.Name, Board: q.board, K: q.k, GeneratedAt: now, From: q.window.From(now),
		AsOf: now, Dedup: crest.DedupFull, Short: crest.ShortWarmingUp, IDField: q.typ.IDField,
	}
	h := w.Header()
	h["Content-Type"] = e.setHeaders(h, q.window.Name).contentType
	h.Set("Cache-Control", "public, max-age=1")
	body := l.AppendJSON(nil)
	h["Content-Length"] = []string{strconv.Itoa(len(body))}
	_, _ = w.Write(body)
}

// exists reports whether there is a list of the board for any window.
func (e *readEdge) exists(board string) bool {
	for i := range e.choice.windows {
		if e.lists.Current(board, e.choice.windows[i].Name) != nil {
			return true
		}
	}
	return false
}

// refuse answers with an error that pages of other origins may read.
func (e *readEdge) refuse(w http.ResponseWriter, err error) {
	w.Header().Set("Access-Control-Allow-Origin", "*")
	writeError(w, err)
}
