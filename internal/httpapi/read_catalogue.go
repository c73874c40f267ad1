package httpapi

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"crest"
	"crest/internal/list"
)

// catalogueJSON is the answer to GET /v1/lists.
type catalogueJSON struct {
	Types      []typeJSON      `json:"types"`
	Windows    []windowJSON    `json:"windows"`
	Dimensions []dimensionJSON `json:"dimensions"`
	Sizes      []int           `json:"sizes,omitempty"`
	MaxK       int             `json:"max_k"`
	DefaultK   int             `json:"default_k"`
	Lists      []entryJSON     `json:"lists"`
}

type typeJSON struct {
	Name    string     `json:"name"`
	IDField string     `json:"id_field"`
	Boards  [][]string `json:"boards"`
}

type windowJSON struct {
	Name           string  `json:"name"`
	Seconds        float64 `json:"seconds"` // 0 for all time
	RefreshSeconds float64 `json:"refresh_seconds"`
}

type dimensionJSON struct {
	Name   string   `json:"name"`
	Values []string `json:"values,omitempty"`
}

// entryJSON is one list of the catalogue: where it is, and its labels.
type entryJSON struct {
	Type         string      `json:"type"`
	Board        string      `json:"board"`
	Window       string      `json:"window"`
	URL          string      `json:"url"`
	Sizes        []int       `json:"sizes,omitempty"`
	MaxK         int         `json:"max_k"`
	Version      string      `json:"version,omitempty"`
	GeneratedAt  *time.Time  `json:"generated_at"`
	From         *time.Time  `json:"from"`
	AsOf         *time.Time  `json:"as_of"`
	ExactUntil   *time.Time  `json:"exact_until"`
	Entries      int         `json:"entries"`
	MaxOverCount uint64      `json:"max_overcount"`
	Proven       int         `json:"proven"`
	Cutoff       uint64      `json:"cutoff"`
	Stale        bool        `json:"stale"`
	Total        uint64      `json:"total"`
	Other        uint64      `json:"other"`
	Duplicates   uint64      `json:"duplicates"`
	Dedup        crest.Dedup `json:"dedup"`
	Late         uint64      `json:"late"`
	Short        crest.Short `json:"short,omitempty"`
}

// catalogue answers GET /v1/lists: what can be asked for, and every list there is. A type's lists are in it from the
// beginning, so that a page can offer them while they warm up.
func (e *readEdge) catalogue(w http.ResponseWriter, r *http.Request) {
	if r.URL.RawQuery != "" {
		e.refuse(w, crest.Errorf(crest.CodeInvalidParameter, "", "GET /v1/lists has no parameters"))
		return
	}
	all := e.lists.All()
	c := catalogueJSON{
		Types: []typeJSON{}, Windows: []windowJSON{}, Dimensions: []dimensionJSON{}, Lists: []entryJSON{},
		Sizes: e.choice.sizes, MaxK: e.choice.maxK, DefaultK: e.choice.defaultK,
	}
	for _, t := range e.choice.types {
		entries := crest.List{IDField: t.IDField}
		c.Types = append(c.Types, typeJSON{Name: t.Name, IDField: entries.IDName(), Boards: notNil(t.Boards)})
		c.Lists = append(c.Lists, e.listsOfType(t.Name, t.IDField, all)...)
	}
	for _, w := range e.choice.windows {
		c.Windows = append(c.Windows, windowJSON{Name: w.Name, Seconds: w.Length.Seconds(), RefreshSeconds: w.Refresh.Seconds()})
	}
	for _, d := range e.choice.dimensions {
		c.Dimensions = append(c.Dimensions, dimensionJSON{Name: d.Name, Values: d.Values})
	}
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false) // addresses stay readable
	if err := encoder.Encode(c); err != nil {
		e.refuse(w, err)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "application/json; charset=utf-8")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "public, max-age=1")
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Content-Length", strconv.Itoa(body.Len()))
	_, _ = w.Write(body.Bytes())
}

// listsOfType returns a type's own board for every window, made or not, and then its narrowed boards.
func (e *readEdge) listsOfType(name, idField string, all []*list.Published) []entryJSON {
	var entries []entryJSON
	for _, w := range e.choice.windows {
		l := &crest.List{Type: name, Board: name, Window: w.Name, Dedup: crest.DedupFull, Short: crest.ShortWarmingUp, IDField: idField}
		if p := e.lists.Current(name, w.Name); p != nil {
			l = p.List()
		}
		entries = append(entries, e.entry(l))
	}
	for _, p := range all {
		if l := p.List(); l.Type == name && l.Board != name {
			entries = append(entries, e.entry(l))
		}
	}
	return entries
}

func (e *readEdge) entry(l *crest.List) entryJSON {
	return entryJSON{
		Type: l.Type, Board: l.Board, Window: l.Window, URL: listURL(l), Sizes: e.choice.sizes, MaxK: e.choice.maxK,
		Version: l.Version, GeneratedAt: timeOrNull(l.GeneratedAt), From: timeOrNull(l.From), AsOf: timeOrNull(l.AsOf),
		ExactUntil: timeOrNull(l.ExactUntil), Entries: len(l.Top), MaxOverCount: l.MaxOverCount, Proven: l.Proven,
		Cutoff: l.Cutoff, Stale: l.Stale, Total: l.Total, Other: l.Other, Duplicates: l.Duplicates, Dedup: l.Dedup,
		Late: l.Late, Short: l.Short,
	}
}

// listURL returns the list's address, relative to the server.
func listURL(l *crest.List) string {
	query := []string{"type=" + url.QueryEscape(l.Type), "window=" + url.QueryEscape(l.Window)}
	for _, narrow := range strings.Split(l.Board, "/")[1:] {
		dimension, value, _ := strings.Cut(narrow, "=")
		query = append(query, url.QueryEscape(dimension)+"="+url.QueryEscape(value))
	}
	return "/v1/top?" + strings.Join(query, "&")
}

func timeOrNull(m crest.Millis) *time.Time {
	if m == 0 {
		return nil
	}
	return new(m.Time())
}

func notNil(boards [][]string) [][]string {
	if boards == nil {
		return [][]string{}
	}
	return slices.Clip(boards)
}
