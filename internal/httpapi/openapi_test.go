package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/pb33f/libopenapi"
	validator "github.com/pb33f/libopenapi-validator"

	"crest"
	"crest/internal/ingest"
)

var updateOpenAPI = flag.Bool("update-openapi", false, "make openapi.json anew from openapi.yaml")

func TestOpenAPIIsOneDocumentTwice(t *testing.T) {
	compact, err := yaml.YAMLToJSON(openAPIYAML)
	if err != nil {
		t.Fatal(err)
	}
	var want bytes.Buffer
	if err := json.Indent(&want, bytes.TrimSpace(compact), "", "  "); err != nil {
		t.Fatal(err)
	}
	want.WriteByte('\n')
	if *updateOpenAPI {
		if err := os.WriteFile("openapi.json", want.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !bytes.Equal(openAPIJSON, want.Bytes()) {
		t.Error("openapi.json differs from openapi.yaml; run go test ./internal/httpapi -run OpenAPI -update-openapi")
	}
}

// contract checks requests and answers against the OpenAPI document. Making it takes a while, so tests share it.
var contract = sync.OnceValues(func() (validator.Validator, error) {
	document, err := libopenapi.NewDocument(openAPIYAML)
	if err != nil {
		return nil, err
	}
	v, errs := validator.NewValidator(document)
	if len(errs) > 0 {
		return nil, errs[0]
	}
	return v, nil
})

func TestOpenAPIIsValid(t *testing.T) {
	v, err := contract()
	if err != nil {
		t.Fatal(err)
	}
	if ok, errs := v.ValidateDocument(); !ok {
		for _, e := range errs {
			t.Error(e.Error())
			for _, s := range e.SchemaValidationErrors {
				t.Error("  ", s.Error())
			}
		}
	}
}

// checkContract checks that an answer is one that the document allows. Only a plain body can be read by the validator.
func checkContract(t *testing.T, r *http.Request, w *httptest.ResponseRecorder) {
	t.Helper()
	if r.Method == http.MethodOptions || w.Header().Get("Content-Encoding") != "" {
		return
	}
	v, err := contract()
	if err != nil {
		t.Fatal(err)
	}
	if r.Method == http.MethodHead || r.Method != http.MethodGet && w.Code == http.StatusMethodNotAllowed {
		return
	}
	if ok, errs := v.ValidateHttpResponse(r, w.Result()); !ok {
		for _, e := range errs {
			t.Errorf("%s %s: %s", r.Method, r.URL, e.Error())
			for _, s := range e.SchemaValidationErrors {
				t.Errorf("  %s", s.Error())
			}
		}
		t.Logf("answer: %d %.2000s", w.Code, w.Body)
	}
}

// TestTheContractNoticesMistakes shows that answers are checked at all.
func TestTheContractNoticesMistakes(t *testing.T) {
	v, err := contract()
	if err != nil {
		t.Fatal(err)
	}
	n := newNode(t, "views")
	n.publish(t, "video", "1m", 2)
	r := httptest.NewRequest(http.MethodGet, "/v1/top", nil)
	good := n.get(t, "/v1/top").Body.String()
	for name, change := range map[string][2]string{
		"a field less":       {`"late":0,`, ``},
		"a field more":       {`"late":0,`, `"late":0,"later":1,`},
		"another type":       {`"stale":false`, `"stale":"no"`},
		"no such value":      {`"few_items"`, `"lazy"`},
		"a negative count":   {`"count":20`, `"count":-20`},
		"an entry's id less": {`"id":"video-0000",`, ``},
		"nothing":            {`{`, `{`},
	} {
		w := httptest.NewRecorder()
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		body := strings.Replace(good, change[0], change[1], 1)
		if body == good && name != "nothing" {
			t.Fatalf("%s: the test no longer changes anything", name)
		}
		_, _ = w.WriteString(body)
		if ok, _ := v.ValidateHttpResponse(r, w.Result()); ok != (name == "nothing") {
			t.Errorf("%s: ok is %v", name, ok)
		}
	}
	w := httptest.NewRecorder()
	w.WriteHeader(http.StatusTeapot)
	if ok, _ := v.ValidateHttpResponse(r, w.Result()); ok {
		t.Error("a status that is not described passes")
	}
}

// cannedIngester answers every request alike.
type cannedIngester struct {
	result ingest.Result
	err    error
}

func (c *cannedIngester) Ingest(context.Context, ingest.Request) (ingest.Result, error) {
	return c.result, c.err
}

// TestWritesKeepTheContract holds requests of every form and answers of every kind against the document.
func TestWritesKeepTheContract(t *testing.T) {
	bad := ingest.Rejection{Index: 1, Reason: crest.Errorf(crest.CodeOutOfRange, "weight", "is -1")}
	n := newNode(t, "shares")
	canned := &cannedIngester{}
	mux := http.NewServeMux()
	WriteRoutes(mux, canned, WriteConfigOf(&n.config))
	v, err := contract()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		path, contentType, body string
		result                  ingest.Result
		err                     error
		want                    int
	}{
		{"/v1/events", "application/json", `{"item":"a","weight":2,"ts":1796035320}`, ingest.Result{Accepted: 1}, nil, 202},
		{"/v1/events", "application/json", `[{"item":"a","id":null},{"item":"b","dimensions":{"region":"eu"}}]`, ingest.Result{Accepted: 1, Rejected: 1, Clamped: 1, Rejections: []ingest.Rejection{bad}, Ignored: []string{"x"}}, nil, 202},
		{"/v1/events?ack=logged", "application/x-ndjson", `{"item":"a"}`, ingest.Result{Accepted: 1}, nil, 202},
		{"/v1/events", "application/x-protobuf", "\x0a\x03\x1a\x01a", ingest.Result{Accepted: 1}, nil, 202},
		{"/v1/shares", "application/json", `{"article_id":"a-17","category":"sports","region":"eu","ts":1796035320}`, ingest.Result{Accepted: 1}, nil, 202},
		{"/v1/shares", "application/json", `{"id":"i","session":"s","article_id":"a-17","region":null,"weight":2,"ts_ms":"2026-11-30T10:42:00Z"}`, ingest.Result{Accepted: 1}, nil, 202},
		{"/v1/shares", "application/x-protobuf", "\x0a\x03\x1a\x01a", ingest.Result{Accepted: 1}, nil, 202},
		{"/v1/shares:batch", "application/json", `{"article_id":"a-17"}`, ingest.Result{Accepted: 1}, nil, 202},
		{"/v1/shares:batch", "application/x-protobuf", "\x0a\x03\x1a\x01a", ingest.Result{Accepted: 1}, nil, 202},
		{"/v1/shares:batch?ack=enqueued", "application/json", `[{"article_id":"a-17"}]`, ingest.Result{Accepted: 1}, nil, 202},
		{"/v1/shares:batch", "application/json", `[{"article_id":"a-17"}]`, ingest.Result{Rejected: 1, Rejections: []ingest.Rejection{bad}}, nil, 400},
		{"/v1/shares", "application/json", `{"article_id":"a"}`, ingest.Result{}, crest.Errorf(crest.CodeMalformed, "", "ends early"), 400},
		{"/v1/events", "application/json", `[{"item":"a"}]`, ingest.Result{}, crest.Errorf(crest.CodeTooManyEvents, "", "has 10001"), 413},
		{"/v1/events", "application/json", `[{"item":"a"}]`, ingest.Result{}, crest.Errorf(crest.CodeBehind, "", "retry"), 429},
		{"/v1/events", "application/json", `[{"item":"a"}]`, ingest.Result{}, crest.Errorf(crest.CodeLogUnavailable, "", "retry"), 503},
		{"/v1/events", "application/json", `[{"item":"a"}]`, ingest.Result{}, errors.New("unknown"), 500},
	} {
		canned.result, canned.err = c.result, c.err
		r := httptest.NewRequest(http.MethodPost, c.path, strings.NewReader(c.body))
		r.Header.Set("Content-Type", c.contentType)
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		if w.Code != c.want {
			t.Errorf("%s %s: %d %s, want %d", c.path, c.body, w.Code, w.Body, c.want)
		}
		checkContract(t, r, w)
		if c.contentType != "application/json" { // the validator reads no other form
			continue
		}
		again := httptest.NewRequest(http.MethodPost, c.path, strings.NewReader(c.body))
		again.Header.Set("Content-Type", c.contentType)
		if ok, errs := v.ValidateHttpRequest(again); !ok {
			t.Errorf("%s %s: %v", c.path, c.body, errs[0])
		}
	}
	r := httptest.NewRequest(http.MethodPost, "/v1/events", strings.NewReader("a,b"))
	r.Header.Set("Content-Type", "text/csv")
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, r)
	if w.Code != 415 {
		t.Errorf("CSV: %d", w.Code)
	}
	checkContract(t, r, w)
}

// TestEveryPathOfTheContractIsServed asks for each method of each path: whatever comes, it must not be 404 for want of
// a handler, nor 405.
func TestEveryPathOfTheContractIsServed(t *testing.T) {
	var document struct {
		Paths map[string]map[string]struct {
			Responses map[string]any
		}
	}
	if err := json.Unmarshal(openAPIJSON, &document); err != nil {
		t.Fatal(err)
	}
	mux := publicMux(t)
	if len(document.Paths) < 9 {
		t.Fatalf("%d paths", len(document.Paths))
	}
	for path, methods := range document.Paths {
		for method, operation := range methods {
			w := httptest.NewRecorder()
			mux.ServeHTTP(w, httptest.NewRequest(strings.ToUpper(method), path, strings.NewReader("")))
			if w.Code == http.StatusMethodNotAllowed || strings.Contains(w.Body.String(), `"not_found"`) {
				t.Errorf("%s %s is not served: %d %s", method, path, w.Code, w.Body)
			}
			if _, described := operation.Responses["405"]; !described {
				t.Errorf("%s %s: 405 is not described", method, path)
			}
		}
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequest(http.MethodDelete, path, nil))
		if w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") == "" {
			t.Errorf("DELETE %s: %d, Allow %q", path, w.Code, w.Header().Get("Allow"))
		}
	}
}
