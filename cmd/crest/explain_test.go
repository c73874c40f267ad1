package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"crest/internal/explain"
)

const (
	noon    = explain.Moment(1_796_040_000_000) // 2026-11-30T12:00Z
	aMinute = explain.Moment(60_000)
	anHour  = 60 * aMinute
)

func anExplanation() explain.Explanation {
	return explain.Explanation{
		Type: "hashtag", Board: "hashtag", ID: "foobar", Asked: "#FooBar", Shard: 3, Shards: 64, AsOf: noon + 130,
		Windows: []explain.Window{
			{
				Name: "1h", From: noon - anHour, AsOf: noon, Estimate: explain.Estimated(4000, 20),
				Listing: &explain.Listing{AsOf: noon, K: 10, Entries: 10, Last: 4034, Cutoff: 4011, Proven: 4},
			},
			{
				Name: "all", AsOf: noon, Estimate: explain.Estimated(1_234_567, 20), Exact: 1_230_000, Late: 7, ExactUntil: noon - anHour,
				Listing: &explain.Listing{AsOf: noon, K: 10, Entries: 10, Rank: 3, Proven: 4, Count: 1_234_000},
			},
		},
		Rings: []explain.Ring{{
			Width: explain.Span(time.Minute), Windows: []string{"1h"}, Open: true, Buckets: []explain.Bucket{
				{Start: noon - 3*aMinute, Estimate: explain.Estimated(9, 9)},
				{Start: noon - 2*aMinute},
				{Start: noon - aMinute, Estimate: explain.Estimated(70, 5), Held: true},
			},
		}},
		Exact: &explain.Exact{
			First: noon - 48*anHour, Until: noon - anHour, AllTime: 1_230_000,
			Hours: []explain.Hour{{Start: noon - 3*anHour}, {Start: noon - 2*anHour, Cut: noon - 50*aMinute, Count: 3000, Duplicates: 12, Late: 7}},
		},
	}
}

// explaining runs a fake operator's endpoint that gives one answer.
func explaining(t *testing.T, status int, answer any) (url string, asked *string) {
	t.Helper()
	asked = new(string)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*asked = r.URL.String()
		w.WriteHeader(status)
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL, asked
}

func TestExplainShowsWhatACountIsMadeOf(t *testing.T) {
	url, asked := explaining(t, http.StatusOK, anExplanation())
	code, out, errText := call(t, "", "explain", "hashtag", "#FooBar", "--admin", url)
	if code != exitOK || errText != "" {
		t.Fatalf("%d %s", code, errText)
	}
	if *asked != "/v1/explain?id=%23FooBar&type=hashtag" {
		t.Errorf("asked %s", *asked)
	}
	want := `"foobar" on board hashtag, asked for as "#FooBar"
shard 3 of 64; counted: what was received before 2026-11-30T12:00:00Z; exact until 2026-11-30T11:00Z

  window      count  error   at least      exact  list
      1h      4,000     20      3,980          0  not on it: 34 below the last one's 4,034; nothing off the list has more than 4,011
     all  1,234,567     20  1,234,547  1,230,000  rank 3 of 10, certainly
all: events of 7 came for hours that had been counted by then; any of them can be this item's, until the hours are counted again

exact, all hours from 2026-11-28T12:00Z to 2026-11-30T11:00Z: 1,230,000
               hour  count  duplicates  board's late  received before
  2026-11-30T10:00Z  3,000          12             7  2026-11-30T11:10Z

buckets of 1m (1h, open hours of all time)
               from  count  error  at least  
  2026-11-30T11:57Z      9      9         0  has no counters of its own; it can have no more
  2026-11-30T11:59Z     70      5        65  
`
	if got := out; got != want {
		t.Errorf("printed\n%s", got)
	}
	if _, out, _ := call(t, "", "explain", "hashtag", "#FooBar", "--admin", url, "--buckets", "1"); !strings.Contains(out, "the newest 1 of 2") || strings.Contains(out, "11:57Z") {
		t.Errorf("one bucket:\n%s", out)
	}
	if _, out, _ := call(t, "", "explain", "hashtag", "#FooBar", "--admin", url, "--buckets", "0"); strings.Contains(out, "buckets of") {
		t.Errorf("no buckets:\n%s", out)
	}
	code, out, _ = call(t, "", "explain", "hashtag", "#FooBar", "--admin", url, "--json")
	var e explain.Explanation
	if err := json.Unmarshal([]byte(out), &e); code != exitOK || err != nil || e.Windows[1].Lower != 1_234_547 {
		t.Errorf("JSON: %d %v\n%s", code, err, out)
	}
}

func TestExplainSaysThatNothingWasCounted(t *testing.T) {
	url, _ := explaining(t, http.StatusOK, explain.Explanation{
		Type: "video", Board: "video/region=eu", ID: "x\x1b[2J", Shards: 1, Windows: []explain.Window{{Name: "1h", Listing: &explain.Listing{K: 10}}},
	})
	code, out, errText := call(t, "", "explain", "video", "x", "--board", "video/region=eu", "--admin", url)
	if code != exitFailure || !strings.Contains(errText, "has been counted on board video/region=eu") || strings.Contains(out, "\x1b") {
		t.Errorf("%d %q %s", code, out, errText)
	}
}

func TestExplainErrorsSayWhatToDo(t *testing.T) {
	url, _ := explaining(t, http.StatusNotFound, map[string]any{"error": map[string]string{"code": "unknown_type", "field": "type", "message": `is "film"; there are lists of video`}})
	for _, c := range []struct {
		code int
		want string
		args []string
	}{
		{exitFailure, "there are lists of video", []string{"film", "x", "--admin", url}},
		{exitFailure, "Give its address with --admin", []string{"video", "x", "--admin", "http://127.0.0.1:1"}},
		{exitUsage, "write how many, 0 for none, or -1 for all", []string{"video", "x", "--buckets=-2"}},
		{exitUsage, "write http://host:port", []string{"video", "x", "--admin", "somewhere"}},
		{exitUsage, "expected \"<id>\"", []string{"video"}},
	} {
		code, _, errText := call(t, "", append([]string{"explain"}, c.args...)...)
		if code != c.code || !strings.Contains(errText, c.want) {
			t.Errorf("%v: %d %s", c.args, code, errText)
		}
	}
}

func TestPlaceSaysWhyAnItemIsNotOnAList(t *testing.T) {
	full := explain.Listing{AsOf: noon, K: 3, Entries: 3, Last: 50, Cutoff: 49, Proven: 1}
	for _, c := range []struct {
		count, maxError uint64
		change          func(*explain.Listing)
		want            string
	}{
		{60, 0, func(l *explain.Listing) { l.Rank = 1 }, "rank 1 of 3, certainly"},
		{60, 0, func(l *explain.Listing) { l.Rank = 2 }, "rank 2 of 3, not certain"},
		{60, 0, func(l *explain.Listing) { l.Removed = true }, "not on it: taken down"},
		{0, 0, func(*explain.Listing) {}, "not on it: no events"},
		{40, 40, func(*explain.Listing) {}, "not on it: has no counters of its own; nothing off the list has more than 49"},
		{4, 0, func(l *explain.Listing) { l.Entries = 2 }, "not on it, which has room: counted since 2026-11-30T12:00Z"},
		{50, 1, func(*explain.Listing) {}, "not on it: as many as the last one, whose id comes first; nothing off the list has more than 49"},
		{51, 1, func(*explain.Listing) {}, "not on it: above the last one's 50 since 2026-11-30T12:00Z; it should be on the next"},
	} {
		l := full
		c.change(&l)
		w := explain.Window{Estimate: explain.Estimated(c.count, c.maxError), Listing: &l}
		if got := place(&w); got != c.want {
			t.Errorf("%d with %d, %+v: %s", c.count, c.maxError, l, got)
		}
	}
	old := explain.Window{AsOf: noon + anHour, Estimate: explain.Estimated(25, 25), Listing: &explain.Listing{AsOf: noon, K: 3, Entries: 3}}
	if got := place(&old); got != "not on it: has no counters of its own; nothing off the list had more than 0 as of 2026-11-30T12:00Z" {
		t.Errorf("a list older than the events: %s", got)
	}
	if got := place(&explain.Window{}); got != "no list yet" {
		t.Errorf("without a list: %s", got)
	}
	if got := fmt.Sprint(clock(noon + 1500)); got != "2026-11-30T12:00:01Z" {
		t.Errorf("%s", got)
	}
}
