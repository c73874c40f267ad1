package main

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"crest"
	"crest/internal/config"
	"crest/internal/counts"
	"crest/internal/grade"
	"crest/internal/httpapi"
	"crest/internal/list"
)

// gradedHour is the first hour that testGrades grades.
var gradedHour = crest.MillisOf(time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC))

// publishing takes lists for granted.
type publishing struct{}

func (publishing) Publish([]crest.List)                   {}
func (publishing) Current(string, string) *list.Published { return nil }

// knownTruth is a truth of two items.
type knownTruth struct{}

func (knownTruth) Reach() list.Reach { return list.Reach{} }

func (knownTruth) Truth(_ context.Context, _, _ crest.Millis, each func(counts.Row) error) error {
	for _, row := range []counts.Row{{Board: "video", Item: "a", Count: 1200}, {Board: "video", Item: "b", Count: 7, Duplicates: 1}} {
		if err := each(row); err != nil {
			return err
		}
	}
	return nil
}

func (k knownTruth) Has(string, crest.Millis, crest.Millis) bool { return true }

func (k knownTruth) Rank(ctx context.Context, from, asOf crest.Millis, each func(counts.Row) error) error {
	return k.Truth(ctx, from, asOf, each)
}

// testGrades makes a data directory with the grades of three hours, one list a window; those of the last are of counts that the
// change makes.
func testGrades(t *testing.T, change func(*crest.List)) (data string) {
	t.Helper()
	data = t.TempDir()
	cfg, err := config.Preset("views")
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(data, "grades")
	sampler := grade.NewSampler(publishing{}, grade.SamplerConfig{Dir: dir})
	for h := range 3 {
		for _, window := range []string{"1m", "1h", "24h"} {
			l := crest.List{Type: "video", Board: "video", Window: window, AsOf: gradedHour.Add(time.Duration(h+1) * time.Hour), K: 1000, Top: []crest.Entry{
				{Rank: 1, ID: "a", Count: 1203, Error: 12}, {Rank: 2, ID: "b", Count: 7},
			}}
			if h == 2 && change != nil {
				change(&l)
			}
			sampler.Publish([]crest.List{l})
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := sampler.Run(ctx); err != nil {
		t.Fatal(err)
	}
	grader := grade.NewGrader(grade.Config{Dir: dir, Windows: cfg.Windows, Boards: []string{"video"}})
	for h := range 3 {
		if _, err := grader.Hour(t.Context(), knownTruth{}, gradedHour.Add(time.Duration(h)*time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	return data
}

func TestGradesThatAreGood(t *testing.T) {
	data := testGrades(t, nil)
	code, out, stderr := call(t, "", "grades", "--data", data, "--check")
	if code != exitOK || stderr != "" {
		t.Fatalf("%d %s", code, stderr)
	}
	lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	want := "All 9 graded lists kept their promises: recall@100 is at least 100 %, and no count is more than 3 too high (its error says 12). 3 more could not be graded."
	if lines[0] != want || len(lines) != 15 {
		t.Errorf("%d lines:\n%s", len(lines), out)
	}
	for i, fields := range map[int]string{
		3:  "2026-11-30 12:00 video 1m 100 % 100 % 1 of 2 3 of 12 0.00, most 0 holds",
		6:  "2026-11-30 12:00 video all not graded: no list of this moment was published",
		14: "2026-11-30 10:00 video all not graded: no list of this moment was published",
	} {
		if got := strings.Join(strings.Fields(lines[i]), " "); got != fields {
			t.Errorf("line %d: %q, want %q", i, got, fields)
		}
	}
}

func TestGradesAreChosen(t *testing.T) {
	data := testGrades(t, nil)
	for _, c := range []struct {
		args []string
		want []string // as_of and window
	}{
		{[]string{"--last", "1", "--window", "1h"}, []string{"12:00 1h"}},
		{[]string{"--last", "2", "--window", "24h", "--board", "video"}, []string{"12:00 24h", "11:00 24h"}},
		{[]string{"--window", "1m"}, []string{"12:00 1m", "11:00 1m", "10:00 1m"}},
	} {
		code, out, stderr := call(t, "", append([]string{"grades", "--data", data, "--json"}, c.args...)...)
		var report gradesReport
		if err := json.Unmarshal([]byte(out), &report); err != nil || code != exitOK {
			t.Fatalf("%v: %d %s: %v", c.args, code, stderr, err)
		}
		var got []string
		for _, g := range report.Grades {
			got = append(got, g.AsOf.Format("15:04 ")+g.Window)
		}
		if !slices.Equal(got, c.want) || report.Failed != 0 || report.Missing != 0 {
			t.Errorf("%v: %v, %d failed, %d missing; want %v", c.args, got, report.Failed, report.Missing, c.want)
		}
	}
}

func TestGradesThatFailed(t *testing.T) {
	data := testGrades(t, func(l *crest.List) {
		switch l.Window {
		case "1m":
			l.Top[0].Error, l.Top[1].Count = 1, 3
		case "1h":
			l.Top, l.Cutoff = l.Top[:1], 6
		}
	})
	code, out, stderr := call(t, "", "grades", "--data", data, "--check")
	if code != exitFailure || !strings.Contains(stderr, "2 of 12 lists broke a promise") {
		t.Errorf("%d %s", code, stderr)
	}
	for _, want := range []string{
		"video 1m as of 2026-11-30 12:00: WRONG: 1 below the truth, 1 above the error\n",
		`  rank 2, "b": count 3, error 0, truth 7, sent again 1` + "\n",
		`  rank 1, "a": count 1,203, error 1, truth 1,200` + "\n",
		"video 1h as of 2026-11-30 12:00: WRONG: recall@100 is 50.0 %, 1 missing above the cutoff\n",
		`  off the list, "b": cutoff 6, truth 7, sent again 1` + "\n",
		"2 of 9 graded lists broke a promise: that is a bug, not bad luck. 3 more could not be graded.\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
	if code, _, _ := call(t, "", "grades", "--data", data); code != exitOK {
		t.Errorf("without --check: %d", code)
	}
	if code, _, _ := call(t, "", "grades", "--data", data, "--check", "--window", "24h"); code != exitOK {
		t.Errorf("of a window that is well: %d", code)
	}
}

func TestGradesFromAServer(t *testing.T) {
	data := testGrades(t, nil)
	cfg, err := config.Preset("views")
	if err != nil {
		t.Fatal(err)
	}
	store, err := list.Open(list.Config{Windows: cfg.Windows, MaxK: 10})
	if err != nil {
		t.Fatal(err)
	}
	handler, err := httpapi.NewPublic(httpapi.Public{Config: &cfg, Lists: store, Grades: grade.NewReader(filepath.Join(data, "grades"))})
	if err != nil {
		t.Fatal(err)
	}
	running := httptest.NewServer(handler)
	defer running.Close()
	_, here, _ := call(t, "", "grades", "--data", data, "--board", "video")
	code, there, stderr := call(t, "", "grades", "--server", running.URL, "--board", "video")
	if code != exitOK || there != here {
		t.Errorf("%d %s\n%s\nand in the directory\n%s", code, stderr, there, here)
	}
	if code, _, stderr := call(t, "", "grades", "--server", running.URL, "--window", "2h"); code != exitFailure || !strings.Contains(stderr, "the windows are 1m, 1h, 24h, all") {
		t.Errorf("%d %s", code, stderr)
	}
}

func TestDamagedGradesAreTold(t *testing.T) {
	data := testGrades(t, nil)
	path := filepath.Join(data, "grades", "date=2026-11-30", "hour=10.json")
	if err := os.WriteFile(path, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, stderr := call(t, "", "grades", "--data", data, "--check")
	if code != exitFailure || !strings.HasPrefix(out, "The grades of an hour can't be read: 2026-11-30T10 ("+path) || !strings.Contains(stderr, "hours whose grades are damaged: 1") {
		t.Errorf("%d %s\n%s", code, stderr, out)
	}
}

func TestGradesMistakes(t *testing.T) {
	data := testGrades(t, nil)
	for _, c := range []struct {
		code int
		want string
		args []string
	}{
		{exitUsage, "--last: is 0", []string{"--last", "0"}},
		{exitUsage, "--last: is 100000", []string{"--last", "100000"}},
		{exitUsage, "leave out --data", []string{"--server", "http://127.0.0.1:1", "--data", data}},
		{exitUsage, "write http://host:port", []string{"--server", "here"}},
		{exitFailure, "is crest serve running there? Give its address with --server", []string{"--server", "http://127.0.0.1:1"}},
		{exitFailure, "about ten minutes after its end", []string{"--data", t.TempDir()}},
		{exitFailure, "the newest hour has those of video 1m, video 1h, video 24h, video all", []string{"--data", data, "--board", "song"}},
	} {
		code, _, stderr := call(t, "", append([]string{"grades"}, c.args...)...)
		if code != c.code || !strings.Contains(stderr, c.want) {
			t.Errorf("%v: %d %s", c.args, code, stderr)
		}
	}
	if code, out, _ := call(t, "", "grades", "--help"); code != exitOK || !strings.Contains(out, "Examples:") {
		t.Errorf("--help: %d", code)
	}
}
