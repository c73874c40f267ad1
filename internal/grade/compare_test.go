package grade

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"crest"
)

// endOfHour is the as_of of most lists of these tests.
var endOfHour = crest.MillisOf(time.Date(2026, 11, 30, 11, 0, 0, 0, time.UTC))

// counted is what is true of an item.
type counted struct {
	id             string
	truth, repeats uint64
}

// listOf returns a list whose entries are given as they come.
func listOf(k, proven int, cutoff uint64, top ...crest.Entry) *crest.List {
	l := &crest.List{Type: "video", Board: "video", Window: "1h", AsOf: endOfHour, From: endOfHour.Add(-time.Hour), K: k, Proven: proven, Cutoff: cutoff, Top: top}
	for i := range l.Top {
		l.Top[i].Rank = i + 1
		l.MaxOverCount = max(l.MaxOverCount, l.Top[i].Error)
	}
	return l
}

func entry(id string, count, err uint64) crest.Entry {
	return crest.Entry{ID: id, Count: count, Error: err}
}

func grade(l *crest.List, since crest.Millis, truth ...counted) Grade {
	c := Compare(l)
	for _, t := range truth {
		c.Add(t.id, t.truth, t.repeats)
	}
	return c.Grade(since)
}

func TestAPerfectList(t *testing.T) {
	g := grade(listOf(2, 2, 3, entry("a", 9, 0), entry("b", 5, 0)), 0, counted{"a", 9, 1}, counted{"b", 5, 0}, counted{"c", 3, 0}, counted{"d", 0, 7})
	want := Grade{
		AsOf: endOfHour.Time(), Board: "video", Window: "1h", K: 2, Entries: 2, Items: 3, Total: 17, Repeats: 8, Cutoff: 3, Proven: 2,
		Recall100: Recall{2, 2}, RecallK: Recall{2, 2}, Exact: 2, Faults: []Fault{}, Examples: []Finding{},
	}
	if !reflect.DeepEqual(g, want) {
		t.Errorf("got %+v\nwant %+v", g, want)
	}
	if g.Failed() || g.Recall100.Share() != 1 {
		t.Errorf("failed %v, recall %v", g.Failed(), g.Recall100.Share())
	}
}

func TestEachFigure(t *testing.T) {
	truth := []counted{{"a", 10, 0}, {"b", 8, 3}, {"c", 8, 0}, {"d", 2, 0}}
	for _, c := range []struct {
		name  string
		list  *crest.List
		check func(g Grade) bool
		fault []Fault
	}{
		{"within the error", listOf(3, 0, 2, entry("a", 12, 2), entry("b", 8, 0), entry("c", 8, 0)), func(g Grade) bool {
			return g.Exact == 2 && g.AboveError == 0 && g.LargestOverCount == Finding{Rank: 1, ID: "a", Count: 12, Error: 2, Truth: 10} && g.LargestOverCount.Over() == 2
		}, nil},
		{"above the error", listOf(3, 0, 2, entry("a", 13, 2), entry("b", 8, 0), entry("c", 9, 0)), func(g Grade) bool {
			return g.AboveError == 2 && g.LargestOverCount.ID == "a" && g.Examples[0] == Finding{Fault: FaultAboveError, Rank: 1, ID: "a", Count: 13, Error: 2, Truth: 10}
		}, []Fault{FaultAboveError}},
		{"above the error by repeats", listOf(3, 0, 2, entry("b", 12, 1), entry("a", 10, 0), entry("c", 8, 0)), func(g Grade) bool {
			return g.AboveError == 0 && g.LargestOverCount.Repeats == 3
		}, nil},
		{"above the error and the repeats", listOf(3, 0, 2, entry("b", 13, 1), entry("a", 10, 0), entry("c", 8, 0)), func(g Grade) bool {
			return g.AboveError == 1
		}, []Fault{FaultAboveError}},
		{"below the truth", listOf(3, 0, 2, entry("a", 10, 0), entry("b", 8, 0), entry("c", 7, 7)), func(g Grade) bool {
			return g.BelowTruth == 1 && g.Exact == 2 && g.LargestOverCount.Rank == 0 && g.Examples[0].ID == "c"
		}, []Fault{FaultBelowTruth}},
		{"ties in any order", listOf(3, 0, 2, entry("a", 10, 0), entry("c", 9, 1), entry("b", 8, 0)), func(g Grade) bool {
			return g.MaxDisplacement == 0 && g.RecallK == Recall{3, 3}
		}, nil},
		{"a tie at the boundary", listOf(2, 0, 8, entry("a", 10, 0), entry("c", 8, 0)), func(g Grade) bool {
			return g.RecallK == Recall{2, 2} && g.MaxDisplacement == 0
		}, nil},
		{"one missed", listOf(3, 0, 8, entry("a", 10, 0), entry("b", 8, 0), entry("d", 8, 6)), func(g Grade) bool {
			return g.RecallK == Recall{3, 2} && g.Recall100 == Recall{3, 2} && g.AboveCutoff == 0 && g.MaxDisplacement == 1
		}, []Fault{FaultRecall}},
		{"above the cutoff", listOf(3, 0, 7, entry("a", 10, 0), entry("b", 8, 0), entry("d", 8, 6)), func(g Grade) bool {
			return g.AboveCutoff == 1 && slices.Contains(g.Examples, Finding{Fault: FaultAboveCutoff, ID: "c", Count: 7, Truth: 8})
		}, []Fault{FaultRecall, FaultAboveCutoff}},
		{"a proven rank", listOf(3, 1, 2, entry("c", 11, 3), entry("a", 10, 0), entry("b", 8, 0)), func(g Grade) bool {
			return g.WrongRanks == 1 && g.MaxDisplacement == 1 && g.MeanDisplacement == 2.0/3
		}, []Fault{FaultWrongRank}},
		{"a proven tie in the wrong order", listOf(3, 3, 2, entry("a", 10, 0), entry("c", 8, 0), entry("b", 8, 0)), func(g Grade) bool {
			return g.WrongRanks == 1 && g.MaxDisplacement == 0 && g.Examples[0].Rank == 2
		}, []Fault{FaultWrongRank}},
		{"a proven rank before an item off the list", listOf(2, 2, 8, entry("a", 10, 0), entry("d", 8, 6)), func(g Grade) bool {
			return g.WrongRanks == 1 && g.Examples[0] == Finding{Fault: FaultWrongRank, Rank: 2, ID: "d", Count: 8, Error: 6, Truth: 2}
		}, []Fault{FaultRecall, FaultWrongRank}},
		{"a proven rank that repeats explain", listOf(3, 1, 2, entry("b", 11, 0), entry("a", 10, 0), entry("c", 8, 0)), func(g Grade) bool {
			return g.WrongRanks == 0 && g.MaxDisplacement == 1
		}, nil},
		{"nothing listed", listOf(3, 0, 10), func(g Grade) bool { return g.RecallK == Recall{3, 0} && g.Items == 4 }, []Fault{FaultRecall}},
		{"what never was", listOf(5, 0, 0, entry("a", 10, 0), entry("b", 8, 0), entry("c", 8, 0), entry("d", 2, 0), entry("x", 1, 1)), func(g Grade) bool {
			return g.RecallK == Recall{4, 4} && g.LargestOverCount.ID == "x" && g.MaxDisplacement == 0
		}, nil},
	} {
		g := grade(c.list, 0, truth...)
		if !c.check(g) || !slices.Equal(g.Faults, c.fault) {
			t.Errorf("%s: %+v", c.name, g)
		}
	}
}

func TestNothingAtAll(t *testing.T) {
	if g := grade(listOf(10, 0, 0), 0); g.Failed() || g.Recall100.Share() != 1 || g.Items != 0 {
		t.Errorf("%+v", g)
	}
}

func TestAListThatLacksWhatCameBefore(t *testing.T) {
	since := endOfHour.Add(-20 * time.Minute)
	l := listOf(2, 2, 1, entry("a", 4, 0), entry("b", 3, 0))
	g := grade(l, since, counted{"a", 4, 0}, counted{"b", 5, 0}, counted{"c", 9, 0})
	if g.Failed() || !g.Since.Equal(since.Time()) || g.BelowTruth != 1 || g.AboveCutoff != 1 || g.WrongRanks != 2 {
		t.Errorf("%+v", g)
	}
	if g = grade(l, since, counted{"a", 3, 0}); !slices.Equal(g.Faults, []Fault{FaultAboveError}) {
		t.Errorf("a count above its error is a fault all the same: %+v", g)
	}
}

// TestComparisonsAgreeWithNaiveOnes compares random lists with random truths, in any order, by sorting all there is.
func TestComparisonsAgreeWithNaiveOnes(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 2))
	for range 2000 {
		items := make([]counted, r.IntN(40))
		for i := range items {
			items[i] = counted{fmt.Sprintf("v%02d", i), uint64(r.IntN(9)), uint64(r.IntN(3))}
		}
		k := 1 + r.IntN(20)
		var entries []crest.Entry
		for i := range min(k, len(items)+3) {
			if r.IntN(8) == 0 {
				continue
			}
			id, count := fmt.Sprintf("v%02d", i), uint64(r.IntN(4))
			if i < len(items) && r.IntN(10) > 0 {
				count += items[i].truth
			}
			entries = append(entries, entry(id, count, min(count, uint64(r.IntN(3)))))
		}
		slices.SortFunc(entries, func(a, b crest.Entry) int { return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.ID, b.ID)) })
		l := listOf(k, r.IntN(len(entries)+1), uint64(r.IntN(9)), entries...)
		r.Shuffle(len(items), func(i, j int) { items[i], items[j] = items[j], items[i] })
		got := grade(l, 0, items...)
		if want := naive(l, items); !reflect.DeepEqual(figures(got), want) {
			t.Fatalf("list %+v\nitems %+v\ngot  %v\nwant %v", l, items, figures(got), want)
		}
	}
}

// figures are those that naive computes.
func figures(g Grade) map[string]any {
	return map[string]any{
		"recall100": g.Recall100, "recallK": g.RecallK, "over": g.LargestOverCount.Over(), "exact": g.Exact, "below": g.BelowTruth,
		"aboveError": g.AboveError, "aboveCutoff": g.AboveCutoff, "wrong": g.WrongRanks, "items": g.Items, "total": g.Total,
		"repeats": g.Repeats, "max": g.MaxDisplacement, "mean": g.MeanDisplacement, "failed": g.Failed(),
	}
}

// naive computes a grade's figures from a sorted copy of everything, one by one as they are defined.
func naive(l *crest.List, items []counted) map[string]any {
	truth, repeats := map[string]uint64{}, map[string]uint64{}
	var all []counted
	var total, dropped uint64
	for _, it := range items {
		truth[it.id], repeats[it.id] = it.truth, it.repeats
		total, dropped = total+it.truth, dropped+it.repeats
		if it.truth > 0 {
			all = append(all, it)
		}
	}
	slices.SortFunc(all, func(a, b counted) int { return cmp.Or(cmp.Compare(b.truth, a.truth), cmp.Compare(a.id, b.id)) })
	recall := func(n int) Recall {
		n = min(n, l.K, len(all))
		found := 0
		for i := range l.Top {
			if i < n && truth[l.Top[i].ID] >= all[n-1].truth {
				found++
			}
		}
		return Recall{n, found}
	}
	var over uint64
	exact, below, above, wrong, farthest, sum := 0, 0, 0, 0, 0, 0
	listed := map[string]bool{}
	for i, e := range l.Top {
		listed[e.ID] = true
		t := truth[e.ID]
		if e.Count == t {
			exact++
		}
		if e.Count < t {
			below++
		} else {
			over = max(over, e.Count-t)
			if e.Count > t+e.Error+repeats[e.ID] {
				above++
			}
		}
		most := t + repeats[e.ID]
		if i < l.Proven && slices.ContainsFunc(all, func(it counted) bool {
			behind := !slices.ContainsFunc(l.Top[:i+1], func(e crest.Entry) bool { return e.ID == it.id })
			return behind && (it.truth > most || it.truth == most && it.id < e.ID)
		}) {
			wrong++
		}
		// The least distance to a rank of an item with this truth; what is not among the top K can have any rank after it.
		top := all[:min(len(all), l.K)]
		nearest := l.K
		for rank := 1; rank <= l.K+1; rank++ {
			same := rank <= len(top) && top[rank-1].truth == t
			after := rank > len(top) && (len(top) == 0 || t < top[len(top)-1].truth)
			if same || after {
				nearest = min(nearest, max(rank-i-1, i+1-rank))
			}
		}
		farthest, sum = max(farthest, nearest), sum+nearest
	}
	cut := uint64(0)
	for _, it := range all {
		if !listed[it.id] && it.truth > l.Cutoff {
			cut++
		}
	}
	mean := 0.0
	if len(l.Top) > 0 {
		mean = float64(sum) / float64(len(l.Top))
	}
	r100 := recall(100)
	return map[string]any{
		"recall100": r100, "recallK": recall(l.K), "over": over, "exact": exact, "below": below, "aboveError": above,
		"aboveCutoff": cut, "wrong": wrong, "items": uint64(len(all)), "total": total, "repeats": dropped, "max": farthest, "mean": mean,
		"failed": below > 0 || above > 0 || cut > 0 || wrong > 0 || r100.Of > 0 && float64(r100.Found) < 0.99*float64(r100.Of),
	}
}
