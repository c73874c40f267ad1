package httpapi

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"crest"
)

// publicMux is a public handler with all of its routes and no lists.
func publicMux(t *testing.T) http.Handler {
	t.Helper()
	return newNode(t, "shares").handler
}

func TestHealthAndReadiness(t *testing.T) {
	n := newNode(t, "views")
	if w := n.get(t, "/healthz"); w.Code != 200 || w.Header().Get("Cache-Control") != "no-store" {
		t.Errorf("healthz: %d", w.Code)
	}
	if w := n.get(t, "/readyz"); w.Code != 503 || !strings.Contains(w.Body.String(), `"not_ready"`) || w.Header().Get("Retry-After") == "" {
		t.Errorf("without lists: %d %s", w.Code, w.Body)
	}
	n.publish(t, "hashtag", "24h", 1)
	if w := n.get(t, "/readyz"); w.Code != 200 {
		t.Errorf("with a list: %d %s", w.Code, w.Body)
	}
	n.ready = errors.New("the log is being replayed")
	if w := n.get(t, "/readyz"); w.Code != 503 || !strings.Contains(w.Body.String(), "replayed") || !strings.Contains(w.Body.String(), `"not_ready"`) {
		t.Errorf("not ready: %d %s", w.Code, w.Body)
	}
	n.ready = crest.Errorf(crest.CodeBehind, "", "the log is full")
	if w := n.get(t, "/readyz"); w.Code != 503 || !strings.Contains(w.Body.String(), `"not_ready"`) {
		t.Errorf("for a reason with a code of its own: %d %s", w.Code, w.Body)
	}
}

func TestOpenAPIIsServed(t *testing.T) {
	n := newNode(t, "views")
	for path, want := range map[string]string{"/openapi.yaml": "openapi: 3.1.0", "/openapi.json": `{`} {
		if w := n.get(t, path); w.Code != 200 || !strings.HasPrefix(w.Body.String(), want) {
			t.Errorf("%s: %d %.100s", path, w.Code, w.Body)
		}
	}
}

func TestNothingThere(t *testing.T) {
	n := newNode(t, "views")
	for _, path := range []string{"/", "/v1", "/v1/nothing", "/favicon.ico", "/v1/shares"} {
		w := httptest.NewRecorder()
		n.handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		if w.Code != 404 || !strings.Contains(w.Body.String(), `"not_found"`) {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}

func TestPage(t *testing.T) {
	n := newNode(t, "views")
	page := fstest.MapFS{
		"index.html": {Data: []byte("<!doctype html><title>Crest</title>")}, "js/app.js": {Data: []byte("export {}")}, "icon.svg": {Data: []byte("<svg/>")},
	}
	h, err := NewPublic(Public{Config: &n.config, Lists: n.store, Page: page, PagePolicy: "default-src 'self'"})
	if err != nil {
		t.Fatal(err)
	}
	ask := func(method, path string, headers ...string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, path, nil)
		for i := 0; i < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	for path, contentType := range map[string]string{
		"/": "text/html", "/index.html": "text/html", "/js/app.js": "text/javascript", "/icon.svg": "image/svg+xml",
	} {
		w := ask(http.MethodGet, path)
		if w.Code != 200 || !strings.HasPrefix(w.Header().Get("Content-Type"), contentType) || w.Body.Len() == 0 ||
			w.Header().Get("Content-Security-Policy") != "default-src 'self'" || w.Header().Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %d %v", path, w.Code, w.Header())
		}
		if again := ask(http.MethodGet, path, "If-None-Match", w.Header().Get("Etag")); again.Code != 304 {
			t.Errorf("%s again: %d", path, again.Code)
		}
		if head := ask(http.MethodHead, path); head.Code != 200 || head.Body.Len() != 0 {
			t.Errorf("HEAD %s: %d", path, head.Code)
		}
	}
	for _, path := range []string{"/js", "/js/", "/nothing.html", "/../index.html", "/js/../index.html", "//index.html"} {
		if w := ask(http.MethodGet, path); w.Code == 200 {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	if w := ask(http.MethodPost, "/"); w.Code != 405 {
		t.Errorf("POST /: %d", w.Code)
	}
	if w := ask(http.MethodGet, "/v1/top"); w.Code != 200 {
		t.Errorf("the page hides the API: %d", w.Code)
	}
}

// TestAPanicReachesNobody lets handlers panic before and amid their answer, over a real connection.
func TestAPanicReachesNobody(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /before", func(http.ResponseWriter, *http.Request) { panic("secret") })
	mux.HandleFunc("GET /amid", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, "half an")
		panic("secret")
	})
	mux.HandleFunc("GET /fine", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "fine") })
	type call struct {
		route  string
		status int
	}
	answered, panicked := make(chan call, 8), make(chan call, 8)
	server := httptest.NewServer(observe(mux, Observer{
		Answered: func(route string, status int, _ time.Duration) { answered <- call{route, status} },
		Panicked: func(route string, value any, stack []byte) {
			if value != "secret" || !strings.Contains(string(stack), "server_test.go") {
				t.Errorf("got %v, %s", value, stack)
			}
			panicked <- call{route, 0}
		},
	}))
	defer server.Close()
	get := func(path string) (status int, body string, err error) {
		response, err := server.Client().Get(server.URL + path)
		if err != nil {
			return 0, "", err
		}
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		return response.StatusCode, string(text), err
	}
	status, body, err := get("/before")
	if err != nil || status != 500 || !strings.Contains(body, `"internal"`) || strings.Contains(body, "secret") {
		t.Errorf("before: %d %s %v", status, body, err)
	}
	if _, body, err := get("/amid"); err == nil {
		t.Errorf("amid: half an answer passes for a whole: %q", body)
	}
	if _, body, err := get("/fine"); err != nil || body != "fine" {
		t.Errorf("afterwards: %q, %v", body, err)
	}
	for _, want := range []call{{"GET /before", 500}, {"GET /fine", 200}} {
		if got := <-answered; got != want {
			t.Errorf("answered %v, want %v", got, want)
		}
	}
	if a, b := <-panicked, <-panicked; a.route != "GET /before" || b.route != "GET /amid" {
		t.Errorf("panicked: %v, %v", a, b)
	}
}

func TestAdmin(t *testing.T) {
	n := newNode(t, "views")
	h := NewAdmin(Admin{
		Config: "preset: views\n", Ready: n.handler,
		Metrics: func() []Metric {
			return []Metric{
				single("crest_events_accepted_total", "Events\nthat were accepted.", Counter, 1234567),
				{Name: "crest_list_age_seconds", Help: `A \ is here.`, Kind: Gauge, Samples: []Sample{
					{Labels: []Label{{"board", `a"b\c`}, {"window", "1h"}}, Value: 0.25}, {Labels: []Label{{"board", "x"}}, Value: 3},
				}},
			}
		},
	})
	get := func(path string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		return w
	}
	want := `# HELP crest_events_accepted_total Events\nthat were accepted.
# TYPE crest_events_accepted_total counter
crest_events_accepted_total 1.234567e+06
# HELP crest_list_age_seconds A \\ is here.
# TYPE crest_list_age_seconds gauge
crest_list_age_seconds{board="a\"b\\c",window="1h"} 0.25
crest_list_age_seconds{board="x"} 3
`
	w := get("/metrics")
	if got := w.Body.String(); !strings.HasPrefix(got, want) || !strings.Contains(got, "\ngo_goroutines ") {
		t.Errorf("got %s", got)
	}
	if strings.Contains(w.Body.String(), "go_memory_mapped_bytes 0\n") || strings.Contains(w.Body.String(), "go_goroutines 0\n") {
		t.Errorf("the runtime's figures are missing: %s", w.Body)
	}
	for path, part := range map[string]string{
		"/": "/metrics", "/debug/config": "preset: views", "/debug/pprof/": "goroutine", "/debug/pprof/cmdline": "test", "/healthz": "ok",
	} {
		if w := get(path); w.Code != 200 || !strings.Contains(w.Body.String(), part) {
			t.Errorf("%s: %d %.200s", path, w.Code, w.Body)
		}
	}
	if w := get("/nothing"); w.Code != 404 {
		t.Errorf("/nothing: %d", w.Code)
	}
}

func TestAPanicOfTheOperatorsEndpointsIsTold(t *testing.T) {
	told := ""
	h := NewAdmin(Admin{
		Metrics:  func() []Metric { panic("secret") },
		Panicked: func(route string, value any, _ []byte) { told = fmt.Sprint(route, ": ", value) },
	})
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if w.Code != http.StatusInternalServerError || strings.Contains(w.Body.String(), "secret") || told != "GET /metrics: secret" {
		t.Errorf("got %d %s, told %q", w.Code, w.Body, told)
	}
}
