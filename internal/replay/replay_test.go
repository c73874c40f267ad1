package replay

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"crest"
	"crest/client"
	"crest/internal/rows"
)

// fakeClock moves only when it is slept on.
type fakeClock struct{ now time.Time }

func (c *fakeClock) Now() time.Time { return c.now }

func (c *fakeClock) SleepUntil(ctx context.Context, t time.Time) error {
	c.now = t
	return ctx.Err()
}

// recorder is a server that notes what was posted when.
type recorder struct {
	clock   *fakeClock
	posts   []string // "<seconds after the start>: items"
	events  []client.Event
	refuse  string // item that is refused
	failing error
}

var start = time.Unix(2_000_000_000, 0).UTC()

func (r *recorder) Send(_ context.Context, events []client.Event) (client.Result, error) {
	if r.failing != nil {
		return client.Result{}, r.failing
	}
	post := fmt.Sprintf("%g:", r.clock.now.Sub(start).Seconds())
	result := client.Result{Retries: 1}
	for i, e := range events {
		post += " " + e.Item
		if e.Item == r.refuse {
			result.Rejected++
			result.Errors = append(result.Errors, client.Rejection{Index: i, Code: crest.CodeTooOld, Field: "ts", Message: "is old"})
			continue
		}
		result.Accepted++
	}
	r.posts = append(r.posts, post)
	r.events = append(r.events, events...)
	return result, nil
}

func replayText(t *testing.T, name, content string, c Config) (*recorder, Stats) {
	t.Helper()
	clock := &fakeClock{now: start}
	r := &recorder{clock: clock, refuse: "bad"}
	stats, err := Run(t.Context(), func() (*rows.Input, error) {
		return &rows.Input{Name: name, From: strings.NewReader(content)}, nil
	}, r, clock, c, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r, stats
}

const shuffled = "ts,item,session,category\n1003,c,s,news\n1001,a,s,\n1010,d,s,\n1001,b,t,\n1000,first,t,\n"

func TestSpeedSetsThePace(t *testing.T) {
	for _, test := range []struct {
		speed float64
		want  []string
	}{
		{1, []string{"0: first", "1: a b", "3: c", "10: d"}},
		{10, []string{"0: first", "0.1: a b", "0.3: c", "1: d"}},
		{0, []string{"0: first a", "0: b c", "0: d"}},
	} {
		r, stats := replayText(t, "x.csv", shuffled, Config{Speed: test.speed, Batch: 2, Dimensions: []string{"category", "region"}})
		if !slices.Equal(r.posts, test.want) {
			t.Errorf("speed %g: posts %q, want %q", test.speed, r.posts, test.want)
		}
		if stats.Accepted != 5 || stats.Lines != 5 || stats.Retries != uint64(len(test.want)) {
			t.Errorf("speed %g: %+v", test.speed, stats)
		}
		for _, e := range r.events {
			if e.Item == "c" && (e.Time.Unix() != 1003 || e.Session != "s" || fmt.Sprint(e.Dimensions) != "map[category:news]") {
				t.Errorf("event %+v", e)
			}
		}
	}
}

func TestShiftToNow(t *testing.T) {
	for _, test := range []struct {
		speed float64
		want  map[string]float64 // seconds after the start
	}{
		{1, map[string]float64{"first": 0, "a": 1, "c": 3, "d": 10}},
		{10, map[string]float64{"first": 0, "a": 0.1, "c": 0.3, "d": 1}},
		{0, map[string]float64{"first": -10, "a": -9, "c": -7, "d": 0}},
	} {
		for _, maxSorted := range []int{0, 4} {
			if maxSorted > 0 && test.speed > 0 {
				continue // the file is too long to find its first event
			}
			// With 4, the last moment is looked for in a second reading.
			r, _ := replayText(t, "x.csv", shuffled, Config{Speed: test.speed, Batch: 2, ShiftToNow: true, MaxSorted: maxSorted})
			for _, e := range r.events {
				want, ok := test.want[e.Item]
				if got := e.Time.Sub(start).Seconds(); ok && got != want {
					t.Errorf("speed %g: %s happens at %g s, want %g", test.speed, e.Item, got, want)
				}
			}
		}
	}
}

func TestOrderOfArrival(t *testing.T) {
	content := "ts,seen,item\n1000,1005,late\n1002,1002,now\n1009,1006,ahead\n"
	r, _ := replayText(t, "x.csv", content, Config{Speed: 1, Batch: 5, Arrived: "seen", ShiftToNow: true})
	if want := []string{"0: now", "3: late", "4: ahead"}; !slices.Equal(r.posts, want) {
		t.Errorf("posts %q, want %q", r.posts, want)
	}
	for i, want := range []float64{0, -2, 4} { // the one dated ahead happens as it arrives
		if got := r.events[i].Time.Sub(start).Seconds(); got != want {
			t.Errorf("%s happens at %g s, want %g", r.events[i].Item, got, want)
		}
	}
}

func TestIDs(t *testing.T) {
	ids := func(r *recorder) (all []string) {
		for _, e := range r.events {
			all = append(all, e.ID)
		}
		slices.Sort(all)
		return slices.Compact(all)
	}
	c := Config{Batch: 2}
	first, _ := replayText(t, "dir/x.csv", shuffled, c)
	again, _ := replayText(t, "elsewhere/x.csv", shuffled, Config{Batch: 3, Speed: 5})
	other, _ := replayText(t, "y.csv", shuffled, c)
	if len(ids(first)) != 5 || !slices.Equal(ids(first), ids(again)) {
		t.Errorf("posting a file again makes new ids: %q, %q", ids(first), ids(again))
	}
	if slices.Equal(ids(first), ids(other)) {
		t.Error("two files have the same ids")
	}
	shifted, _ := replayText(t, "x.csv", shuffled, Config{Batch: 2, ShiftToNow: true})
	if slices.Equal(ids(first), ids(shifted)) {
		t.Error("shifted events have the ids of the old ones")
	}
	own, _ := replayText(t, "x.ndjson", `{"id":"mine","ts":1,"item":"a"}`+"\n", c)
	if own.events[0].ID != "mine" {
		t.Errorf("the file's id became %q", own.events[0].ID)
	}
}

func TestBadLinesAndRefusedEventsAreNamed(t *testing.T) {
	content := `{"ts_ms":1,"item":"a","type":"x","weight":3}
{"item":"no time"}
{"ts_ms":"soon","item":"b"}
{"time":"2026-11-30T00:00:00Z","item":"bad"}
{"ts":2,"item":"w","weight":0}
`
	r, stats := replayText(t, "x.ndjson", content, Config{Batch: 10, Type: "video"})
	if len(r.events) != 2 || r.events[0].Weight != 3 || r.events[0].Type != "video" {
		t.Errorf("events %+v", r.events)
	}
	if stats.Lines != 5 || stats.Unusable != 3 || stats.Accepted != 1 || stats.Rejected != 1 || stats.ByCode[crest.CodeTooOld] != 1 {
		t.Errorf("stats %+v", stats)
	}
	want := "x.ndjson, line 2: time: is missing (missing_field)\nx.ndjson, line 3: \"soon\" is no time; write RFC 3339 with a zone, such as " +
		"2026-11-30T10:42:00Z, or seconds or milliseconds since 1970 (malformed)\nx.ndjson, line 5: weight: is \"0\"; it must be a whole number from 1 (out_of_range)\n" +
		"event \"bad\": ts: is old (too_old)"
	if got := strings.Join(stats.Reasons, "\n"); got != want {
		t.Errorf("reasons:\n%s\nwant:\n%s", got, want)
	}
}

func TestFilesTooLongToSort(t *testing.T) {
	var content strings.Builder
	content.WriteString("ts,item\n")
	for i := range 100 {
		fmt.Fprintf(&content, "%d,v%d\n", 1000+i, i)
	}
	content.WriteString("1000,far\n")
	r, stats := replayText(t, "x.csv", content.String(), Config{Batch: 50, MaxSorted: 10})
	if stats.Disorder != 1 || len(r.events) != 101 || r.events[91].Item != "far" {
		t.Errorf("%d out of order, %d posted, %q", stats.Disorder, len(r.events), r.events[91].Item)
	}
}

func TestFailures(t *testing.T) {
	clock := &fakeClock{now: start}
	open := func(content string) func() (*rows.Input, error) {
		return func() (*rows.Input, error) {
			return &rows.Input{Name: "x.csv", From: strings.NewReader(content)}, nil
		}
	}
	gone := errors.New("server gone")
	if _, err := Run(t.Context(), open(shuffled), &recorder{clock: clock, failing: gone}, clock, Config{Batch: 1}, nil); !errors.Is(err, gone) {
		t.Errorf("got %v", err)
	}
	if _, err := Run(t.Context(), open("item\na\n"), &recorder{clock: clock}, clock, Config{Batch: 1}, nil); crest.CodeOf(err) != crest.CodeMissingField {
		t.Errorf("a file without time: %v", err)
	}
	if _, err := Run(t.Context(), open(shuffled), &recorder{clock: clock}, clock, Config{Batch: 1, Time: "when"}, nil); err == nil || !strings.Contains(err.Error(), "when: is no column") {
		t.Errorf("a wrong time column: %v", err)
	}
	if _, err := Run(t.Context(), open(shuffled), &recorder{clock: clock}, clock, Config{}, nil); err == nil {
		t.Error("a batch of 0 was taken")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Run(ctx, open(shuffled), &recorder{clock: clock}, clock, Config{Batch: 1, Speed: 1}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	stats, err := Run(t.Context(), open("ts,item\n"), &recorder{clock: clock}, clock, Config{Batch: 1, ShiftToNow: true}, nil)
	if err != nil || stats.Lines != 0 {
		t.Errorf("an empty file: %+v, %v", stats, err)
	}
}
