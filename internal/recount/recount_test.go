package recount_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"crest"
	"crest/internal/config"
	"crest/internal/counts"
	"crest/internal/exact"
	"crest/internal/exact/exacttest"
	"crest/internal/grade"
	"crest/internal/list"
	"crest/internal/recount"
)

const (
	hour  = crest.Millis(3_600_000)
	start = 490_000 * hour
)

// events are three hours in which item a gets 10, 20 and 30, and b gets 5 in each. Every tenth is sent twice.
func events() iter.Seq[exacttest.Received] {
	return func(yield func(exacttest.Received) bool) {
		n := uint64(0)
		for h := range crest.Millis(3) {
			for i := range 10*int(h) + 15 {
				item := "a"
				if i < 5 {
					item = "b"
				}
				n++
				at := start + h*hour + crest.Millis(i)*60_000
				ev := crest.Event{Type: "video", Item: item, Time: at, Weight: 1}
				binary.BigEndian.PutUint64(ev.ID[:], n)
				if !yield(exacttest.Received{Event: ev, At: at + 1000}) {
					return
				}
				if n%10 == 0 && !yield(exacttest.Received{Event: ev, At: at + 2000}) {
					return
				}
			}
		}
	}
}

func joined(first iter.Seq[exacttest.Received], more []exacttest.Received) iter.Seq[exacttest.Received] {
	return func(yield func(exacttest.Received) bool) {
		for r := range first {
			if !yield(r) {
				return
			}
		}
		for _, r := range more {
			if !yield(r) {
				return
			}
		}
	}
}

// fixture is an archive, a list store, and the options of a runner.
type fixture struct {
	store   *list.Store
	options recount.Options
	grader  *grader
	loaded  []list.Reach
}

// grader remembers what it was to grade.
type grader struct {
	graded []crest.Millis
	truth  map[string]uint64
}

func (g *grader) Due(first, until crest.Millis) ([]crest.Millis, error) {
	var due []crest.Millis
	for h := first; h < until; h += hour {
		if !slices.Contains(g.graded, h) {
			due = append(due, h)
		}
	}
	return due, nil
}

func (g *grader) Hour(ctx context.Context, truth grade.Truth, h crest.Millis) ([]grade.Grade, error) {
	g.graded = append(g.graded, h)
	return nil, truth.Truth(ctx, h, h+hour, func(r counts.Row) error {
		g.truth[fmt.Sprint((h-start)/hour, " ", r.Item)] = r.Count
		return nil
	})
}

// late are events for the first hour that come in the fourth.
func late(n int) []exacttest.Received {
	var all []exacttest.Received
	for i := range n {
		ev := crest.Event{Type: "video", Item: "c", Time: start + crest.Millis(i), Weight: 1}
		binary.BigEndian.PutUint64(ev.ID[8:], uint64(i+1))
		all = append(all, exacttest.Received{Event: ev, At: start + 3*hour + 20*60_000 + crest.Millis(i)})
	}
	return all
}

func newFixture(t *testing.T, until crest.Millis) *fixture {
	t.Helper()
	dir := t.TempDir()
	cfg, err := config.Preset("views")
	if err != nil {
		t.Fatal(err)
	}
	archive := filepath.Join(dir, "archive")
	if err := exacttest.Write(t.Context(), archive, nil, events(), until); err != nil {
		t.Fatal(err)
	}
	f := &fixture{grader: &grader{truth: map[string]uint64{}}}
	f.store, err = list.Open(list.Config{Windows: cfg.Windows, MaxK: 1000, Now: func() time.Time { return until.Time() }})
	if err != nil {
		t.Fatal(err)
	}
	f.options = recount.Options{
		Exact: exact.Config{
			Dir: filepath.Join(dir, "exact"), Archive: archive, Edge: cfg.Edge(),
			Types:   []exact.TypeBoards{{Name: "video"}, {Name: "hashtag"}},
			Windows: []crest.Window{cfg.Windows[2], cfg.Windows[3]},
		},
		Lists:    &recount.Lists{Config: &cfg, Store: f.store, Now: func() crest.Millis { return until }},
		Grader:   f.grader,
		Observer: recount.Observer{Loaded: func(r list.Reach, _ []exact.Problem) { f.loaded = append(f.loaded, r) }},
	}
	return f
}

// countingAt has counting publish a list as of a moment.
func (f *fixture) countingAt(asOf crest.Millis) {
	f.store.Publish([]crest.List{{
		Type: "video", Board: "video", Window: "1m", K: 1000, Version: "01M8P0R6608Y77HA7SMWBHYBW6", AsOf: asOf, Dedup: crest.DedupFull,
	}})
}

func TestRoundsLoadPublishAndGrade(t *testing.T) {
	f := newFixture(t, start+3*hour+11*60_000)
	f.countingAt(start + 3*hour)
	r, err := recount.New(f.options)
	if err != nil {
		t.Fatal(err)
	}
	if reach := r.Exact().Reach(); reach.Until != 0 {
		t.Fatalf("before anything was counted: %+v", reach)
	}
	if err := r.CatchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	if reach := r.Exact().Reach(); reach.First != start || reach.Until != start+3*hour {
		t.Fatalf("%+v", reach)
	}
	if want := []crest.Millis{start, start + hour, start + 2*hour}; !slices.Equal(f.grader.graded, want) {
		t.Errorf("graded %v, want %v", f.grader.graded, want)
	}
	for key, want := range map[string]uint64{"0 a": 10, "1 a": 20, "2 a": 30, "0 b": 5, "2 b": 5} {
		if got := f.grader.truth[key]; got != want {
			t.Errorf("%s: %d, want %d", key, got, want)
		}
	}
	for _, w := range []string{"24h", "all"} {
		l := f.store.Current("video", w).List()
		if l.AsOf != start+3*hour || l.ExactUntil != l.AsOf || len(l.Top) != 2 || l.Top[0].Count != 60 || l.Top[1].Count != 15 || l.MaxOverCount != 0 {
			t.Errorf("%s: %+v", w, l)
		}
		if l.Duplicates != 7 {
			t.Errorf("%s: %d duplicates", w, l.Duplicates)
		}
	}
	if f.store.Current("video", "1h") != nil {
		t.Error("a list of one hour was published from exact counts")
	}
	before := len(f.loaded)
	if err := r.CatchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(f.loaded) != before || len(f.grader.graded) != 3 {
		t.Errorf("without anything new: loaded %d times more, graded %v", len(f.loaded)-before, f.grader.graded)
	}
}

// TestNewerListsStay has an estimated list as of a later moment than the last exact hour.
func TestNewerListsStay(t *testing.T) {
	f := newFixture(t, start+3*hour+11*60_000)
	newer := crest.List{
		Type: "video", Board: "video", Window: "24h", K: 1000, Version: "01M8P0R6608Y77HA7SMWBHYBW6", AsOf: start + 3*hour + 600_000,
		Dedup: crest.DedupFull, Top: []crest.Entry{{Rank: 1, ID: "a", Title: "A", Count: 70, Error: 3}},
	}
	f.store.Publish([]crest.List{newer})
	r, err := recount.New(f.options)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.CatchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	if l := f.store.Current("video", "24h").List(); l.AsOf != newer.AsOf {
		t.Errorf("the list is as of %d, want %d", l.AsOf, newer.AsOf)
	}
	if l := f.store.Current("video", "all").List(); l.AsOf != start+3*hour {
		t.Errorf("all time is as of %d, want %d", l.AsOf, start+3*hour)
	}
}

// TestAnotherProcessCounts has counts made by somebody else while a runner only looks.
func TestAnotherProcessCounts(t *testing.T) {
	f := newFixture(t, start+3*hour+11*60_000)
	f.countingAt(start + 2*hour)
	archived := crest.Millis(0)
	f.options.Archived = func() crest.Millis { return archived }
	r, err := recount.New(f.options)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.CatchUp(t.Context()); err != nil { // nothing has been archived, as far as it knows
		t.Fatal(err)
	}
	other, err := exact.NewRecounter(f.options.Exact)
	if err != nil {
		t.Fatal(err)
	}
	for {
		result, err := other.Round(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if result.Done {
			break
		}
	}
	if err := r.CatchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	if reach := r.Exact().Reach(); reach.Until != start+3*hour {
		t.Errorf("%+v", reach)
	}
	if len(f.grader.graded) != 2 {
		t.Errorf("graded %v; counting has got to the end of the second hour", f.grader.graded)
	}
	f.countingAt(start + 3*hour)
	if err := r.CatchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(f.grader.graded) != 3 {
		t.Errorf("graded %v; counting has got on", f.grader.graded)
	}
}

// TestLateEventsAreInListsOfExactHoursAlone has events come for an hour after it has been counted. It would not be counted
// again yet.
func TestLateEventsAreInListsOfExactHoursAlone(t *testing.T) {
	f := newFixture(t, start+3*hour+11*60_000)
	r, err := recount.New(f.options)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.CatchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	archive := f.options.Exact.Archive
	if err := os.RemoveAll(archive); err != nil {
		t.Fatal(err)
	}
	if err := exacttest.Write(t.Context(), archive, nil, joined(events(), late(50)), start+4*hour+12*60_000); err != nil {
		t.Fatal(err)
	}
	f.countingAt(start + 3*hour)
	if err := r.CatchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	l := f.store.Current("video", "24h").List()
	if l.ExactUntil != start+4*hour || l.Total != 75+50 || l.Top[1].ID != "c" || l.Top[1].Count != 50 {
		t.Errorf("exact until %d, total %d, want %d, 125; %+v", l.ExactUntil, l.Total, start+4*hour, l.Top)
	}
}

// TestUnreadableCounts has a file where the directory of counts should be. Then there are none, and no failure.
func TestUnreadableCounts(t *testing.T) {
	f := newFixture(t, start+3*hour+11*60_000)
	if err := os.WriteFile(f.options.Exact.Dir, []byte("in the way"), 0o600); err != nil {
		t.Fatal(err)
	}
	failures := 0
	f.options.Observer.Failed = func(error) { failures++ }
	r, err := recount.New(f.options)
	if err != nil {
		t.Fatal(err)
	}
	if r.Exact() != nil || failures != 1 {
		t.Errorf("%v, %d failures", r.Exact(), failures)
	}
	if err := r.CatchUp(t.Context()); err == nil {
		t.Error("no error")
	}
	if err := os.Remove(f.options.Exact.Dir); err != nil {
		t.Fatal(err)
	}
	if err := r.CatchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	if reach := r.Exact().Reach(); reach.Until != start+3*hour {
		t.Errorf("%+v", reach)
	}
}

// TestVerifiesDaily has a byte of a file of counts change while the runner is at work.
func TestVerifiesDaily(t *testing.T) {
	f := newFixture(t, start+3*hour+11*60_000)
	archived := start + 3*hour + 11*60_000
	f.options.Archived = func() crest.Millis { return archived }
	r, err := recount.New(f.options)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.CatchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	paths, err := filepath.Glob(filepath.Join(f.options.Exact.Dir, "date=*", "hour=*", "counts-*"))
	if err != nil || len(paths) != 3 {
		t.Fatalf("%q, %v", paths, err)
	}
	good, err := os.ReadFile(paths[1])
	if err != nil {
		t.Fatal(err)
	}
	bad := slices.Clone(good)
	bad[len(bad)/2] ^= 1
	if err := os.WriteFile(paths[1], bad, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		later crest.Millis
		want  []byte
	}{{23 * hour, bad}, {24 * hour, good}} {
		archived = start + 3*hour + 11*60_000 + c.later
		if err := r.CatchUp(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(paths[1]); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%d hours later: the file is not as expected, %v", c.later/hour, err)
		}
	}
}
