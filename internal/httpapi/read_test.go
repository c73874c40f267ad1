package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"crest"
	"crest/internal/config"
	"crest/internal/list"
)

var asOf = time.Date(2026, 11, 30, 10, 42, 0, 0, time.UTC)

// node is a public handler over a store of lists.
type node struct {
	config  config.Config
	store   *list.Store
	handler http.Handler
	ready   error
}

func newNode(t *testing.T, preset string, change ...func(*config.Config)) *node {
	t.Helper()
	cfg, err := config.Preset(preset)
	if err != nil {
		t.Fatal(err)
	}
	for _, do := range change {
		do(&cfg)
	}
	n := &node{config: cfg}
	now := func() time.Time { return asOf }
	n.store, err = list.Open(list.Config{Windows: cfg.Windows, MaxK: cfg.Lists.MaxK, Sizes: cfg.Lists.Sizes, Now: now})
	if err != nil {
		t.Fatal(err)
	}
	n.handler, err = NewPublic(Public{
		Config: &n.config, Lists: n.store, Now: now, Ready: func() error { return n.ready },
		Write: func(mux *http.ServeMux) { WriteRoutes(mux, nil, WriteConfigOf(&n.config)) },
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// publish publishes a list of a board, given as in "article/category=sports", with so many entries.
func (n *node) publish(t *testing.T, board, window string, entries int) crest.List {
	t.Helper()
	parts := strings.Split(board, "/")
	b := crest.Board{Type: parts[0]}
	for _, part := range parts[1:] {
		dimension, value, _ := strings.Cut(part, "=")
		b.Narrow = append(b.Narrow, crest.Narrowing{Dimension: dimension, Value: value})
	}
	typ, _ := n.config.Type(b.Type)
	i := slices.IndexFunc(n.config.Windows, func(w crest.Window) bool { return w.Name == window })
	r := list.Report{Board: b, Window: n.config.Windows[i], AsOf: crest.MillisOf(asOf)}
	for e := range entries {
		count := uint64(10*entries - e)
		r.Entries = append(r.Entries, crest.Entry{ID: fmt.Sprintf("%s-%04d", b.Type, e), Title: "Title <b>", Count: count, Error: uint64(e % 3)})
		r.Total += count
	}
	l, err := list.Merge([]list.Report{r}, 1, list.Params{K: n.config.Lists.MaxK, IDField: typ.IDField, GeneratedAt: r.AsOf + 400})
	if err != nil {
		t.Fatal(err)
	}
	n.store.Publish([]crest.List{l})
	return l
}

// ask makes a request; headers come as pairs. The answer must be one that the contract allows.
func (n *node) ask(t *testing.T, method, url string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(method, url, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	n.handler.ServeHTTP(w, r)
	checkContract(t, r, w)
	return w
}

func (n *node) get(t *testing.T, url string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	return n.ask(t, http.MethodGet, url, headers...)
}

func TestTopServesTheSlice(t *testing.T) {
	views := newNode(t, "views")
	full := views.publish(t, "video", "1h", 1000)
	minute := views.publish(t, "video", "1m", 7)
	tags := views.publish(t, "hashtag", "all", 150)
	shares := newNode(t, "shares")
	articles := shares.publish(t, "article", "5m", 100)
	sports := shares.publish(t, "article/category=sports", "1h", 20)
	europe := shares.publish(t, "article/category=sports/region=eu", "5m", 3)
	odd := shares.publish(t, "article/region=São Paulo & co", "5m", 3)
	for _, c := range []struct {
		node *node
		url  string
		list crest.List
		k    int
	}{
		{views, "/v1/top", minute, 10},
		{views, "/v1/top?", minute, 10},
		{views, "/v1/top?type=&window=&k=", minute, 10},
		{views, "/v1/top?&k=100&", minute, 100},
		{views, "/v1/top?window=1h", full, 10},
		{views, "/v1/top?type=video&window=1h&k=1000", full, 1000},
		{views, "/v1/top?k=100&window=all&type=hashtag", tags, 100},
		{views, "/v1/top?%74ype=hash%74ag&window=all", tags, 10},
		{shares, "/v1/top", articles, 10},
		{shares, "/v1/top?k=1", articles, 1},
		{shares, "/v1/top?k=37&type=article", articles, 37},
		{shares, "/v1/top?k=100", articles, 100},
		{shares, "/v1/top?category=sports&window=1h", sports, 10},
		{shares, "/v1/top?region=eu&category=sports", europe, 10},
		{shares, "/v1/top?region=S%C3%A3o+Paulo%20%26+co&category=", odd, 10},
	} {
		w := c.node.get(t, c.url)
		want := c.list.Slice(c.k)
		if w.Code != http.StatusOK || w.Body.String() != string(want.AppendJSON(nil)) {
			t.Errorf("%s: %d %.300s\nwant %.300s", c.url, w.Code, w.Body, want.AppendJSON(nil))
		}
	}
}

func TestTopRefusesWhatThereIsNot(t *testing.T) {
	views, shares := newNode(t, "views"), newNode(t, "shares", func(c *config.Config) {
		c.Dimensions[1].Values = []string{"eu", "us"}
	})
	views.publish(t, "video", "1m", 7)
	shares.publish(t, "article", "5m", 7)
	shares.publish(t, "article/category=sports", "5m", 7)
	for _, c := range []struct {
		node   *node
		query  string
		status int
		code   crest.Code
		field  string
		valid  []string
	}{
		{views, "type=movie", 404, crest.CodeUnknownType, "type", []string{"video", "hashtag"}},
		{views, "type=Video", 404, crest.CodeUnknownType, "type", []string{"video", "hashtag"}},
		{views, "window=2h", 404, crest.CodeUnknownWindow, "window", []string{"1m", "1h", "24h", "all"}},
		{views, "k=11", 400, crest.CodeInvalidK, "k", []string{"10", "100", "1000"}},
		{views, "k=ten", 400, crest.CodeInvalidK, "k", []string{"10", "100", "1000"}},
		{views, "k=-10", 400, crest.CodeInvalidK, "k", []string{"10", "100", "1000"}},
		{views, "k=99999999999999999999", 400, crest.CodeInvalidK, "k", []string{"10", "100", "1000"}},
		{views, "limit=10", 400, crest.CodeInvalidParameter, "", []string{"type", "window", "k"}},
		{views, "category=sports", 400, crest.CodeInvalidParameter, "", []string{"type", "window", "k"}},
		{views, "k=10&k=10", 400, crest.CodeInvalidParameter, "k", nil},
		{views, "type=%zz", 400, crest.CodeInvalidParameter, "", nil},
		{views, "type=a%00", 404, crest.CodeUnknownType, "type", []string{"video", "hashtag"}},
		{shares, "k=0", 400, crest.CodeInvalidK, "k", nil},
		{shares, "k=101", 400, crest.CodeInvalidK, "k", nil},
		{shares, "sort=desc", 400, crest.CodeInvalidParameter, "", []string{"type", "window", "k", "category", "region"}},
		{shares, "category=chess", 404, crest.CodeUnknownBoard, "", nil},
		{shares, "region=mars", 404, crest.CodeUnknownBoard, "region", []string{"eu", "us"}},
		{shares, "category=a/region=eu", 400, crest.CodeOutOfRange, "category", nil},
		{shares, "category=a%3Db", 400, crest.CodeOutOfRange, "category", nil},
		{shares, "category=%ff", 400, crest.CodeInvalidUTF8, "category", nil},
		{shares, "category=a%0a", 400, crest.CodeControlChar, "category", nil},
		{shares, "category=" + strings.Repeat("x", 65), 400, crest.CodeTooLong, "category", nil},
	} {
		w := c.node.get(t, "/v1/top?"+c.query)
		var answer errorBody
		if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil {
			t.Errorf("%s: %v: %s", c.query, err, w.Body)
			continue
		}
		e := answer.Error
		if w.Code != c.status || e.Code != c.code || e.Field != c.field || !slices.Equal(e.Valid, c.valid) || e.Message == "" {
			t.Errorf("%s: got %d %+v, want %+v", c.query, w.Code, e, c)
		}
		if w.Header().Get("Cache-Control") != "no-store" || w.Header().Get("Access-Control-Allow-Origin") != "*" {
			t.Errorf("%s: headers %v", c.query, w.Header())
		}
	}
	if w := views.get(t, "/v1/top?type="+strings.Repeat("%F0%9F%98%80", 1000)); w.Body.Len() > 1000 {
		t.Errorf("a long value comes back in %d bytes", w.Body.Len())
	}
	two := newNode(t, "shares", func(c *config.Config) {
		c.Types = append(c.Types, config.Type{Name: "song", Boards: [][]string{{"category", "region"}}})
	})
	w := two.get(t, "/v1/top?type=song&region=eu")
	if w.Code != 404 || !strings.Contains(w.Body.String(), `"valid":["song","song/category=…/region=…"]`) {
		t.Errorf("song by region alone: %d %s", w.Code, w.Body)
	}
}

// TestListsOfAnEarlierConfigurationAreGone restarts a store with a configuration that has fewer boards.
func TestListsOfAnEarlierConfigurationAreGone(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*config.Config)
		want   []string
	}{
		"the same": {func(*config.Config) {}, []string{"article", "article/category=sports", "article/category=sports/region=eu", "article/region=eu"}},
		"no longer ranked by both": {
			func(c *config.Config) { c.Types[0].Boards = [][]string{{"category"}, {"region"}} },
			[]string{"article", "article/category=sports", "article/region=eu"},
		},
		"ranked by both alone": {
			func(c *config.Config) { c.Types[0].Boards = [][]string{{"category", "region"}} },
			[]string{"article", "article/category=sports/region=eu"},
		},
		"a dimension is gone": {
			func(c *config.Config) {
				c.Dimensions = slices.DeleteFunc(c.Dimensions, func(d config.Dimension) bool { return d.Name == "region" })
				c.Types[0].Boards = [][]string{{"category"}}
			},
			[]string{"article", "article/category=sports"},
		},
		"a value is gone": {
			func(c *config.Config) {
				i := slices.IndexFunc(c.Dimensions, func(d config.Dimension) bool { return d.Name == "region" })
				c.Dimensions[i].Values = []string{"us"}
			},
			[]string{"article", "article/category=sports"},
		},
		"another order of dimensions": {
			func(c *config.Config) {
				slices.Reverse(c.Dimensions)
				c.Types[0].Boards = [][]string{{"category"}, {"region"}, {"region", "category"}}
			},
			[]string{"article", "article/category=sports", "article/region=eu"},
		},
		"the type is gone": {func(c *config.Config) { c.Types[0].Name = "story" }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			open := func(c *config.Config) *list.Store {
				s, err := list.Open(list.Config{
					Dir: dir, Windows: c.Windows, MaxK: c.Lists.MaxK, Serves: Serves(c), Now: func() time.Time { return asOf },
				})
				if err != nil {
					t.Fatal(err)
				}
				return s
			}
			n := newNode(t, "shares")
			n.store = open(&n.config)
			for _, board := range []string{"article", "article/category=sports", "article/region=eu", "article/category=sports/region=eu"} {
				n.publish(t, board, "1h", 3)
			}
			ended, end := context.WithCancel(t.Context())
			end()
			if err := n.store.Run(ended); err != nil { // it writes at its end
				t.Fatal(err)
			}
			after := newNode(t, "shares", c.change)
			after.store = open(&after.config)
			var got []string
			for _, p := range after.store.All() {
				got = append(got, p.List().Board)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

func TestServesNothingElse(t *testing.T) {
	cfg, err := config.Preset("shares")
	if err != nil {
		t.Fatal(err)
	}
	serves := Serves(&cfg)
	for _, board := range []string{
		"", "/", "article/", "article/category", "article/category=", "article/=sports", "article/type=video", "article/k=1",
		"article/category=a/category=a", "article/region=eu/category=sports", "article/colour=red", "article/category=\xff",
	} {
		if serves(board) {
			t.Errorf("%q is served", board)
		}
	}
}

func TestTopBeforeTheFirstList(t *testing.T) {
	n := newNode(t, "shares")
	for _, url := range []string{"/v1/top", "/v1/top?window=24h&k=3"} {
		w := n.get(t, url)
		var l crest.List
		if err := json.Unmarshal(w.Body.Bytes(), &l); err != nil {
			t.Fatalf("%s: %v: %s", url, err, w.Body)
		}
		if w.Code != 200 || l.Short != crest.ShortWarmingUp || len(l.Top) != 0 || l.AsOf != crest.MillisOf(asOf) ||
			w.Header().Get("Etag") != "" || w.Header().Get("Cache-Control") != "public, max-age=1" {
			t.Errorf("%s: %d %s %v", url, w.Code, w.Body, w.Header())
		}
	}
	n.publish(t, "article/category=sports", "5m", 1)
	if w := n.get(t, "/v1/top?window=1h&category=sports"); w.Code != 200 || !strings.Contains(w.Body.String(), "warming_up") {
		t.Errorf("a narrowed board that has a list of another window: %d %s", w.Code, w.Body)
	}
	if w := n.get(t, "/v1/top?window=1h&category=chess"); w.Code != 404 {
		t.Errorf("a narrowed board without events: %d %s", w.Code, w.Body)
	}
}

func TestTopHeaders(t *testing.T) {
	views, shares := newNode(t, "views"), newNode(t, "shares")
	for _, c := range []struct {
		node   *node
		window string
		want   string
	}{
		{views, "1m", "public, max-age=10, stale-while-revalidate=30"},
		{views, "1h", "public, max-age=10, stale-while-revalidate=30"},
		{views, "24h", "public, max-age=30, stale-while-revalidate=30"},
		{views, "all", "public, max-age=30, stale-while-revalidate=30"},
		{shares, "5m", "public, max-age=1, stale-while-revalidate=3"},
		{shares, "24h", "public, max-age=1, stale-while-revalidate=3"},
	} {
		c.node.publish(t, c.node.config.Types[0].Name, c.window, 5)
		w := c.node.get(t, "/v1/top?window="+c.window)
		for name, want := range map[string]string{
			"Cache-Control": c.want, "Content-Type": "application/json; charset=utf-8", "Vary": "Accept-Encoding",
			"X-Content-Type-Options": "nosniff", "Access-Control-Allow-Origin": "*", "Content-Length": strconv.Itoa(w.Body.Len()),
		} {
			if got := w.Header().Get(name); got != want {
				t.Errorf("window %s: %s is %q, want %q", c.window, name, got, want)
			}
		}
	}
}

func TestTopContentCodings(t *testing.T) {
	n := newNode(t, "views")
	n.publish(t, "video", "1m", 1000)
	plain := n.get(t, "/v1/top?k=100").Body.Bytes()
	tags := map[string]bool{}
	for _, coding := range []string{"", "gzip", "zstd"} {
		w := n.get(t, "/v1/top?k=100", "Accept-Encoding", coding)
		if got := w.Header().Get("Content-Encoding"); got != coding {
			t.Errorf("%q: got %q", coding, got)
		}
		var body []byte
		var err error
		switch coding {
		case "gzip":
			r, e := gzip.NewReader(w.Body)
			if e != nil {
				t.Fatal(e)
			}
			body, err = io.ReadAll(r)
		case "zstd":
			r, e := zstd.NewReader(w.Body)
			if e != nil {
				t.Fatal(e)
			}
			body, err = io.ReadAll(r)
			r.Close()
		default:
			body = w.Body.Bytes()
		}
		if err != nil || !bytes.Equal(body, plain) {
			t.Errorf("%q: another body (%v)", coding, err)
		}
		tags[w.Header().Get("Etag")] = true
	}
	if len(tags) != 3 {
		t.Errorf("entity tags: %v", tags)
	}
}

func TestTopNotModified(t *testing.T) {
	n := newNode(t, "shares")
	n.publish(t, "article", "5m", 50)
	first := n.get(t, "/v1/top", "Accept-Encoding", "gzip")
	etag := first.Header().Get("Etag")
	for _, header := range []string{etag, "W/" + etag, "*", `"other", ` + etag, `W/"x",W/` + etag} {
		w := n.get(t, "/v1/top", "Accept-Encoding", "gzip", "If-None-Match", header)
		if w.Code != http.StatusNotModified || w.Body.Len() != 0 || w.Header().Get("Etag") != etag ||
			w.Header().Get("Vary") == "" || w.Header().Get("Cache-Control") == "" || w.Header().Get("Content-Type") != "" {
			t.Errorf("%s: %d %v", header, w.Code, w.Header())
		}
	}
	for _, header := range []string{`"other"`, etag[:len(etag)-1], strings.Trim(etag, `"`), `"`, `W/`, ``} {
		if w := n.get(t, "/v1/top", "Accept-Encoding", "gzip", "If-None-Match", header); w.Code != http.StatusOK {
			t.Errorf("%s: %d", header, w.Code)
		}
	}
	if w := n.get(t, "/v1/top", "If-None-Match", etag); w.Code != http.StatusOK {
		t.Errorf("the tag of another coding: %d", w.Code)
	}
	n.store.Check(asOf.Add(time.Hour))
	if w := n.get(t, "/v1/top", "Accept-Encoding", "gzip", "If-None-Match", etag); w.Code != http.StatusOK {
		t.Errorf("the tag of the list before it was stale: %d", w.Code)
	}
}

func TestTopStale(t *testing.T) {
	n := newNode(t, "views")
	n.publish(t, "video", "1m", 5)
	n.store.Check(asOf.Add(time.Hour))
	w := n.get(t, "/v1/top")
	if w.Code != 200 || !strings.Contains(w.Body.String(), `"stale":true`) || w.Header().Get("Cache-Control") == "" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestReadMethods(t *testing.T) {
	n := newNode(t, "views")
	n.publish(t, "video", "1m", 5)
	for _, path := range []string{"/v1/top", "/v1/lists"} {
		get, head := n.get(t, path), n.ask(t, http.MethodHead, path)
		if head.Code != 200 || head.Header().Get("Content-Length") != get.Header().Get("Content-Length") ||
			head.Header().Get("Etag") != get.Header().Get("Etag") {
			t.Errorf("HEAD %s: %d %v, GET gives %v", path, head.Code, head.Header(), get.Header())
		}
		options := n.ask(t, http.MethodOptions, path)
		if options.Code != 204 || options.Header().Get("Access-Control-Allow-Headers") != "If-None-Match" {
			t.Errorf("OPTIONS %s: %d %v", path, options.Code, options.Header())
		}
		if post := n.ask(t, http.MethodPost, path); post.Code != 405 || post.Header().Get("Allow") != "GET, HEAD, OPTIONS" {
			t.Errorf("POST %s: %d %v", path, post.Code, post.Header())
		}
	}
}

func TestCatalogue(t *testing.T) {
	n := newNode(t, "shares")
	n.publish(t, "article/region=São Paulo", "1h", 2)
	n.publish(t, "article", "1h", 20)
	n.publish(t, "article/category=sports", "5m", 2)
	w := n.get(t, "/v1/lists")
	var c catalogueJSON
	if err := json.Unmarshal(w.Body.Bytes(), &c); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, l := range c.Lists {
		got = append(got, fmt.Sprintf("%s %s %d %s", l.Board, l.Window, l.Entries, l.Short))
		answer := n.get(t, l.URL)
		var top crest.List
		if err := json.Unmarshal(answer.Body.Bytes(), &top); err != nil || top.Board != l.Board || top.Window != l.Window || top.Version != l.Version {
			t.Errorf("%s leads to %d %.200s (%v)", l.URL, answer.Code, answer.Body, err)
		}
	}
	want := []string{
		"article 5m 0 warming_up", "article 1h 20 few_items", "article 24h 0 warming_up",
		"article/category=sports 5m 2 few_items", "article/region=São Paulo 1h 2 few_items",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if c.MaxK != 100 || c.DefaultK != 10 || len(c.Sizes) != 0 || len(c.Types) != 1 || c.Types[0].IDField != "article_id" ||
		len(c.Types[0].Boards) != 3 || len(c.Windows) != 3 || c.Windows[0].Seconds != 300 || len(c.Dimensions) != 2 {
		t.Errorf("got %+v", c)
	}
	if w := n.get(t, "/v1/lists?type=article"); w.Code != 400 {
		t.Errorf("with a parameter: %d", w.Code)
	}
	views := newNode(t, "views")
	if w := views.get(t, "/v1/lists"); !strings.Contains(w.Body.String(), `"sizes":[10,100,1000]`) {
		t.Errorf("got %s", w.Body)
	}
}

func TestNegotiate(t *testing.T) {
	for header, want := range map[string]string{
		"": "", "gzip": "gzip", "zstd": "zstd", "br": "", "gzip, deflate, br, zstd": "zstd", "gzip, deflate, br": "gzip",
		"zstd;q=0.5, gzip": "gzip", "gzip;q=0.5, zstd;q=0.5": "zstd", "identity": "", "identity, gzip": "gzip",
		"gzip;q=0.5, identity": "", "gzip;q=0": "", "gzip;q=0, *": "zstd", "*": "zstd", "*;q=0": "", "zstd;q=0, *": "gzip",
		"GZIP": "gzip", "x-gzip": "gzip", " gzip ; q=1.0 ": "gzip", "gzip;q=nonsense": "", "gzip;q=2": "", "gzip;q=NaN": "",
		"gzip;level=5;q=0.1, zstd;q=0.2": "zstd", ",,;,gzip": "gzip",
	} {
		if got := negotiate([]string{header}); got != want {
			t.Errorf("%q: got %q, want %q", header, got, want)
		}
	}
	if got := negotiate([]string{"br", "gzip"}); got != "gzip" {
		t.Errorf("two header lines: got %q", got)
	}
}

func FuzzQuery(f *testing.F) {
	for _, s := range []string{"type=article&k=3", "category=a%20b&region=", "%", "&&=&k==", "k=1&k=2", "category=a%2Fb", "+=+"} {
		f.Add(s)
	}
	cfg, err := config.Preset("shares")
	if err != nil {
		f.Fatal(err)
	}
	c := newChoice(&cfg)
	f.Fuzz(func(t *testing.T, raw string) {
		q, err := c.parse(raw)
		if err == nil && (q.k < 1 || q.k > 100 || !strings.HasPrefix(q.board, "article") || q.window == nil) {
			t.Errorf("%q gives %+v", raw, q)
		}
		if err != nil && crest.CodeOf(err) == crest.CodeInternal {
			t.Errorf("%q: %v", raw, err)
		}
		negotiate([]string{raw})
		matches([]string{raw}, `"x"`)
	})
}

// discard is a ResponseWriter that costs nothing.
type discard struct{ header http.Header }

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) WriteHeader(int)             {}
func (d *discard) Write(b []byte) (int, error) { return len(b), nil }

func BenchmarkTop(b *testing.B) {
	t := &testing.T{}
	n := newNode(t, "views")
	n.publish(t, "video", "1h", 1000)
	etag := n.get(t, "/v1/top?window=1h&k=100", "Accept-Encoding", "gzip").Header().Get("Etag")
	for name, headers := range map[string][]string{
		"gzip": {"Accept-Encoding", "gzip, deflate, br, zstd"}, "not modified": {"Accept-Encoding", "gzip", "If-None-Match", etag},
	} {
		b.Run(name, func(b *testing.B) {
			r := httptest.NewRequest(http.MethodGet, "/v1/top?type=video&window=1h&k=100", nil)
			for i := 0; i < len(headers); i += 2 {
				r.Header.Set(headers[i], headers[i+1])
			}
			w := &discard{header: http.Header{}}
			b.ReportAllocs()
			for b.Loop() {
				clear(w.header)
				n.handler.ServeHTTP(w, r)
			}
		})
	}
}
