package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"crest"
	"crest/internal/config"
	"crest/internal/counts"
	"crest/internal/exact/exacttest"
	"crest/internal/recount"
)

// served is a server that gives one list of articles, and an operator's endpoint that archives.
func served(t *testing.T, list crest.List) (url string, commits *int) {
	t.Helper()
	commits = new(int)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/lists", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"windows":[{"name":"5m"},{"name":%q}],"lists":[{"board":%q,"window":%q,"url":"/v1/top?x","version":"v","max_k":100},{"board":"article","window":"5m"}]}`,
			list.Window, list.Board, list.Window)
	})
	mux.HandleFunc("GET /v1/top", func(w http.ResponseWriter, r *http.Request) {
		if k := r.URL.Query().Get("k"); k != "100" {
			t.Errorf("asked for %s entries", k)
		}
		text, err := json.Marshal(list)
		if err != nil {
			t.Error(err)
		}
		w.Write(text)
	})
	mux.HandleFunc("POST /v1/archive:commit", func(w http.ResponseWriter, _ *http.Request) {
		*commits++
		fmt.Fprint(w, `{"watermark":"2026-11-30T13:00:00Z"}`)
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s.URL, commits
}

// listOf is the right list of all events of a range, but for what change does to it.
func listOf(events []exacttest.Received, from, asOf crest.Millis, k int, change func(*crest.List)) crest.List {
	top, total, _ := naiveTop(events, from, asOf, asOf, func(*crest.Event) bool { return true })
	l := crest.List{Type: "article", Board: "article", Window: "24h", K: k, Version: "v", GeneratedAt: asOf, From: from, AsOf: asOf, Dedup: crest.DedupFull, Total: total}
	for i, e := range top {
		if i == k {
			l.Cutoff = e.Count
			break
		}
		l.Top = append(l.Top, crest.Entry{ID: e.Item, Count: e.Count})
	}
	l.Label()
	change(&l)
	return l
}

func TestCompareHoldsListsAgainstTheEvents(t *testing.T) {
	const seed = 11
	events := someEvents(seed, 2000)
	data := archiveOf(t, events, nine+4*oclk)
	from, asOf := nine-20*oclk, nine+2*oclk
	for _, c := range []struct {
		name   string
		change func(*crest.List)
		want   string // that is wrong; "" when nothing is
	}{
		{"right", func(*crest.List) {}, ""},
		{"within the error", func(l *crest.List) { l.Top[2].Count += 5; l.Top[2].Error = 5; l.Proven = 0 }, ""},
		{"above the error", func(l *crest.List) { l.Top[0].Count += 5000; l.Top[0].Error = 5 }, "1 above the error"},
		{"below the truth", func(l *crest.List) { l.Top[3].Count--; l.Top[3].Error = 9 }, "1 below the truth"},
		{"missing", func(l *crest.List) { l.Top = l.Top[1:]; l.Proven = 0 }, "1 missing above the cutoff"},
		{"wrong order", func(l *crest.List) { l.Top[0], l.Top[1] = l.Top[1], l.Top[0]; l.Proven = 2 }, "proven ranks wrong"},
		{"lacks the beginning", func(l *crest.List) { l.Top[3].Count--; l.Since = nine + oclk }, ""},
		{"has all since the beginning", func(l *crest.List) { l.Top[3].Count--; l.Since = nine }, "1 below the truth"},
	} {
		url, commits := served(t, listOf(events, from, asOf, 20, c.change))
		code, out, errText := call(t, "", "compare", "--preset", "shares", "--data", data, "--server", url, "--admin", url)
		if *commits != 1 {
			t.Errorf("%s: %d commits", c.name, *commits)
		}
		if c.want == "" && (code != exitOK || !strings.Contains(out, "holds")) || c.want != "" && (code != exitFailure || !strings.Contains(out, c.want) || !strings.Contains(errText, "1 of 1 lists")) {
			t.Errorf("seed %d, %s: %d %s\n%s", seed, c.name, code, errText, out)
		}
	}
	url, _ := served(t, listOf(events, from, asOf, 20, func(l *crest.List) { l.Top[0].Count += 5000 }))
	code, out, _ := call(t, "", "compare", "--preset", "shares", "--data", data, "--server", url, "--admin", "", "--json")
	var got struct {
		Lists []struct {
			Board, Window string
			Faults        []string
			Examples      []struct{ Truth uint64 }
			Source        string
		}
		Hours []any
	}
	if err := json.Unmarshal([]byte(out), &got); code != exitFailure || err != nil || len(got.Lists) != 1 || got.Lists[0].Faults[0] != "above_error" || got.Hours == nil {
		t.Errorf("%d %v\n%s", code, err, out)
	}
}

func TestCompareSaysWhatCanNotBeCompared(t *testing.T) {
	events := someEvents(2, 300)
	data := archiveOf(t, events, nine+4*oclk)
	url, _ := served(t, listOf(events, nine-20*oclk, nine+5*oclk, 20, func(*crest.List) {}))
	code, out, _ := call(t, "", "compare", "--preset", "shares", "--data", data, "--server", url, "--admin", url)
	if code != exitOK || !strings.Contains(out, "not compared: the archive has what was received before 2026-11-30T13:00Z only") {
		t.Errorf("%d %s", code, out)
	}
	for _, c := range []struct {
		code int
		want string
		args []string
	}{
		{exitUsage, "--window 2h: the server has lists of 5m, 24h", []string{"--window", "2h"}},
		{exitFailure, "--board film: the server has no list of it; it has those of article", []string{"--board", "film"}},
		{exitFailure, "has no lists yet", []string{"--window", "5m"}},
		{exitUsage, "there is nothing to compare; give --hours", []string{"--server", ""}},
		{exitUsage, "--k: is -1", []string{"--k=-1"}},
		{exitUsage, "--memory: is 63MiB; it must be from 64MiB", []string{"--memory", "63MiB"}},
		{exitUsage, "--board: says which lists of a server are compared", []string{"--server", "", "--hours", "--board", "nope"}},
		{exitUsage, "--window: says which lists of a server are compared", []string{"--server", "", "--hours", "--window", "1h"}},
		{exitUsage, "--k: says which lists of a server are compared", []string{"--server", "", "--hours", "--k", "3"}},
		{exitFailure, "there is nothing to compare", []string{"--server", "", "--hours"}},
		{exitFailure, "Give its address with --admin", []string{"--admin", "http://127.0.0.1:1"}},
		{exitFailure, "Give its address with --server", []string{"--server", "http://127.0.0.1:1"}},
		{exitFailure, "there is no archive in", []string{"--data", t.TempDir()}},
		{exitFailure, "name what the server runs with: --preset or --config", []string{"--preset", "views"}},
	} {
		args := append([]string{"compare", "--preset", "shares", "--data", data, "--server", url, "--admin", url}, c.args...)
		if c.args[0] == "--preset" {
			args = append([]string{"compare", "--data", data, "--server", url, "--admin", url}, c.args...)
		}
		code, _, errText := call(t, "", args...)
		if code != c.code || !strings.Contains(errText, c.want) {
			t.Errorf("%v: %d %s", c.args, code, errText)
		}
	}
}

// sliceCursor reads rows of a slice.
type sliceCursor struct {
	rows []counts.Row
	at   int
}

func (c *sliceCursor) Next() bool      { c.at++; return c.at <= len(c.rows) }
func (c *sliceCursor) Row() counts.Row { return c.rows[c.at-1] }
func (c *sliceCursor) Err() error      { return nil }
func (c *sliceCursor) Close() error    { return nil }

func TestCompareRowsFindsEveryDifference(t *testing.T) {
	const seed = 5
	random := rand.New(rand.NewPCG(seed, 0))
	for range 200 {
		var truth, has []counts.Row
		different := int64(0)
		for i := range 20 {
			row := counts.Row{Board: "article", Item: fmt.Sprintf("a%02d", i), Count: 1 + random.Uint64N(9), Duplicates: random.Uint64N(2)}
			switch random.IntN(8) {
			case 0:
				truth = append(truth, row)
				different++
			case 1:
				has = append(has, row)
				different++
			case 2:
				truth = append(truth, row)
				row.Count++
				has = append(has, row)
				different++
			default:
				truth, has = append(truth, row), append(has, row)
			}
		}
		var c comparedHour
		raw := startRows(t.Context(), func(_ context.Context, each func(counts.Row) error) error {
			for _, r := range truth {
				if err := each(r); err != nil {
					return err
				}
			}
			return nil
		})
		if err := compareRows(raw, &sliceCursor{rows: has}, &c); err != nil || c.Different != different || len(c.Examples) != int(min(different, mostExamples)) {
			t.Fatalf("seed %d: %v, %d different, want %d; %v", seed, err, c.Different, different, c.Examples)
		}
		raw.Close()
	}
}

func TestRowsReadWhileTheyAreCounted(t *testing.T) {
	broken := errors.New("broken")
	count := func(n int, end error) *ranking {
		return startRows(t.Context(), func(_ context.Context, each func(counts.Row) error) error {
			for i := range n {
				if err := each(counts.Row{Count: uint64(i)}); err != nil {
					return err
				}
			}
			return end
		})
	}
	for _, n := range []int{0, 1, rankingBatch - 1, rankingBatch, rankingBatch + 1, 10 * rankingBatch} {
		r := count(n, nil)
		read := 0
		for r.Next() {
			if r.Row().Count != uint64(read) {
				t.Fatalf("row %d is %d", read, r.Row().Count)
			}
			read++
		}
		if r.Err() != nil || read != n {
			t.Errorf("%d rows of %d, %v", read, n, r.Err())
		}
		r.Close()
	}
	r := count(3, broken)
	for r.Next() {
	}
	if !errors.Is(r.Err(), broken) {
		t.Errorf("%v", r.Err())
	}
	r = count(100*rankingBatch, nil)
	r.Next()
	r.Close() // ends the count, and doesn't hang
}

// TestRecountThenCompareHours counts an archive, and then every hour of it again.
func TestRecountThenCompareHours(t *testing.T) {
	events := someEvents(21, 2000)
	data := archiveOf(t, events, nine+5*oclk)
	code, out, errText := call(t, "", "recount", "--preset", "shares", "--data", data, "--json")
	var report struct {
		ExactUntil time.Time `json:"exact_until"`
		Hours      []struct{ Weight, Duplicates uint64 }
	}
	if err := json.Unmarshal([]byte(out), &report); code != exitOK || err != nil || report.ExactUntil != (nine+3*oclk).Time() && report.ExactUntil != (nine+4*oclk).Time() {
		t.Fatalf("recount: %d %v\n%s%s", code, err, out, errText)
	}
	top, total, _ := naiveTop(events, 0, nine+5*oclk, nine+5*oclk, func(*crest.Event) bool { return true })
	sum := uint64(0)
	for _, h := range report.Hours {
		sum += h.Weight
	}
	if sum != total || len(top) == 0 {
		t.Errorf("%d counted of %d", sum, total)
	}
	code, out, errText = call(t, "", "compare", "--preset", "shares", "--data", data, "--server", "", "--hours")
	if code != exitOK || strings.Count(out, "2026-11-30T") < 3 {
		t.Errorf("compare: %d %s\n%s", code, errText, out)
	}
	code, out, _ = call(t, "", "recount", "--preset", "shares", "--data", data, "--hour", "2026-11-30T09")
	if code != exitOK || !strings.Contains(out, "nothing to do: hour 2026-11-30T09 had been counted") {
		t.Errorf("again: %d %s", code, out)
	}
	code, out, _ = call(t, "", "recount", "--preset", "shares", "--data", data, "--hour", "2026-11-30T09", "--force")
	if code != exitOK || strings.Count(out, "forced") != 1 {
		t.Errorf("forced: %d %s", code, out)
	}
}

// TestAllTimeWithoutTheOldEventsIsTheSame counts all time from the events, and then as if those of the first two hours had
// been deleted.
func TestAllTimeWithoutTheOldEventsIsTheSame(t *testing.T) {
	const seed = 31
	events := someEvents(seed, 2000)
	until := nine + 5*oclk
	data := archiveOf(t, events, until)
	if code, _, errText := call(t, "", "recount", "--preset", "shares", "--data", data); code != exitOK {
		t.Fatalf("recount: %d %s", code, errText)
	}
	cfg, err := config.Preset("shares")
	if err != nil {
		t.Fatal(err)
	}
	cfg.Data = data
	view, err := openArchive(&cfg)
	if err != nil {
		t.Fatal(err)
	}
	x := comparing{cfg: &cfg, settings: recount.ConfigOf(&cfg), view: view, progress: newRecountProgress(&streams{}, true)}
	sums := map[string]uint64{}
	err = x.truthOfAllTime(t.Context(), nine+2*oclk, until, []string{"article"}, func(r counts.Row) error {
		if r.Board == "article" {
			sums[r.Item] += r.Count
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	top, _, _ := naiveTop(events, 0, until, until, func(*crest.Event) bool { return true })
	if len(sums) != len(top) {
		t.Errorf("seed %d: %d items, want %d", seed, len(sums), len(top))
	}
	for _, e := range top {
		if sums[e.Item] != e.Count {
			t.Errorf("seed %d: %s has %d, want %d", seed, e.Item, sums[e.Item], e.Count)
		}
	}
	cfg.Data = t.TempDir()
	x.settings = recount.ConfigOf(&cfg)
	err = x.truthOfAllTime(t.Context(), nine+2*oclk, until, []string{"article"}, func(counts.Row) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "run crest recount") {
		t.Errorf("without counts: %v", err)
	}
}
