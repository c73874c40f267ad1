package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"

	"crest"
)

// call runs the program with arguments.
func call(t *testing.T, stdin string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	s := &streams{in: strings.NewReader(stdin), out: &out, err: &err, outWidth: func() (int, int) { return 0, 0 }}
	code = run(t.Context(), args, s)
	return code, out.String(), err.String()
}

func TestHelpHasExamples(t *testing.T) {
	code, out, _ := call(t, "")
	if code != exitOK || !strings.Contains(out, "Usage: crest") {
		t.Errorf("no arguments: %d, %s", code, out)
	}
	for _, command := range []string{"serve", "rank", "top", "explain", "replay", "load", "recount", "compare", "plan"} {
		code, out, _ := call(t, "", command, "--help")
		if code != exitOK || !strings.Contains(out, "Examples:") || !strings.Contains(out, "crest "+command) {
			t.Errorf("%s --help: %d\n%s", command, code, out)
		}
	}
}

func TestMistakesSayWhatToDo(t *testing.T) {
	for _, test := range []struct {
		code int
		want string
		args []string
	}{
		{exitUsage, "unexpected argument nothing", []string{"nothing"}},
		{exitUsage, "unknown flag --nope", []string{"rank", "--nope"}},
		{exitUsage, "write COLUMN=VALUE", []string{"rank", "--where", "x"}},
		{exitUsage, "add --at TIME, or --every 1m", []string{"rank", "--window", "5m"}},
		{exitUsage, "is no time; write RFC 3339", []string{"rank", "--at", "noon", "--time", "ts"}},
		{exitUsage, "is not a size; write 64MiB", []string{"rank", "--memory", "much"}},
		{exitUsage, "it must be from 1 to", []string{"rank", "-k", "0"}},
		{exitUsage, "is no column of", []string{"rank", "../../testdata/code_touch.csv.gz", "--item", "file"}},
		{exitFailure, "no such file", []string{"rank", "nothing.csv"}},
		{exitFailure, "no line could be used", []string{"rank", "-", "--input", "ndjson"}},
		{exitFailure, "is crest serve running there?", []string{"top", "--url", "http://127.0.0.1:1"}},
		{exitFailure, "is crest serve running there?", []string{"load", "--url", "http://127.0.0.1:1"}},
		{exitFailure, "is crest serve running there?", []string{"replay", "x.csv", "--to", "http://127.0.0.1:1"}},
		{exitUsage, "write a positive number, or max", []string{"replay", "x.csv", "--speed", "fast"}},
		{exitUsage, "write http://host:port", []string{"top", "--url", "somewhere"}},
		{exitUsage, "write NAME=N", []string{"load", "--dimension", "region"}},
		{exitUsage, "valid are protobuf and json", []string{"load", "--format", "xml"}},
		{exitUsage, "crest: --rate: is 0 events a second; it must be above 0", []string{"plan", "--rate", "0"}},
		{exitUsage, "--average: is 7 events a second; it must be above 0 and at most the peak's 5", []string{"plan", "--rate", "5", "--average", "7"}},
		{exitUsage, "--memory: is 5 bytes; it must be from 4 KiB to 64 GiB", []string{"rank", "--memory", "5"}},
		{exitUsage, "--k: is 0", []string{"rank", "-k", "0"}},
		{exitUsage, "name a column with --item; line 1 has url", []string{"rank", "-", "--input", "ndjson"}},
		{exitUsage, "--batch: is 500, more than the events of 2s at 100 a second", []string{"load", "--rate", "100", "--for", "2s", "--batch", "500"}},
		{exitUsage, "--connections: is 0", []string{"load", "-c", "0"}},
		{exitUsage, "--to somewhere: write http://host:port", []string{"replay", "x.csv", "--to", "somewhere"}},
		{exitFailure, "Give its address with --to", []string{"replay", "x.csv", "--to", "http://127.0.0.1:1"}},
		{exitUsage, "--url somewhere: write http://host:port", []string{"load", "--url", "somewhere"}},
		{exitUsage, "--where k=5: k is no dimension; write --k 5", []string{"top", "--where", "k=5"}},
		{exitUsage, "window is no dimension", []string{"top", "--where", "window=1h"}},
		{exitUsage, "type is no dimension", []string{"top", "--where", "type=video"}},
		{exitUsage, "--listen: is \"8080\"; write host:port", []string{"serve", "--listen", "8080"}},
		{exitUsage, "--admin: is \"x\"; write host:port", []string{"serve", "--admin", "x"}},
		{exitUsage, `must be one of "views","shares" but got "likes"`, []string{"serve", "--preset", "likes"}},
		{exitUsage, `must be one of "logged","enqueued" but got ""`, []string{"load", "--ack", ""}},
	} {
		input := "nonsense\n"
		if strings.Contains(test.want, "has url") {
			input = `{"url":"/"}` + "\n"
		}
		code, _, stderr := call(t, input, test.args...)
		want := test.want
		if strings.Contains(stderr, `must be one of "protobuf","json"`) {
			want = `must be one of "protobuf","json"`
		}
		if code != test.code || !strings.Contains(stderr, want) {
			t.Errorf("crest %s: code %d, %s; want %d and %q", strings.Join(test.args, " "), code, stderr, test.code, test.want)
		}
	}
}

func TestRankPrints(t *testing.T) {
	const input = "b\na\nb\nc \"x\", y\nb\na\n\x1b[2Jevil\n"
	for format, want := range map[string]string{
		"table": "rank  count  error  item\n   1      3      0  b\n   2      2      0  a\n   3      1      0  \\x1b[2Jevil\n   4      1      0  c \"x\", y\n",
		"csv":   "rank,count,error,item\n1,3,0,b\n2,2,0,a\n3,1,0,\x1b[2Jevil\n4,1,0,\"c \"\"x\"\", y\"\n",
	} {
		code, out, stderr := call(t, input, "rank", "--format", format)
		if code != exitOK || out != want || stderr != "7 lines read, 0 refused, 7 counted\nevery count is exact\n" {
			t.Errorf("%s: %d\n%s\n%s", format, code, out, stderr)
		}
	}
	code, out, stderr := call(t, input, "rank", "--json", "-k", "1", "-q")
	var got document
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatal(err)
	}
	if code != exitOK || stderr != "" || *got.Lines != 7 || got.Total != 7 || got.Other != 4 || !got.Exact || got.Cutoff != 2 || got.Top[0] != (documentEntry{1, "b", 3, 0}) {
		t.Errorf("json: %d %s %+v", code, stderr, got)
	}
}

func TestRankOfEveryStep(t *testing.T) {
	const input = "ts,item\n1000,a\n1001,b\n1061,b\nx,c\n1070,a\n"
	args := []string{"rank", "--time", "ts", "--window", "2m", "--every", "1m", "-k", "1"}
	code, out, stderr := call(t, input, append(args, "--format", "csv")...)
	want := "as_of,rank,count,error,item\n1970-01-01T00:17:00Z,1,1,0,a\n1970-01-01T00:18:00Z,1,2,0,a\n"
	if code != exitOK || out != want {
		t.Errorf("csv: %d\n%s", code, out)
	}
	if !strings.Contains(stderr, `refused: standard input, line 5: ts: "x" is no time`) {
		t.Errorf("csv: %s", stderr)
	}
	_, out, _ = call(t, input, append(args, "--json")...)
	if n := strings.Count(out, "\n"); n != 2 || !strings.Contains(out, `"from":"1970-01-01T00:15:00Z","as_of":"1970-01-01T00:17:00Z"`) {
		t.Errorf("json:\n%s", out)
	}
	_, out, _ = call(t, input, args...)
	if !strings.HasPrefix(out, "as of 1970-01-01T00:17:00Z, total 2\nrank") {
		t.Errorf("table:\n%s", out)
	}
}

func TestRankOfRealFile(t *testing.T) {
	code, out, _ := call(t, "", "rank", "../../testdata/fight_tags_emoji.ndjson.gz", "--normalize", "hashtag", "--where", "type=hashtag", "-k", "2", "--format", "csv")
	if code != exitOK || out != "rank,count,error,item\n1,4592,0,mayweathervmcgregor\n2,2459,0,mcgregor\n" {
		t.Errorf("%d\n%s", code, out)
	}
}

func TestRankSaysWhyLinesAreRefused(t *testing.T) {
	input := strings.Repeat(`{"item":""}`+"\n", 6) + "oops\n" + `{"item":"a"}` + "\n"
	_, _, stderr := call(t, input, "rank", "--input", "ndjson", "-q")
	if !strings.HasSuffix(stderr, "refused in all: 6 missing_field, 1 malformed\n") || strings.Count(stderr, "\n") != 6 {
		t.Errorf("%s", stderr)
	}
}

func TestRankSaysWhatItWaitsFor(t *testing.T) {
	for _, test := range []struct {
		terminal bool
		args     []string
		want     bool
	}{
		{true, []string{"rank"}, true},
		{true, []string{"rank", "-"}, true},
		{true, []string{"rank", "-q"}, false},
		{false, []string{"rank"}, false},
		{true, []string{"rank", "../../testdata/code_touch.csv.gz", "--item", "1"}, false},
	} {
		var stderr bytes.Buffer
		s := &streams{in: strings.NewReader("a\n"), out: io.Discard, err: &stderr, inTerm: test.terminal}
		if code := run(t.Context(), test.args, s); code != exitOK || strings.Contains(stderr.String(), "reading standard input") != test.want {
			t.Errorf("%v of a terminal: %d, %s", test, code, stderr.String())
		}
	}
}

func TestVersionIsPrinted(t *testing.T) {
	code, out, _ := call(t, "", "--version")
	if code != exitOK || !strings.HasPrefix(out, "crest ") || !strings.Contains(out, "built with go1.") {
		t.Errorf("%d %q", code, out)
	}
	settings := []debug.BuildSetting{{Key: "vcs.revision", Value: "abc"}, {Key: "vcs.time", Value: "2026-11-30"}, {Key: "vcs.modified", Value: "true"}}
	if got := sourceOf(settings); got != "abc-dirty of 2026-11-30" {
		t.Error(got)
	}
}

func TestHelpShowsDefaultsAndNoEmptyChoice(t *testing.T) {
	for command, wants := range map[string][]string{
		"serve": {"127.0.0.1:8080", "127.0.0.1:8081", "--preset=NAME"}, "load": {"--ack=WHEN", "Default: 500"}, "plan": {"--preset=NAME"}, "rank": {"--every=DURATION"},
	} {
		code, out, _ := call(t, "", command, "--help")
		for _, want := range wants {
			if code != exitOK || !strings.Contains(out, want) {
				t.Errorf("%s --help has no %q", command, want)
			}
		}
		if strings.Contains(out, ",)") || strings.Contains(out, `""`+",") {
			t.Errorf("%s --help has an empty choice:\n%s", command, out)
		}
	}
}

// TestConfigurationErrorsAreUsageErrors wants one exit code of every command.
func TestConfigurationErrorsAreUsageErrors(t *testing.T) {
	file := filepath.Join(t.TempDir(), "crest.yaml")
	if err := os.WriteFile(file, []byte("counting: {shards: 3}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"serve", "plan"} {
		if code, _, stderr := call(t, "", command, "--config", file); code != exitUsage || !strings.Contains(stderr, "counting.shards: is 3") {
			t.Errorf("%s: %d %s", command, code, stderr)
		}
	}
}

func TestPlanPrints(t *testing.T) {
	code, out, stderr := call(t, "", "plan", "--data", t.TempDir())
	for _, want := range []string{
		"311.1MiB", "5.2MiB", "83KiB", "60 M", "600 (1.0e-05", "2.8TiB", "901.2GiB", "this machine", "hashtag, spellings",
		"log.retain_bytes is reached before log.retain_age", "archive, 32 B an event", "exact counts, 12 B for each of 5 M items", "(24h, open hours of all time)", "ids are looked through",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the plan of views has no %q", want)
		}
	}
	if code != exitOK {
		t.Errorf("%d: %s", code, stderr)
	}
	code, out, _ = call(t, "", "plan", "--preset", "shares", "--rate", "100000", "--json")
	var plan struct {
		Preset string  `json:"preset"`
		Memory int64   `json:"memory_bytes"`
		Fits   []any   `json:"fits"`
		Peak   float64 `json:"peak_events_per_second"`
	}
	if err := json.Unmarshal([]byte(out), &plan); err != nil || code != exitOK || plan.Preset != "shares" || plan.Memory == 0 || plan.Peak != 100_000 || len(plan.Fits) != 3 {
		t.Errorf("json: %d, %v\n%s", code, err, out)
	}
}

func TestShortNumbers(t *testing.T) {
	for n, want := range map[float64]string{0: "0", 999: "999", 999.6: "1 k", 1500: "1.5 k", 999.96e6: "1 G", 30.24e9: "30.2 G", 600: "600", 1e12: "1 T"} {
		if got := short(n); got != want {
			t.Errorf("%g is %q, want %q", n, got, want)
		}
	}
	if got := grouped(1234567); got != "1,234,567" {
		t.Error(got)
	}
}

// fakeNode answers as a server does, from canned lists.
type fakeNode struct {
	mu     sync.Mutex
	posted int
	query  string
}

func (f *fakeNode) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch r.URL.Path {
	case "/v1/lists":
		_, _ = io.WriteString(w, `{"types":[{"name":"video"}],"windows":[{"name":"1m","refresh_seconds":10}]}`)
	case "/v1/top":
		f.query = r.URL.RawQuery
		if r.URL.Query().Get("type") == "film" {
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `{"error":{"code":"unknown_type","field":"type","message":"is \"film\"; there are lists of video"}}`)
			return
		}
		w.Header().Set("ETag", `"1"`)
		w.Header().Set("Cache-Control", "public, max-age=10")
		list := crest.List{
			Type: "video", Board: "video", Window: "1m", K: 10, Version: "v", AsOf: crest.MillisOf(time.Now()), Total: 5000,
			Top: []crest.Entry{
				{ID: "x", Title: "A film", Count: 3000, PreviousRank: 2},
				{ID: "y", Count: 1000, Error: 20, PreviousRank: 1},
				{ID: "z", Count: 10},
			},
			Cutoff: 10,
		}
		list.Label()
		_ = json.NewEncoder(w).Encode(list)
	case "/v1/events":
		f.posted++
		body, _ := io.ReadAll(r.Body)
		w.WriteHeader(http.StatusAccepted)
		_, _ = io.WriteString(w, `{"accepted":`+strings.TrimSpace(string(must(json.Marshal(bytes.Count(body, []byte(`"item"`))))))+`,"rejected":0}`)
	}
}

func must(b []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return b
}

func TestTopPrintsOnce(t *testing.T) {
	node := &fakeNode{}
	server := httptest.NewServer(node)
	defer server.Close()
	code, out, stderr := call(t, "", "top", "--url", server.URL, "--type", "video", "--window", "1m", "-k", "3", "--where", "region=eu")
	if code != exitOK || !strings.HasPrefix(out, "video, of the last 1m, as of ") {
		t.Errorf("%d\n%s%s", code, out, stderr)
	}
	want := "5,000 in all, 990 on other items\ncounts are at most 20 too high; ranks 1 to 2 of 3 are certain; nothing else has more than 10\n\nrank  move  count  error  item\n   1  ▲1    3,000      0  A film  (x)\n   2  ▼1    1,000     20  y\n   3  new      10      0  z\n"
	if _, rest, _ := strings.Cut(out, "\n"); rest != want {
		t.Errorf("got\n%s\nwant\n%s", rest, want)
	}
	if node.query != "k=3&region=eu&type=video&window=1m" {
		t.Errorf("query %q", node.query)
	}
	code, out, _ = call(t, "", "top", "--url", server.URL, "--json")
	if code != exitOK || !strings.HasPrefix(out, `{"type":"video"`) {
		t.Errorf("json: %d %s", code, out)
	}
	code, _, stderr = call(t, "", "top", "--url", server.URL, "--type", "film")
	if code != exitFailure || !strings.Contains(stderr, "there are lists of video") {
		t.Errorf("%d %s", code, stderr)
	}
}

// screen is a terminal that ends the program once it has been drawn on.
type screen struct {
	bytes.Buffer
	drawn func()
}

func (s *screen) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte("rank")) {
		s.drawn()
	}
	return s.Buffer.Write(p)
}

func TestTopRedrawsInATerminal(t *testing.T) {
	server := httptest.NewServer(&fakeNode{})
	defer server.Close()
	ctx, cancel := context.WithCancel(t.Context())
	terminal := &screen{drawn: cancel}
	s := &streams{out: terminal, err: io.Discard, outTerm: true, outWidth: func() (int, int) { return 30, 8 }}
	if code := run(ctx, []string{"top", "--url", server.URL}, s); code != exitOK {
		t.Errorf("code %d", code)
	}
	got := terminal.String()
	if !strings.HasPrefix(got, enterScreen) || !strings.HasSuffix(got, leaveScreen) {
		t.Errorf("the screen is not given back: %q", got)
	}
	if !strings.Contains(got, "A f…\x1b") || strings.Contains(got, "  z") {
		t.Errorf("the list does not keep to 30 columns and 8 lines: %q", got)
	}
}

func TestQuality(t *testing.T) {
	entries := make([]crest.Entry, 3)
	for want, l := range map[string]crest.List{
		"nothing was counted": {}, "every count is exact": {Top: entries, Proven: 3}, "counts are exact; ranks 1 to 2 of 3 are certain": {Top: entries, Proven: 2},
		"counts are at most 5 too high; no rank is certain":    {Top: entries, MaxOverCount: 5},
		"counts are at most 5 too high; every rank is certain": {Top: entries, MaxOverCount: 5, Proven: 3},
	} {
		if got := quality(&l); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestRefusedEventsAndUnknownFieldsAreExplained posts to a server that refuses all and knows little.
func TestRefusedEventsAndUnknownFieldsAreExplained(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/lists" {
			_, _ = io.WriteString(w, `{"types":[{"name":"video"}]}`)
			return
		}
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"accepted":0,"rejected":1,"errors":[{"index":0,"code":"too_old","message":"is old"}],"ignored_fields":["dimensions.colour"],"error":{"code":"too_old","message":"is old"}}`)
	}))
	defer server.Close()
	const warning = "warning: the server does not know these fields and left them out: dimensions.colour\n"
	code, out, stderr := call(t, "ts,item\n1,a\n2,b\n3,c\n", "replay", "-", "--to", server.URL, "--speed", "max", "--batch", "1")
	if code != exitFailure || !strings.Contains(out, "3 refused by the server") || !strings.Contains(stderr, "with --shift-to-now they happen now") || strings.Count(stderr, warning) != 1 {
		t.Errorf("replay: %d\n%s%s", code, out, stderr)
	}
	_, _, stderr = call(t, "ts,item\n1,a\n", "replay", "-", "--to", server.URL, "--speed", "max", "--shift-to-now")
	if strings.Contains(stderr, "with --shift-to-now") {
		t.Errorf("replay: %s", stderr)
	}
	code, out, stderr = call(t, "", "load", "--url", server.URL, "--for", "50ms", "-c", "1")
	if code != exitFailure || strings.Contains(out, "latency") || strings.Count(stderr, warning) != 1 {
		t.Errorf("load: %d\n%s%s", code, out, stderr)
	}
}

func TestReplayAndLoad(t *testing.T) {
	node := &fakeNode{}
	server := httptest.NewServer(node)
	defer server.Close()
	code, out, stderr := call(t, "ts,item\n1,a\n2,b\n3,c\n", "replay", "-", "--to", server.URL, "--speed", "max", "--format", "json", "--batch", "2")
	if code != exitOK || !strings.Contains(out, "3 lines read, 0 unusable; 3 events accepted") || node.posted != 2 {
		t.Errorf("replay: %d after %d posts\n%s%s", code, node.posted, out, stderr)
	}
	code, out, stderr = call(t, "", "load", "--url", server.URL, "--for", "100ms", "--batch", "10", "--format", "json", "--json", "--rate", "1000")
	var report struct {
		Acked  int            `json:"events_acked"`
		Errors map[string]int `json:"errors"`
	}
	if err := json.Unmarshal([]byte(out), &report); err != nil || code != exitOK || report.Acked < 10 || report.Acked > 110 || len(report.Errors) > 0 {
		t.Errorf("load: %d, %v\n%s%s", code, err, out, stderr)
	}
	code, out, _ = call(t, "", "load", "--url", server.URL, "--for", "50ms", "--format", "json")
	if code != exitOK || !strings.Contains(out, "events acknowledged") || !strings.Contains(out, "p99") {
		t.Errorf("load: %d\n%s", code, out)
	}
}
