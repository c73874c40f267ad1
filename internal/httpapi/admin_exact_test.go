package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"crest"
	"crest/internal/config"
	"crest/internal/explain"
)

// fakeExplainer notes what it was asked.
type fakeExplainer struct {
	board crest.Board
	item  string
	err   error
}

func (f *fakeExplainer) Explain(_ context.Context, board crest.Board, item string) (explain.Explanation, error) {
	f.board, f.item = board, item
	return explain.Explanation{Shards: 64, Windows: []explain.Window{{Name: "1h", Estimate: explain.Estimated(12, 2)}}}, f.err
}

type fakeArchive struct {
	commits int
	err     error
}

func (f *fakeArchive) Commit(context.Context) error { f.commits++; return f.err }

func (f *fakeArchive) Watermark() crest.Millis { return 1_796_040_000_000 }

func exactAdmin(t *testing.T, preset string, e Explainer, a Archive) func(method, path string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	cfg, err := config.Preset(preset)
	if err != nil {
		t.Fatal(err)
	}
	h := NewAdmin(Admin{Exact: func(mux *http.ServeMux) { ExactRoutes(mux, ExactAdmin{Config: &cfg, Explainer: e, Archive: a}) }})
	return func(method, path string, headers ...string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, path, nil)
		for i := 0; i < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
}

func TestExplainNormalisesTheItemAndFindsTheBoard(t *testing.T) {
	for _, c := range []struct{ preset, query, board, item, asked string }{
		{"views", "type=hashtag&id=" + url.QueryEscape("#FooBar"), "hashtag", "foobar", "#FooBar"},
		{"views", "type=hashtag&id=foobar", "hashtag", "foobar", ""},
		{"views", "id=dQw4", "video", "dQw4", ""},
		{"views", "board=video&id=%23FooBar", "video", "#FooBar", ""},
		{"shares", "type=article&id=a1", "article", "a1", ""},
		{"shares", "type=article&board=article/category=sports&id=a1", "article/category=sports", "a1", ""},
		{"shares", "board=article/region=eu/category=sports&id=a1", "article/category=sports/region=eu", "a1", ""},
	} {
		var e fakeExplainer
		w := exactAdmin(t, c.preset, &e, nil)("GET", "/v1/explain?"+c.query)
		var got explain.Explanation
		if err := json.Unmarshal(w.Body.Bytes(), &got); w.Code != 200 || err != nil {
			t.Errorf("%s: %d %s, %v", c.query, w.Code, w.Body, err)
			continue
		}
		if got.Board != c.board || got.ID != c.item || got.Asked != c.asked || got.Windows[0].Lower != 10 {
			t.Errorf("%s: answered %+v", c.query, got)
		}
		if e.board.String() != c.board || e.item != c.item {
			t.Errorf("%s: asked for %q on %s", c.query, e.item, e.board)
		}
	}
}

func TestExplainRefuses(t *testing.T) {
	for _, c := range []struct {
		preset, query string
		status        int
		code          crest.Code
	}{
		{"views", "type=film&id=x", 404, crest.CodeUnknownType},
		{"views", "type=video", 400, crest.CodeMissingField},
		{"views", "type=hashtag&id=%23", 400, crest.CodeEmptyAfterNormalization},
		{"views", "type=video&id=a%00b", 400, crest.CodeControlChar},
		{"views", "type=video&id=" + strings.Repeat("x", 257), 400, crest.CodeTooLong},
		{"views", "type=video&id=x&k=3", 400, crest.CodeInvalidParameter},
		{"views", "type=video&type=hashtag&id=x", 400, crest.CodeInvalidParameter},
		{"views", "board=video/region=eu&id=x", 404, crest.CodeUnknownBoard},
		{"views", "id=%zz", 400, crest.CodeInvalidParameter},
		{"shares", "board=article/region&id=x", 404, crest.CodeUnknownBoard},
		{"shares", "board=article/region=&id=x", 404, crest.CodeUnknownBoard},
		{"shares", "board=article/colour=red&id=x", 404, crest.CodeUnknownBoard},
		{"shares", "board=article/type=x&id=x", 404, crest.CodeUnknownBoard},
		{"shares", "board=article/region=eu/region=us&id=x", 404, crest.CodeUnknownBoard},
		{"shares", "board=article/region=a=b&id=x", 400, crest.CodeOutOfRange},
		{"shares", "type=article&board=video&id=x", 404, crest.CodeUnknownType},
	} {
		w := exactAdmin(t, c.preset, &fakeExplainer{}, nil)("GET", "/v1/explain?"+c.query)
		if w.Code != c.status || !strings.Contains(w.Body.String(), `"`+string(c.code)+`"`) {
			t.Errorf("%s: %d %s", c.query, w.Code, w.Body)
		}
	}
	ask := exactAdmin(t, "views", nil, nil)
	if w := ask("GET", "/v1/explain?id=x"); w.Code != 404 {
		t.Errorf("without an explainer: %d %s", w.Code, w.Body)
	}
	if w := ask("POST", "/v1/explain?id=x"); w.Code != 405 || w.Header().Get("Allow") != "GET" {
		t.Errorf("POST: %d %s", w.Code, w.Body)
	}
	w := exactAdmin(t, "views", &fakeExplainer{err: errors.New("the counts of 09:00 can't be read")}, nil)("GET", "/v1/explain?id=x")
	if w.Code != 500 || !strings.Contains(w.Body.String(), "counts of 09:00") {
		t.Errorf("failing: %d %s", w.Code, w.Body)
	}
}

func TestArchiveCommit(t *testing.T) {
	var a fakeArchive
	ask := exactAdmin(t, "views", nil, &a)
	if w := ask("POST", "/v1/archive:commit"); w.Code != 200 || w.Body.String() != `{"watermark":"2026-11-30T12:00:00Z"}`+"\n" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := ask("GET", "/v1/archive:commit"); w.Code != 405 || w.Header().Get("Allow") != "POST" {
		t.Errorf("GET: %d %s", w.Code, w.Body)
	}
	if w := ask("POST", "/v1/archive:commit", "Origin", "https://elsewhere.example", "Sec-Fetch-Site", "cross-site"); w.Code != 403 {
		t.Errorf("from another site's page: %d %s", w.Code, w.Body)
	}
	if a.commits != 1 {
		t.Errorf("committed %d times", a.commits)
	}
	a.err = context.DeadlineExceeded
	if w := ask("POST", "/v1/archive:commit"); w.Code != 503 {
		t.Errorf("too slow: %d %s", w.Code, w.Body)
	}
	a.err = errors.New("disk full")
	if w := ask("POST", "/v1/archive:commit"); w.Code != 500 || !strings.Contains(w.Body.String(), "disk full") {
		t.Errorf("failing: %d %s", w.Code, w.Body)
	}
	if w := exactAdmin(t, "views", nil, nil)("POST", "/v1/archive:commit"); w.Code != 404 || !strings.Contains(w.Body.String(), "archive.enabled") {
		t.Errorf("without an archive: %d %s", w.Code, w.Body)
	}
}
