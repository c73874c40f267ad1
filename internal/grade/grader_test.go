package grade

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"crest"
	"crest/internal/counts"
	"crest/internal/list"
)

var update = flag.Bool("update", false, "write golden files anew")

var (
	fiveMinutes = crest.Window{Name: "5m", Length: 5 * time.Minute, Bucket: 10 * time.Second, Refresh: time.Second}
	oneHour     = crest.Window{Name: "1h", Length: time.Hour, Bucket: time.Minute, Refresh: time.Minute}
	allTime     = crest.Window{Name: "all", Refresh: time.Minute}
	daily       = crest.Window{Name: "daily", Length: 48 * time.Hour, Bucket: 24 * time.Hour, Refresh: 24 * time.Hour}
)

// world is a truth of fixed rows.
type world struct {
	reach list.Reach
	rows  []counts.Row
	asked []string
	err   error  // of what is not on an hour
	lacks string // a board that it doesn't have
}

func (w *world) Reach() list.Reach { return w.reach }

func (w *world) Has(board string, _, _ crest.Millis) bool { return board != w.lacks }

func (w *world) Truth(ctx context.Context, from, asOf crest.Millis, each func(counts.Row) error) error {
	return w.stream(ctx, "whole", from, asOf, each)
}

func (w *world) Rank(ctx context.Context, from, asOf crest.Millis, each func(counts.Row) error) error {
	return errors.Join(w.stream(ctx, "raw", from, asOf, each), w.err)
}

func (w *world) stream(ctx context.Context, how string, from, asOf crest.Millis, each func(counts.Row) error) error {
	w.asked = append(w.asked, fmt.Sprintf("%s %s %s", how, from.Time().Format("02T15:04"), asOf.Time().Format("02T15:04")))
	for _, row := range w.rows {
		if err := errors.Join(ctx.Err(), each(row)); err != nil {
			return err
		}
	}
	return nil
}

func worldOfVideos() *world {
	return &world{
		reach: list.Reach{First: endOfHour.Add(-30 * time.Hour), Until: endOfHour},
		rows: []counts.Row{
			{Board: "hashtag", Item: "a", Count: 7},
			{Board: "hashtag", Item: "b", Count: 1},
			{Board: "song", Item: "a", Count: 3}, // of which there is no list
			{Board: "video", Item: "a", Count: 7, Duplicates: 2},
			{Board: "video", Item: "b", Count: 1},
		},
	}
}

func graderIn(dir string, observer Observer) *Grader {
	return NewGrader(Config{Dir: dir, Windows: []crest.Window{fiveMinutes, oneHour, allTime, daily}, Boards: []string{"video", "hashtag"}, Observer: observer})
}

// samplesOfVideos keeps lists of all windows but one board.
func samplesOfVideos(t *testing.T, dir string) {
	t.Helper()
	refresh := []crest.List{sampleOf("zebra", "1h", endOfHour, 1)}
	for _, window := range []string{"5m", "1h", "all"} {
		video := sampleOf("video", window, endOfHour, 9)
		video.Top = append(video.Top, crest.Entry{Rank: 2, ID: "b", Count: 1})
		refresh = append(refresh, video)
	}
	tags := sampleOf("hashtag", "1h", endOfHour, 6) // below the truth
	tags.Top = append(tags.Top, crest.Entry{Rank: 2, ID: "b", Count: 1})
	sample(t, SamplerConfig{Dir: dir}, append(refresh, tags))
}

func summary(grades []Grade) (lines []string) {
	for _, g := range grades {
		line := g.Board + " " + g.Window
		if g.Missing {
			line += " missing: " + g.Reason
		}
		for _, fault := range g.Faults {
			line += " " + string(fault)
		}
		lines = append(lines, line)
	}
	return lines
}

func TestAnHourIsGraded(t *testing.T) {
	dir := t.TempDir()
	samplesOfVideos(t, dir)
	var told []Grade
	g := graderIn(dir, Observer{Graded: func(g Grade) { told = append(told, g) }})
	truth := worldOfVideos()
	hour := endOfHour.Add(-time.Hour)
	grades, err := g.Hour(t.Context(), truth, hour)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"hashtag 5m missing: no list of this moment was published",
		"hashtag 1h below_truth",
		"hashtag all missing: no list of this moment was published",
		"video 5m", "video 1h", "video all",
		"zebra 1h above_error",
	}
	if got := summary(grades); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if want := []string{"raw 30T10:55 30T11:00", "whole 30T10:00 30T11:00", "whole 01T00:00 30T11:00"}; !slices.Equal(truth.asked, want) {
		t.Errorf("asked for %q, want %q", truth.asked, want)
	}
	if !reflect.DeepEqual(told, grades) {
		t.Errorf("told of %v", summary(told))
	}
	if v := grades[4]; v.Exact != 1 || v.LargestOverCount.Over() != 2 || v.LargestOverCount.Repeats != 2 || v.Repeats != 2 || v.Version != "v9" {
		t.Errorf("%+v", v)
	}
	if again, err := readHour(dir, hour); err != nil || !reflect.DeepEqual(again, grades) {
		t.Errorf("on disk: %+v, %v", again, err)
	}
	if left, err := sampleHours(dir); err != nil || len(left) != 0 {
		t.Errorf("samples left: %v, %v", left, err)
	}
	file, err := os.ReadFile(gradePath(dir, hour))
	if err != nil {
		t.Fatal(err)
	}
	if again, err := g.Hour(t.Context(), truth, hour); err != nil || !reflect.DeepEqual(again, grades) {
		t.Errorf("a second time: %v, %v", summary(again), err)
	}
	if after, err := os.ReadFile(gradePath(dir, hour)); err != nil || !bytes.Equal(file, after) {
		t.Errorf("a second time the file is another, %v", err)
	}
}

func TestTheSameHourGivesTheSameBytes(t *testing.T) {
	var files [2][]byte
	for i := range files {
		dir := t.TempDir()
		samplesOfVideos(t, dir)
		if _, err := graderIn(dir, Observer{}).Hour(t.Context(), worldOfVideos(), endOfHour.Add(-time.Hour)); err != nil {
			t.Fatal(err)
		}
		var err error
		if files[i], err = os.ReadFile(gradePath(dir, endOfHour.Add(-time.Hour))); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(files[0], files[1]) {
		t.Errorf("%s\n%s", files[0], files[1])
	}
}

func TestAWindowWithoutTruth(t *testing.T) {
	dir := t.TempDir()
	samplesOfVideos(t, dir)
	truth := worldOfVideos()
	truth.err = errors.New("the raw hour is gone")
	g := graderIn(dir, Observer{})
	grades, err := g.Hour(t.Context(), truth, endOfHour.Add(-time.Hour))
	if !errors.Is(err, truth.err) {
		t.Errorf("error %v", err)
	}
	if got := summary(grades); !slices.Contains(got, "video 5m missing: the exact counts of this time could not be read") || !slices.Contains(got, "video 1h") {
		t.Errorf("%q", got)
	}
	if left, _ := sampleHours(dir); len(left) != 1 {
		t.Error("the samples are gone, so that nobody can try again")
	}
	truth.err = nil
	if grades, err = g.Hour(t.Context(), truth, endOfHour.Add(-time.Hour)); err != nil || !slices.Contains(summary(grades), "video 5m") {
		t.Errorf("when the truth is back: %q, %v", summary(grades), err)
	}
}

func TestABoardThatTheTruthDoesNotHave(t *testing.T) {
	dir := t.TempDir()
	samplesOfVideos(t, dir)
	truth := worldOfVideos()
	truth.lacks = "hashtag"
	grades, err := graderIn(dir, Observer{}).Hour(t.Context(), truth, endOfHour.Add(-time.Hour))
	got := summary(grades)
	if err != nil || !slices.Contains(got, "hashtag 1h missing: the exact counts of this time do not have this board") || !slices.Contains(got, "video 1h") {
		t.Errorf("%q, %v", got, err)
	}
}

func TestAStopLeavesEverythingAsItWas(t *testing.T) {
	dir := t.TempDir()
	samplesOfVideos(t, dir)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := graderIn(dir, Observer{}).Hour(ctx, worldOfVideos(), endOfHour.Add(-time.Hour)); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if days, _ := dates(dir); len(days) != 0 {
		t.Errorf("grades were written: %v", days)
	}
	if left, _ := sampleHours(dir); len(left) != 1 {
		t.Error("the samples are gone")
	}
}

func TestADamagedSampleIsNamedAndMissing(t *testing.T) {
	dir := t.TempDir()
	samplesOfVideos(t, dir)
	path := samplePath(dir, endOfHour, "1h")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, bytes.Replace(data, []byte(`"board":"video"`), []byte(`"board":"vadeo"`), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	var named []string
	grades, err := graderIn(dir, Observer{Corrupt: func(name string, _ error) { named = append(named, name) }}).Hour(t.Context(), worldOfVideos(), endOfHour.Add(-time.Hour))
	if got := summary(grades); err != nil || !slices.Contains(got, "video 1h missing: what was kept of the list is damaged") || !slices.Contains(got, "hashtag 1h below_truth") {
		t.Errorf("%q, %v", got, err)
	}
	if !slices.Equal(named, []string{path + ":2"}) {
		t.Errorf("named %q", named)
	}
}

func TestDamagedGradesAreMadeAgain(t *testing.T) {
	dir := t.TempDir()
	samplesOfVideos(t, dir)
	hour := endOfHour.Add(-time.Hour)
	if err := writeFile(gradePath(dir, hour), []byte("{")); err != nil {
		t.Fatal(err)
	}
	named := ""
	grades, err := graderIn(dir, Observer{Corrupt: func(name string, _ error) { named = name }}).Hour(t.Context(), worldOfVideos(), hour)
	if err != nil || len(grades) != 7 || named != gradePath(dir, hour) {
		t.Errorf("%d grades, %v, named %q", len(grades), err, named)
	}
}

func TestListsThatLackWhatTheTruthHas(t *testing.T) {
	for _, c := range []struct {
		name         string
		since, first crest.Millis
		archive      crest.Millis // since when there is an archive
		lacks        bool
	}{
		{"counted longer than the window", 0, endOfHour.Add(-30 * time.Hour), 0, false},
		{"counted from within the window on", endOfHour.Add(-10 * time.Minute), endOfHour.Add(-30 * time.Hour), 0, true},
		{"nothing was received before", endOfHour.Add(-time.Hour), endOfHour.Add(-time.Hour), 0, false},
		{"the archive is as young", endOfHour.Add(-10 * time.Minute), endOfHour.Add(-30 * time.Hour), endOfHour.Add(-10 * time.Minute), false},
	} {
		dir := t.TempDir()
		l := sampleOf("video", "1h", endOfHour, 1) // far below the truth
		l.From, l.Since = endOfHour.Add(-time.Hour), c.since
		sample(t, SamplerConfig{Dir: dir}, []crest.List{l})
		truth := worldOfVideos()
		truth.reach.First, truth.reach.Since = c.first, c.archive
		grades, err := graderIn(dir, Observer{}).Hour(t.Context(), truth, endOfHour.Add(-time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(grades, func(g Grade) bool { return !g.Missing })
		if g := grades[i]; g.Failed() == c.lacks || g.Since.IsZero() == c.lacks {
			t.Errorf("%s: %+v", c.name, g)
		}
	}
}

func TestDueAndRetention(t *testing.T) {
	dir := t.TempDir()
	g := graderIn(dir, Observer{})
	at := func(hours int) crest.Millis { return endOfHour.Add(time.Duration(hours) * time.Hour) }
	for _, h := range []int{0, 2} {
		if _, err := g.Hour(t.Context(), worldOfVideos(), at(h)); err != nil {
			t.Fatal(err)
		}
	}
	if due, err := g.Due(at(-1), at(4)); err != nil || !slices.Equal(due, []crest.Millis{at(-1), at(1), at(3)}) {
		t.Errorf("due %v, %v", due, err)
	}
	if due, err := g.Due(0, at(0)); err != nil || len(due) != 7*24 || due[0] != at(-7*24) {
		t.Errorf("%d due, %v", len(due), err)
	}
	if _, err := g.Hour(t.Context(), worldOfVideos(), at(400*24+12)); err != nil {
		t.Fatal(err)
	}
	if days, err := dates(dir); err != nil || !slices.Equal(days, []string{dateDirectory(at(0)), dateDirectory(at(400*24 + 12))}) {
		t.Errorf("days after 400: %v, %v", days, err)
	}
	if _, err := g.Hour(t.Context(), worldOfVideos(), at(401*24+13)); err != nil {
		t.Fatal(err)
	}
	if days, err := dates(dir); err != nil || len(days) != 2 {
		t.Errorf("days after 401: %v, %v", days, err)
	}
}

func TestAWindowOfOtherMomentsIsNotExpected(t *testing.T) {
	midnight := endOfHour.Floor(24 * time.Hour)
	grades, err := graderIn(t.TempDir(), Observer{}).Hour(t.Context(), worldOfVideos(), midnight.Add(-time.Hour))
	if err != nil || !slices.Contains(summary(grades), "video daily missing: no list of this moment was published") {
		t.Errorf("%q, %v", summary(grades), err)
	}
}

func TestGoldenFiles(t *testing.T) {
	dir := t.TempDir()
	samplesOfVideos(t, dir)
	golden := func(name, path string) {
		t.Helper()
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join("testdata", name)
		if *update {
			if err := os.WriteFile(file, got, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if want, err := os.ReadFile(file); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s differs (%v):\n%s", name, err, got)
		}
	}
	golden("samples-v1.lists", samplePath(dir, endOfHour, "1h"))
	hour := endOfHour.Add(-time.Hour)
	if _, err := graderIn(dir, Observer{}).Hour(t.Context(), worldOfVideos(), hour); err != nil {
		t.Fatal(err)
	}
	golden("grades-v1.json", gradePath(dir, hour))
}

func FuzzDecode(f *testing.F) {
	one := sampleOf("video", "1h", endOfHour, 9)
	f.Add(seal(one.AppendJSON(nil)))
	f.Add(seal([]byte(`{"hour":"2026-11-30T10:00:00Z","grades":[{"as_of":"2026-11-30T11:00:00Z","faults":["recall"]}]}`)))
	f.Add([]byte(`{"format":1,"crc32c":"00000000","document":`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if grades, err := decodeHour(data, endOfHour.Add(-time.Hour)); err != nil && grades != nil {
			t.Error("grades of a file that was refused")
		}
		if l, err := decodeSample(data); err == nil {
			_ = checkSample(l, l.AsOf, l.Window, "")
		}
	})
}
