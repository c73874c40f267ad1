package httpapi

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"crest"
	"crest/internal/config"
	"crest/internal/grade"
)

// Grades is where the read edge finds grades.
type Grades interface {
	Read(f grade.Filter) (grade.Answer, error)
}

// The hours that one answer has, unless asked for more, and at most.
const (
	commonGradeHours = 24
	maxGradeHours    = 200
)

// gradesRoutes adds GET /v1/grades. grades may be nil: then there are none.
func gradesRoutes(mux *http.ServeMux, grades Grades, cfg *config.Config) {
	e := &gradesEdge{grades: grades, choice: newChoice(cfg)}
	mux.HandleFunc("GET /v1/grades", e.answer)
	mux.HandleFunc("OPTIONS /v1/grades", preflight)
	mux.HandleFunc("/v1/grades", methodNotAllowed("GET, HEAD, OPTIONS"))
}

type gradesEdge struct {
	grades Grades
	choice choice
}

// gradesJSON is the answer to GET /v1/grades.
type gradesJSON struct {
	Grades  []grade.Grade `json:"grades"`
	Next    *time.Time    `json:"next"`              // null when there is no more
	Damaged []time.Time   `json:"damaged,omitempty"` // hours whose grades can't be read
}

func (e *gradesEdge) answer(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Access-Control-Expose-Headers", "ETag")
	f, err := e.filter(r.URL.RawQuery)
	if err != nil {
		writeError(w, err)
		return
	}
	found := grade.Answer{Grades: []grade.Grade{}}
	if e.grades != nil {
		if found, err = e.grades.Read(f); err != nil {
			writeError(w, err)
			return
		}
	}
	answer := gradesJSON{Grades: found.Grades, Next: timeOrNull(found.Next)}
	for _, d := range found.Damaged {
		answer.Damaged = append(answer.Damaged, d.Hour.Time())
	}
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(answer); err != nil {
		writeError(w, err)
		return
	}
	sum := sha256.Sum256(body.Bytes())
	etag := fmt.Sprintf(`"%x"`, sum[:12])
	h.Set("Cache-Control", "public, max-age=60, stale-while-revalidate=30")
	h.Set("Etag", etag)
	h.Set("X-Content-Type-Options", "nosniff")
	if matches(r.Header["If-None-Match"], etag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Type", "application/json; charset=utf-8")
	h.Set("Content-Length", strconv.Itoa(body.Len()))
	_, _ = w.Write(body.Bytes())
}

// filter reads the query of GET /v1/grades. A parameter without a value is as good as none.
func (e *gradesEdge) filter(raw string) (grade.Filter, error) {
	f := grade.Filter{Limit: commonGradeHours}
	values, err := parseOnce(raw, []string{"board", "window", "from", "to", "limit"})
	if err != nil {
		return f, err
	}
	if f.Board = values.Get("board"); f.Board != "" {
		if err := e.checkBoard(f.Board); err != nil {
			return f, err
		}
	}
	if f.Window = values.Get("window"); f.Window != "" {
		var q query
		if err := e.choice.setWindow(&q, f.Window); err != nil {
			return f, err
		}
	}
	if f.From, err = momentOf("from", values.Get("from")); err != nil {
		return f, err
	}
	if f.To, err = momentOf("to", values.Get("to")); err != nil {
		return f, err
	}
	if f.To != 0 && f.To <= f.From {
		return f, crest.Errorf(crest.CodeInvalidParameter, "to", "must be after from")
	}
	if limit := values.Get("limit"); limit != "" {
		if f.Limit, err = strconv.Atoi(limit); err != nil || f.Limit < 1 || f.Limit > maxGradeHours {
			return f, crest.Errorf(crest.CodeInvalidParameter, "limit", "is %.80q; it must be a number of hours from 1 to %d", limit, maxGradeHours)
		}
	}
	return f, nil
}

func (e *gradesEdge) checkBoard(board string) error {
	if e.choice.serves(board) {
		return nil
	}
	var shapes []string
	for i := range e.choice.types {
		shapes = append(shapes, boardShapes(&e.choice.types[i])...)
	}
	return withValid(crest.Errorf(crest.CodeUnknownBoard, "board", "is %.80q; the boards are %s", board, strings.Join(shapes, ", ")), shapes)
}

// momentOf reads a moment of a query, 0 when there is none.
func momentOf(name, value string) (crest.Millis, error) {
	if value == "" {
		return 0, nil
	}
	t, err := time.Parse(time.RFC3339, value)
	if err != nil || t.Year() < 1970 {
		return 0, crest.Errorf(crest.CodeInvalidParameter, name, "is %.80q; write a moment as 2026-11-30T09:00:00Z", value)
	}
	return crest.MillisOf(t), nil
}
