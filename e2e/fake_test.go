package e2e

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"

	"crest"
	"crest/web"
)

// fake is a server that holds the lists a test gives it and serves them, with the page, as Crest does.
type fake struct {
	*httptest.Server

	mu       sync.Mutex
	lists    []crest.List
	sizes    []int
	maxAge   int // seconds
	status   int // when not 0, every read is answered with it
	code     crest.Code
	cut      bool   // connections are dropped unanswered
	instead  string // when not empty, what every read is answered with
	grades   string // JSON of the grades of every list, with commas between them
	answered map[string]int
	queries  []url.Values
}

func newFake(t *testing.T, lists ...crest.List) *fake {
	t.Helper()
	f := &fake{lists: lists, sizes: []int{10, 100, 1000}, maxAge: 1, answered: map[string]int{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/top", f.top)
	mux.HandleFunc("GET /v1/lists", f.all)
	mux.HandleFunc("GET /v1/grades", f.graded)
	page := http.FileServerFS(web.FS())
	mux.HandleFunc("GET /", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", web.ContentSecurityPolicy)
		page.ServeHTTP(w, r)
	})
	f.Server = httptest.NewServer(mux)
	t.Cleanup(f.Close)
	return f
}

// change edits the fake's state while requests may be under way.
func (f *fake) change(edit func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	edit()
}

// put replaces the list of l's board and window.
func (f *fake) put(l crest.List) {
	f.change(func() {
		for i := range f.lists {
			if f.lists[i].Board == l.Board && f.lists[i].Window == l.Window {
				f.lists[i] = l
				return
			}
		}
		f.lists = append(f.lists, l)
	})
}

// seen returns how many reads were answered with this status.
func (f *fake) seen(path string, status int) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.answered[fmt.Sprint(path, " ", status)]
}

func (f *fake) top(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.refused(w) {
		return
	}
	query := r.URL.Query()
	f.queries = append(f.queries, query)
	l, ok := f.find(query)
	if !ok {
		f.fail(w, r, http.StatusNotFound, crest.Errorf(crest.CodeUnknownWindow, "window", "no list is called that; there is 1m, 1h"))
		return
	}
	k := 10
	if s := query.Get("k"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 || n > 1000 {
			f.fail(w, r, http.StatusBadRequest, crest.Errorf(crest.CodeInvalidK, "k", "must be one of 10, 100, 1000"))
			return
		}
		k = n
	}
	sliced := l.Slice(k)
	body, err := json.Marshal(sliced)
	if err != nil {
		f.fail(w, r, http.StatusInternalServerError, crest.Errorf(crest.CodeInternal, "", "%v", err))
		return
	}
	f.serve(w, r, body)
}

func (f *fake) find(query url.Values) (crest.List, bool) {
	for _, l := range f.lists {
		if query.Get("type") != "" && l.Type != query.Get("type") || query.Get("window") != "" && l.Window != query.Get("window") {
			continue
		}
		board := l.Type
		for _, d := range []string{"category", "region"} {
			if v := query.Get(d); v != "" {
				board += "/" + d + "=" + v
			}
		}
		if l.Board == board {
			return l, true
		}
	}
	return crest.List{}, false
}

func (f *fake) all(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.refused(w) {
		return
	}
	entries := []map[string]any{}
	for _, l := range f.lists {
		entries = append(entries, map[string]any{
			"type": l.Type, "board": l.Board, "window": l.Window, "version": l.Version, "as_of": l.AsOf.Time(),
			"sizes": f.sizes, "entries": len(l.Top), "stale": l.Stale,
		})
	}
	windows := []map[string]any{{"name": "1m", "refresh_seconds": 10}, {"name": "1h", "refresh_seconds": 60}}
	types := []map[string]any{
		{"name": "video", "boards": [][]string{}},
		{"name": "article", "boards": [][]string{{"category"}, {"region"}, {"category", "region"}}},
	}
	body, err := json.Marshal(map[string]any{"lists": entries, "windows": windows, "types": types})
	if err != nil {
		panic(err)
	}
	f.serve(w, r, body)
}

func (f *fake) graded(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.refused(w) {
		f.serve(w, r, []byte(`{"grades":[`+f.grades+`],"next":null}`))
	}
}

func (f *fake) serve(w http.ResponseWriter, r *http.Request, body []byte) {
	hash := fnv.New64a()
	_, _ = hash.Write(body)
	tag := fmt.Sprintf(`"%x"`, hash.Sum64())
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("Cache-Control", fmt.Sprintf("public, max-age=%d, stale-while-revalidate=30", f.maxAge))
	w.Header().Set("ETag", tag)
	status := http.StatusOK
	if strings.Contains(r.Header.Get("If-None-Match"), tag) {
		status = http.StatusNotModified
	}
	f.answered[fmt.Sprint(r.URL.Path, " ", status)]++
	w.WriteHeader(status)
	if status == http.StatusOK {
		_, _ = w.Write(body)
	}
}

// refused answers the request if the fake is to be down.
func (f *fake) refused(w http.ResponseWriter) bool {
	switch {
	case f.cut:
		panic(http.ErrAbortHandler)
	case f.instead != "":
		_, _ = w.Write([]byte(f.instead))
		return true
	case f.status != 0:
		w.WriteHeader(f.status)
		_ = json.NewEncoder(w).Encode(map[string]any{"error": crest.Errorf(f.code, "", "no list has been built yet")})
		return true
	}
	return false
}

func (f *fake) fail(w http.ResponseWriter, r *http.Request, status int, e *crest.Error) {
	f.answered[fmt.Sprint(r.URL.Path, " ", status)]++
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"error": e})
}
