package list

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"crest"
)

// TestMergeIsTheTopOfTheUnion compares the merge with sorting everything, on reports of which many counts are equal.
func TestMergeIsTheTopOfTheUnion(t *testing.T) {
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 3))
		shards, k := 1+r.IntN(9), 1+r.IntN(12)
		var all []crest.Entry
		reports := make([]Report, shards)
		want := crest.List{}
		for s := range reports {
			reports[s] = Report{Shard: s, Board: crest.Board{Type: "video"}, Window: hour, AsOf: t0}
			for i := range r.IntN(k + 1) {
				count := uint64(1 + r.IntN(20))
				reports[s].Entries = append(reports[s].Entries, crest.Entry{ID: fmt.Sprintf("%d-%d", i, s), Count: count, Error: count / 3})
			}
			slices.SortFunc(reports[s].Entries, order)
			all = append(all, reports[s].Entries...)
			reports[s].Cutoff = uint64(r.IntN(5))
			reports[s].Total = uint64(r.IntN(1000))
			reports[s].Late, reports[s].Duplicates = uint64(r.IntN(3)), uint64(r.IntN(3))
			want.Total += reports[s].Total
			want.Late += reports[s].Late
			want.Duplicates += reports[s].Duplicates
			want.Cutoff = max(want.Cutoff, reports[s].Cutoff)
		}
		slices.SortFunc(all, order)
		if len(all) > k {
			want.Cutoff = max(want.Cutoff, all[k].Count)
			all = all[:k]
		}
		r.Shuffle(shards, func(i, j int) { reports[i], reports[j] = reports[j], reports[i] })
		before := fmt.Sprint(reports)

		got, err := Merge(reports, shards, Params{K: k})
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if fmt.Sprint(reports) != before {
			t.Fatalf("seed %d: the merge changed the reports", seed)
		}
		want.Top = slices.Clone(all)
		want.Label()
		if !slices.Equal(got.Top, want.Top) || got.Cutoff != want.Cutoff || got.Total != want.Total || got.Late != want.Late ||
			got.Duplicates != want.Duplicates || got.Other != want.Other || got.MaxOverCount != want.MaxOverCount || got.Proven != want.Proven {
			t.Fatalf("seed %d:\ngot  %+v\nwant %+v", seed, got, want)
		}
	}
}

func order(a, b crest.Entry) int {
	return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.ID, b.ID))
}

// TestMergePromises draws the truth of many items, lets each shard report its own top K with errors, and checks what a
// list promises about every item, on it and off it.
func TestMergePromises(t *testing.T) {
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 4))
		shards, k := 1+r.IntN(8), 1+r.IntN(20)
		truth := map[string]uint64{}
		reports := make([]Report, shards)
		for s := range reports {
			rep := Report{Shard: s, Board: crest.Board{Type: "video"}, Window: hour, AsOf: t0}
			for i := range r.IntN(3 * k) {
				id := fmt.Sprintf("%d/%d", s, i)
				truth[id] = 1 + uint64(r.ExpFloat64()*50)
				over := uint64(r.IntN(10))
				rep.Entries = append(rep.Entries, crest.Entry{ID: id, Count: truth[id] + over, Error: min(over+uint64(r.IntN(3)), truth[id]+over)})
				rep.Total += truth[id]
			}
			slices.SortFunc(rep.Entries, order)
			if len(rep.Entries) > k {
				rep.Cutoff = rep.Entries[k].Count
				rep.Entries = rep.Entries[:k]
			}
			reports[s] = rep
		}
		l, err := Merge(reports, shards, Params{K: k})
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		off := maps.Clone(truth)
		for _, e := range l.Top {
			delete(off, e.ID)
			if truth[e.ID] > e.Count || truth[e.ID] < e.Count-e.Error || e.Error > l.MaxOverCount {
				t.Fatalf("seed %d: %+v, but the truth is %d and max_overcount %d", seed, e, truth[e.ID], l.MaxOverCount)
			}
		}
		for id, n := range off {
			if n > l.Cutoff {
				t.Fatalf("seed %d: %s is off the list with %d, above the cutoff %d", seed, id, n, l.Cutoff)
			}
		}
	}
}

func TestMergeRefusesWhatIsNotWhole(t *testing.T) {
	for name, c := range map[string]struct {
		change func([]Report) []Report
		want   string
	}{
		"none":           {func([]Report) []Report { return nil }, "0 of 3"},
		"one missing":    {func(r []Report) []Report { return r[:2] }, "2 of 3"},
		"one too many":   {func(r []Report) []Report { return append(r, r[0]) }, "4 of 3"},
		"one twice":      {func(r []Report) []Report { r[2].Shard = 1; return r }, "twice"},
		"no such shard":  {func(r []Report) []Report { r[2].Shard = 3; return r }, "3 of 3"},
		"negative shard": {func(r []Report) []Report { r[2].Shard = -1; return r }, "-1 of 3"},
		"other type":     {func(r []Report) []Report { r[1].Board.Type = "song"; return r }, "board"},
		"other board": {func(r []Report) []Report {
			r[1].Board.Narrow = []crest.Narrowing{{Dimension: "region", Value: "eu"}}
			return r
		}, "region=eu"},
		"other window":   {func(r []Report) []Report { r[1].Window = minute; return r }, "1m"},
		"other moment":   {func(r []Report) []Report { r[1].AsOf++; return r }, "as_of"},
		"out of order":   {func(r []Report) []Report { e := r[1].Entries; e[0], e[1] = e[1], e[0]; return r }, "not in order"},
		"one item twice": {func(r []Report) []Report { r[1].Entries = slices.Clone(r[0].Entries); return r }, "in two shards"},
		"same item twice in a report": {func(r []Report) []Report {
			r[1].Entries[1] = r[1].Entries[0]
			return r
		}, "not in order"},
		"error above count": {func(r []Report) []Report { r[0].Entries[0].Error = r[0].Entries[0].Count + 1; return r }, "more than its count"},
		"before the epoch": {func(r []Report) []Report {
			for i := range r {
				r[i].AsOf = -1
			}
			return r
		}, "epoch"},
	} {
		l, err := Merge(c.change(testReports(1, 3, 5)), 3, Params{K: 5})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got error %v, want one with %q", name, err, c.want)
		}
		if !reflect.DeepEqual(l, crest.List{}) {
			t.Errorf("%s: a list came with the error", name)
		}
	}
	if _, err := Merge(testReports(1, 3, 5), 3, Params{}); crest.CodeOf(err) != crest.CodeOutOfRange {
		t.Errorf("K of 0: %v", err)
	}
}

func TestMergeIsTheSameForTwoBuilders(t *testing.T) {
	previous, err := Merge(testReports(5, 4, 20), 4, Params{K: 20})
	if err != nil {
		t.Fatal(err)
	}
	params := Params{K: 20, Previous: &previous, GeneratedAt: t0 + 17}
	one, err := Merge(testReports(6, 4, 20), 4, params)
	if err != nil {
		t.Fatal(err)
	}
	shuffled := testReports(6, 4, 20)
	slices.Reverse(shuffled)
	two, err := Merge(shuffled, 4, params)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := string(one.AppendJSON(nil)), string(two.AppendJSON(nil)); a != b {
		t.Errorf("two builders differ:\n%s\n%s", a, b)
	}
	if params.GeneratedAt += 1000; params.GeneratedAt == one.GeneratedAt {
		t.Fatal("the test changes nothing")
	}
	later, err := Merge(testReports(6, 4, 20), 4, params)
	if err != nil || later.Version != one.Version {
		t.Errorf("made a second later the version is %s, not %s (%v)", later.Version, one.Version, err)
	}
}

func TestVersionNamesWhatTheListSays(t *testing.T) {
	base := testReports(9, 2, 3)
	seen := map[string]string{}
	for name, change := range map[string]func([]Report){
		"nothing":  func([]Report) {},
		"count":    func(r []Report) { r[0].Entries[0].Count++ },
		"error":    func(r []Report) { r[0].Entries[0].Error /= 2; r[0].Entries[0].Error++ },
		"title":    func(r []Report) { r[0].Entries[0].Title = "x" },
		"late":     func(r []Report) { r[0].Late++ },
		"cutoff":   func(r []Report) { r[0].Cutoff += 1e12 },
		"dedup":    func(r []Report) { r[1].DedupPartial = true },
		"board":    func(r []Report) { r[0].Board.Type, r[1].Board.Type = "song", "song" },
		"as_of":    func(r []Report) { r[0].AsOf++; r[1].AsOf++ },
		"a window": func(r []Report) { r[0].Window, r[1].Window = minute, minute },
	} {
		reports := make([]Report, len(base))
		for i := range base {
			reports[i] = base[i]
			reports[i].Entries = slices.Clone(base[i].Entries)
		}
		change(reports)
		l, err := Merge(reports, 2, Params{K: 3})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if len(l.Version) != 26 {
			t.Errorf("version %q has not the form of a ULID", l.Version)
		}
		if other, ok := seen[l.Version]; ok {
			t.Errorf("%s and %s give one version", name, other)
		}
		seen[l.Version] = name
	}
	var sorted []string
	for i := range 5 {
		r := testReports(uint64(i), 1, 3)
		r[0].AsOf += crest.Millis(i)
		l, err := Merge(r, 1, Params{K: 3})
		if err != nil {
			t.Fatal(err)
		}
		sorted = append(sorted, l.Version)
	}
	if !slices.IsSorted(sorted) {
		t.Errorf("versions don't sort by as_of: %v", sorted)
	}
}

func TestWhyAListIsShort(t *testing.T) {
	from := hour.From(t0)
	for _, c := range []struct {
		name   string
		window crest.Window
		k      int
		total  uint64
		since  crest.Millis
		want   crest.Short
	}{
		{"full", hour, 2, 100, t0, ""},
		{"few items", hour, 10, 100, from, crest.ShortFewItems},
		{"few items, counting for ever", hour, 10, 100, 0, crest.ShortFewItems},
		{"no traffic", hour, 10, 0, from, crest.ShortNoTraffic},
		{"warming up", hour, 10, 100, from + 1, crest.ShortWarmingUp},
		{"warming up without traffic", hour, 10, 0, t0, crest.ShortWarmingUp},
		{"all time never warms up", allTime, 10, 100, t0, crest.ShortFewItems},
		{"all time without traffic", allTime, 10, 0, t0, crest.ShortNoTraffic},
	} {
		r := Report{Board: crest.Board{Type: "video"}, Window: c.window, AsOf: t0, Total: c.total}
		if c.total > 0 {
			r.Entries = []crest.Entry{{ID: "a", Count: 60}, {ID: "b", Count: 40}}
		}
		l, err := Merge([]Report{r}, 1, Params{K: c.k, Since: c.since})
		if err != nil {
			t.Fatal(err)
		}
		if l.Short != c.want {
			t.Errorf("%s: short is %q, want %q", c.name, l.Short, c.want)
		}
		if within := c.since > l.From; within != (l.Since == c.since && l.Since != 0) {
			t.Errorf("%s: since is %d, counting began at %d, the window at %d", c.name, l.Since, c.since, l.From)
		}
	}
}

type titles map[string]string

func (m titles) Title(typ, id string) (title, thumbnail string, ok bool) {
	title, ok = m[typ+"/"+id]
	return title, "https://example.org/" + id, ok
}

func TestMergeFillsWhatReadersSee(t *testing.T) {
	board := crest.Board{Type: "article", Narrow: []crest.Narrowing{{Dimension: "category", Value: "sports"}}}
	report := func(asOf crest.Millis, ids ...string) []Report {
		r := Report{Board: board, Window: hour, AsOf: asOf}
		for i, id := range ids {
			r.Entries = append(r.Entries, crest.Entry{ID: id, Title: strings.ToUpper(id), Count: uint64(100 - i)})
		}
		return []Report{r}
	}
	p := Params{K: 3, IDField: "article_id", GeneratedAt: t0 + 5}
	previous, err := Merge(report(t0.Add(-time.Minute), "b", "c", "a"), 1, p)
	if err != nil {
		t.Fatal(err)
	}
	p.Previous = &previous
	p.Titles = titles{"article/a": "A story", "other/b": "not this one"}
	l, err := Merge(report(t0, "a", "b", "new"), 1, p)
	if err != nil {
		t.Fatal(err)
	}
	want := []crest.Entry{
		{Rank: 1, ID: "a", Title: "A story", Thumbnail: "https://example.org/a", Count: 100, PreviousRank: 3},
		{Rank: 2, ID: "b", Title: "B", Count: 99, PreviousRank: 1},
		{Rank: 3, ID: "new", Title: "NEW", Count: 98},
	}
	if !slices.Equal(l.Top, want) {
		t.Errorf("got  %+v\nwant %+v", l.Top, want)
	}
	if l.Board != "article/category=sports" || l.Type != "article" || l.IDField != "article_id" || l.From != hour.From(t0) ||
		l.AsOf != t0 || l.GeneratedAt != t0+5 || l.K != 3 || l.Dedup != crest.DedupFull || l.Stale {
		t.Errorf("got %+v", l)
	}
	p.Previous = nil
	if alone, err := Merge(report(t0, "a", "b", "new"), 1, p); err != nil || alone.Version != l.Version {
		t.Errorf("a builder that made no list before gives version %s, not %s (%v)", alone.Version, l.Version, err)
	}
	other := previous
	other.Window = "24h"
	p.Previous = &other
	if l, err = Merge(report(t0, "a"), 1, p); err != nil || l.Top[0].PreviousRank != 0 {
		t.Errorf("movement comes from the list of another window: %+v, %v", l.Top, err)
	}
}
