package httpapi

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"crest"
	"crest/internal/grade"
)

// cannedGrades notes what it is asked for and answers every request alike.
type cannedGrades struct {
	asked  []grade.Filter
	answer grade.Answer
	err    error
}

func (c *cannedGrades) Read(f grade.Filter) (grade.Answer, error) {
	c.asked = append(c.asked, f)
	return c.answer, c.err
}

// gradedNode is a node of the preset "shares" with grades.
func gradedNode(t *testing.T) (*node, *cannedGrades) {
	t.Helper()
	n := newNode(t, "shares")
	failed := grade.Compare(&crest.List{Board: "article", Window: "1h", AsOf: crest.MillisOf(asOf), K: 10, Top: []crest.Entry{{Rank: 1, ID: "<a>", Count: 5, Error: 1}}})
	failed.Add("<a>", 3, 0)
	failed.Add("b", 9, 4)
	canned := &cannedGrades{answer: grade.Answer{
		Grades: []grade.Grade{
			failed.Grade(0), grade.Compare(&crest.List{Board: "article", Window: "5m", AsOf: crest.MillisOf(asOf), K: 10}).Grade(crest.MillisOf(asOf)),
			{AsOf: asOf, Board: "article", Window: "24h", Missing: true, Reason: "no list", Faults: []grade.Fault{}, Examples: []grade.Finding{}},
		},
		Next: crest.MillisOf(asOf), Damaged: []grade.Damaged{{Hour: crest.MillisOf(asOf), Path: "/secret/path", Err: errors.New("is damaged")}},
	}}
	var err error
	if n.handler, err = NewPublic(Public{Config: &n.config, Lists: n.store, Grades: canned}); err != nil {
		t.Fatal(err)
	}
	return n, canned
}

func TestGrades(t *testing.T) {
	n, canned := gradedNode(t)
	w := n.get(t, "/v1/grades")
	var got gradesJSON
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != 200 {
		t.Fatalf("%d %s: %v", w.Code, w.Body, err)
	}
	if len(got.Grades) != 3 || !slices.Equal(got.Grades[0].Faults, []grade.Fault{grade.FaultRecall, grade.FaultAboveError, grade.FaultAboveCutoff}) || !got.Next.Equal(asOf) || len(got.Damaged) != 1 {
		t.Errorf("%+v", got)
	}
	if strings.Contains(w.Body.String(), "secret") || !strings.Contains(w.Body.String(), `"<a>"`) {
		t.Errorf("%s", w.Body)
	}
	h := w.Header()
	if h.Get("Cache-Control") != "public, max-age=60, stale-while-revalidate=30" || h.Get("Access-Control-Allow-Origin") != "*" || h.Get("Etag") == "" {
		t.Errorf("headers %v", h)
	}
	if again := n.get(t, "/v1/grades", "If-None-Match", h.Get("Etag")); again.Code != http.StatusNotModified || again.Body.Len() != 0 {
		t.Errorf("with the ETag: %d %s", again.Code, again.Body)
	}
	canned.answer.Next = 0
	if again := n.get(t, "/v1/grades", "If-None-Match", h.Get("Etag")); again.Code != 200 || !strings.Contains(again.Body.String(), `"next":null`) {
		t.Errorf("with an old ETag: %d %s", again.Code, again.Body)
	}
	if head := n.ask(t, http.MethodHead, "/v1/grades"); head.Code != 200 {
		t.Errorf("HEAD: %d", head.Code)
	}
	if preflight := n.ask(t, http.MethodOptions, "/v1/grades"); preflight.Code != 204 || preflight.Header().Get("Access-Control-Allow-Origin") != "*" {
		t.Errorf("OPTIONS: %d", preflight.Code)
	}
}

func TestGradesAreAskedFor(t *testing.T) {
	n, canned := gradedNode(t)
	at := func(s string) crest.Millis {
		moment, err := time.Parse(time.RFC3339, s)
		if err != nil {
			t.Fatal(err)
		}
		return crest.MillisOf(moment)
	}
	for url, want := range map[string]grade.Filter{
		"/v1/grades": {Limit: 24},
		"/v1/grades?board=&window=&from=&to=&limit=":                                     {Limit: 24},
		"/v1/grades?board=article&window=5m&limit=1":                                     {Board: "article", Window: "5m", Limit: 1},
		"/v1/grades?board=article/category%3Dsports/region=S%C3%A3o+Paulo&limit=200":     {Board: "article/category=sports/region=São Paulo", Limit: 200},
		"/v1/grades?from=2026-11-30T09:00:00Z&to=2026-11-30T10:00:00%2B01:00":            {},
		"/v1/grades?from=2026-11-30T09:00:00Z&to=2026-11-30T12:00:00%2B02:00&window=24h": {From: at("2026-11-30T09:00:00Z"), To: at("2026-11-30T10:00:00Z"), Window: "24h", Limit: 24},
		"/v1/grades?to=2026-11-30T09:00:00.5Z":                                           {To: at("2026-11-30T09:00:00Z") + 500, Limit: 24},
	} {
		canned.asked = nil
		w := n.get(t, url)
		if want == (grade.Filter{}) {
			if w.Code != 400 {
				t.Errorf("%s: %d", url, w.Code)
			}
			continue
		}
		if w.Code != 200 || !slices.Equal(canned.asked, []grade.Filter{want}) {
			t.Errorf("%s: %d, asked for %+v, want %+v", url, w.Code, canned.asked, want)
		}
	}
}

func TestGradesThatCantBeAskedFor(t *testing.T) {
	n, canned := gradedNode(t)
	for _, c := range []struct{ query, code, says string }{
		{"bord=article", "invalid_parameter", `"valid":["board","window","from","to","limit"]`},
		{"window=5m&window=1h", "invalid_parameter", "twice"},
		{"board=%zz", "invalid_parameter", "well-formed"},
		{"board=a;b", "invalid_parameter", "well-formed"},
		{"board=video", "unknown_board", `"article/category=…/region=…"`},
		{"board=article/planet=mars", "unknown_board", `"article/category=…"`},
		{"board=article/region=", "unknown_board", ""},
		{"board=" + strings.Repeat("x", 500), "unknown_board", ""},
		{"window=2h", "unknown_window", `"valid":["5m","1h","24h"]`},
		{"from=yesterday", "invalid_parameter", "2026-11-30T09:00:00Z"},
		{"to=1796035320", "invalid_parameter", `"field":"to"`},
		{"from=0001-01-01T00:00:00Z", "invalid_parameter", `"field":"from"`},
		{"from=2026-11-30T09:00:00Z&to=2026-11-30T09:00:00Z", "invalid_parameter", "after from"},
		{"limit=0", "invalid_parameter", "1 to 200"},
		{"limit=201", "invalid_parameter", "1 to 200"},
		{"limit=1e2", "invalid_parameter", "1 to 200"},
		{"limit=-5", "invalid_parameter", "1 to 200"},
	} {
		w := n.get(t, "/v1/grades?"+c.query)
		if w.Code < 400 || !strings.Contains(w.Body.String(), `"code":"`+c.code+`"`) || !strings.Contains(w.Body.String(), c.says) {
			t.Errorf("%s: %d %s", c.query, w.Code, w.Body)
		}
		if w.Header().Get("Cache-Control") != "no-store" || w.Header().Get("Access-Control-Allow-Origin") != "*" {
			t.Errorf("%s: headers %v", c.query, w.Header())
		}
	}
	if len(canned.asked) != 0 {
		t.Errorf("grades were asked for %+v", canned.asked)
	}
	canned.err = errors.New("open /secret/path: permission denied")
	if w := n.get(t, "/v1/grades"); w.Code != 500 || strings.Contains(w.Body.String(), "secret") {
		t.Errorf("when they can't be read: %d %s", w.Code, w.Body)
	}
	if w := n.ask(t, http.MethodPost, "/v1/grades"); w.Code != 405 {
		t.Errorf("POST: %d", w.Code)
	}
}

func TestANodeWithoutGrades(t *testing.T) {
	n := newNode(t, "views")
	if w := n.get(t, "/v1/grades"); w.Code != 200 || w.Body.String() != `{"grades":[],"next":null}`+"\n" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
