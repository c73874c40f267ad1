package recount

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"crest"
	"crest/internal/archive"
	"crest/internal/eventlog"
	"crest/internal/eventlog/disklog"
)

// arrival is an event as it comes in: id, item, when it happened and when it came, after 9:00.
type arrival struct {
	id       byte
	item     string
	at, came time.Duration
	values   crest.Dimensions
}

var nine = crest.MillisOf(time.Date(2026, 10, 25, 9, 0, 0, 0, time.UTC))

// write archives arrivals, in their order.
func write(t *testing.T, arrivals []arrival, until time.Duration) Config {
	t.Helper()
	dir := t.TempDir()
	now := nine
	log, err := disklog.Open(disklog.Config{Dir: filepath.Join(dir, "log"), Now: func() time.Time { return now.Time() }})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	names := []string{"category", "region"}
	for _, a := range arrivals {
		now = nine.Add(a.came)
		ev := crest.Event{ID: crest.EventID{1, a.id}, Type: "article", Item: a.item, Time: nine.Add(a.at), Weight: 1, Dimensions: a.values}
		var e eventlog.Encoder
		e.Reset(names)
		if err := e.Add(&ev); err != nil {
			t.Fatal(err)
		}
		if _, err := log.Append(t.Context(), []eventlog.Append{{Payload: e.Bytes()}}, true); err != nil {
			t.Fatal(err)
		}
	}
	now = nine.Add(until)
	w, err := archive.Open(archive.Config{Dir: filepath.Join(dir, "archive"), Dimensions: names})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx, log) }()
	if err := w.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	return Config{
		Archive: filepath.Join(dir, "archive"), Dimensions: names, Edge: (4 * time.Minute).Milliseconds(),
		Types: []Type{{Name: "article", Narrow: [][]string{{"category"}, {"category", "region"}}}},
	}
}

func sums(t *testing.T, cfg Config, from, to, by crest.Millis) []string {
	t.Helper()
	r, err := Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var got []string
	if err := r.Sums(t.Context(), from, to, by, func(row Row) error {
		got = append(got, fmt.Sprintf("%s %s %d+%d", row.Board, row.Item, row.Count, row.Duplicates))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return got
}

func TestWhichCopyCounts(t *testing.T) {
	const m = time.Minute
	for name, c := range map[string]struct {
		arrivals []arrival
		want     []string
	}{
		"within an hour the first counts, whatever its time": {
			[]arrival{{1, "a", 40 * m, 41 * m, crest.Dimensions{}}, {1, "b", 2 * m, 50 * m, crest.Dimensions{}}},
			[]string{"article a 1+0", "article b 0+1"},
		},
		"across a boundary, near it, the first that came counts": {
			[]arrival{{1, "a", 61 * m, 61 * m, crest.Dimensions{}}, {1, "b", 59 * m, 62 * m, crest.Dimensions{}}},
			[]string{"article a 1+0", "article b 0+1"},
		},
		"when both came at once, that of the earlier hour": {
			[]arrival{{1, "a", 61 * m, 62 * m, crest.Dimensions{}}, {1, "b", 59 * m, 62 * m, crest.Dimensions{}}},
			[]string{"article a 0+1", "article b 1+0"},
		},
		"further away, both": {
			[]arrival{{1, "a", 55 * m, 61 * m, crest.Dimensions{}}, {1, "b", 61 * m, 62 * m, crest.Dimensions{}}},
			[]string{"article a 1+0", "article b 1+0"},
		},
		"a copy in its own hour hides the next hour's all the same": {
			[]arrival{{1, "a", 5 * m, 6 * m, crest.Dimensions{}}, {1, "b", 58 * m, 59 * m, crest.Dimensions{}}, {1, "c", 61 * m, 61 * m, crest.Dimensions{}}},
			[]string{"article a 1+0", "article b 0+1", "article c 0+1"},
		},
		"boards need all of their values": {
			[]arrival{
				{1, "a", m, m, crest.Dimensions{"art", "eu"}},
				{2, "a", m, m, crest.Dimensions{"art"}},
				{3, "a", m, m, crest.Dimensions{"", "eu"}},
				{2, "a", m, 2 * m, crest.Dimensions{"art"}},
			},
			[]string{"article a 3+1", "article/category=art a 2+1", "article/category=art/region=eu a 1+0"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := write(t, c.arrivals, 3*time.Hour)
			if got := sums(t, cfg, 0, math.MaxInt64, math.MaxInt64); !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestCutsAndSpans(t *testing.T) {
	const m = time.Minute
	cfg := write(t, []arrival{
		{1, "a", 59 * m, 90 * m, crest.Dimensions{}}, {1, "b", 61 * m, 91 * m, crest.Dimensions{}}, {2, "a", 30 * m, 95 * m, crest.Dimensions{}},
	}, 3*time.Hour)
	for _, c := range []struct {
		from, to, by time.Duration
		want         []string
	}{
		{0, 2 * time.Hour, 3 * time.Hour, []string{"article a 2+0", "article b 0+1"}},
		{0, 2 * time.Hour, 95 * m, []string{"article a 1+0", "article b 0+1"}},
		{0, 2 * time.Hour, 90 * m, nil},
		{0, 59 * m, 3 * time.Hour, []string{"article a 1+0"}},
		{60 * m, 62 * m, 3 * time.Hour, []string{"article b 0+1"}}, // a copy of what lies outside the span
	} {
		if got := sums(t, cfg, nine.Add(c.from), nine.Add(c.to), nine.Add(c.by)); !slices.Equal(got, c.want) {
			t.Errorf("%+v: got %q", c, got)
		}
	}
}
