package httpapi

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"crest"
	"crest/hashtag"
	"crest/internal/config"
	"crest/internal/explain"
)

// Explainer knows what counts are built from.
type Explainer interface {
	// Explain says what is known of an item, as it is counted, on a board. A board or an item that has had no events is no
	// error: its counts are 0.
	Explain(ctx context.Context, board crest.Board, item string) (explain.Explanation, error)
}

// Archive is where events are kept for the recount.
type Archive interface {
	// Commit returns when everything that the event log held at the call is in the archive.
	Commit(ctx context.Context) error
	// Watermark returns the received time before which everything is in the archive.
	Watermark() crest.Millis
}

// ExactAdmin is what the operator's endpoints of the exact path are made of.
type ExactAdmin struct {
	Config    *config.Config // a valid configuration
	Explainer Explainer      // nil for none
	Archive   Archive        // nil when events are not archived
}

// The times that an operator's question may take.
const (
	explainTimeout = 15 * time.Second
	commitTimeout  = time.Minute
)

// ExactRoutes adds GET /v1/explain and POST /v1/archive:commit to the operator's endpoints.
func ExactRoutes(mux *http.ServeMux, a ExactAdmin) {
	e := &exactEdge{ExactAdmin: a, choice: newChoice(a.Config)}
	mux.HandleFunc("GET /v1/explain", e.explain)
	mux.HandleFunc("/v1/explain", methodNotAllowed("GET"))
	// A page in the operator's browser must not be able to make the node work.
	own := http.NewCrossOriginProtection()
	mux.Handle("POST /v1/archive:commit", own.Handler(http.HandlerFunc(e.commit)))
	mux.HandleFunc("/v1/archive:commit", methodNotAllowed("POST"))
}

type exactEdge struct {
	ExactAdmin
	choice choice
}

// explain answers GET /v1/explain?type=&id=&board=.
func (e *exactEdge) explain(w http.ResponseWriter, r *http.Request) {
	if e.Explainer == nil {
		writeError(w, crest.Errorf(crest.CodeNotFound, "", "this node counts nothing that it could explain"))
		return
	}
	board, id, asked, err := e.question(r.URL.RawQuery)
	if err != nil {
		writeError(w, err)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), explainTimeout)
	defer cancel()
	answer, err := e.Explainer.Explain(ctx, board, id)
	if err != nil {
		writeError(w, operatorError(err))
		return
	}
	answer.Type, answer.Board, answer.ID = board.Type, board.String(), id
	if asked != id {
		answer.Asked = asked
	}
	writeJSON(w, http.StatusOK, answer)
}

// question reads whom an explanation is asked for: the board, the item as it is counted, and as it was asked for.
func (e *exactEdge) question(raw string) (board crest.Board, id, asked string, err error) {
	values, err := url.ParseQuery(raw)
	if err != nil {
		return board, "", "", crest.Errorf(crest.CodeInvalidParameter, "", "the query is not well-formed")
	}
	valid := []string{"type", "id", "board"}
	one := map[string]string{}
	for _, name := range valid {
		if len(values[name]) > 1 {
			return board, "", "", crest.Errorf(crest.CodeInvalidParameter, name, "is there twice")
		}
		one[name] = values.Get(name)
		delete(values, name)
	}
	for name := range values {
		return board, "", "", withValid(crest.Errorf(crest.CodeInvalidParameter, "", "there is no parameter %.80q", name), valid)
	}
	name := one["board"]
	if name == "" {
		name = one["type"]
	}
	board, t, err := e.choice.board(name)
	switch {
	case err != nil:
		return board, "", "", err
	case one["type"] != "" && one["type"] != board.Type:
		return board, "", "", crest.Errorf(crest.CodeInvalidParameter, "board", "is %.200q, which is no board of type %.80q", name, one["type"])
	}
	id, err = itemOf(t, one["id"])
	return board, id, one["id"], err
}

// board finds a board by its name, in whichever order that has the dimensions. An empty name is the first type's.
func (c *choice) board(name string) (crest.Board, *config.Type, error) {
	var q query
	if name == "" {
		name = c.types[0].Name
	}
	parts := strings.Split(name, "/")
	if err := c.setType(&q, parts[0]); err != nil {
		return crest.Board{}, nil, err
	}
	var values crest.Dimensions
	for _, part := range parts[1:] {
		dimension, value, ok := strings.Cut(part, "=")
		p := c.parameter(dimension)
		switch {
		case !ok || value == "" || p < parameterDimensions:
			return crest.Board{}, nil, withValid(crest.Errorf(crest.CodeUnknownBoard, "board", "is %.200q; %.80q names no dimension and value", name, part), boardShapes(q.typ))
		case values[p-parameterDimensions] != "":
			return crest.Board{}, nil, crest.Errorf(crest.CodeUnknownBoard, "board", "is %.200q, which has %s twice", name, dimension)
		}
		values[p-parameterDimensions] = value
	}
	if err := c.setBoard(&q, &values); err != nil {
		return crest.Board{}, nil, err
	}
	b := crest.Board{Type: q.typ.Name}
	for i, d := range c.dimensions {
		if values[i] != "" {
			b.Narrow = append(b.Narrow, crest.Narrowing{Dimension: d.Name, Value: values[i]})
		}
	}
	return b, q.typ, nil
}

// itemOf returns an item as it is counted.
func itemOf(t *config.Type, id string) (string, error) {
	if err := crest.CheckText("id", id, crest.MaxItemBytes); err != nil {
		return "", err
	}
	if t.Normalize != "hashtag" {
		return id, nil
	}
	normal := hashtag.Normalize(id)
	if normal == "" {
		return "", crest.Errorf(crest.CodeEmptyAfterNormalization, "id", "is %.80q, of which nothing is left after normalisation", id)
	}
	return normal, nil
}

// commit answers POST /v1/archive:commit with the received time before which everything is in the archive.
func (e *exactEdge) commit(w http.ResponseWriter, r *http.Request) {
	if e.Archive == nil {
		writeError(w, crest.Errorf(crest.CodeNotFound, "", "this node keeps no archive; set archive.enabled"))
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), commitTimeout)
	defer cancel()
	if err := e.Archive.Commit(ctx); err != nil {
		writeError(w, operatorError(err))
		return
	}
	writeJSON(w, http.StatusOK, Committed{Watermark: explain.Moment(e.Archive.Watermark())})
}

// Committed is the answer to POST /v1/archive:commit.
type Committed struct {
	Watermark explain.Moment `json:"watermark"` // everything received before is in the archive
}

// operatorError returns an error with its text, which the operator may know whatever it says.
func operatorError(err error) error {
	if e := publicError(err); e.Code != crest.CodeInternal {
		return e
	}
	return crest.Errorf(crest.CodeInternal, "", "%v", err)
}
