package httpapi

import (
	"context"
	"net/http"
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
	values, err := parseOnce(raw, []string{"type", "id", "board"})
	if err != nil {
		return board, "", "", err
	}
	typ, name := values.Get("type"), values.Get("board")
	if name == "" {
		name = typ
	}
	board, t, err := e.choice.boardOf(name)
	switch {
	case err != nil:
		return board, "", "", err
	case typ != "" && typ != board.Type:
		return board, "", "", crest.Errorf(crest.CodeInvalidParameter, "board", "is %.200q, which is no board of type %.80q", name, typ)
	}
	asked = values.Get("id")
	id, err = itemOf(t, asked)
	return board, id, asked, err
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
