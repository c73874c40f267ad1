package crest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

var noon = MillisOf(time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC))

// plainList is a list as encoding/json would write it: the oracle for the JSON written by hand.
type plainList struct {
	Type         string       `json:"type"`
	Window       string       `json:"window"`
	Board        string       `json:"board"`
	K            int          `json:"k"`
	Version      string       `json:"version"`
	GeneratedAt  time.Time    `json:"generated_at"`
	From         *time.Time   `json:"from"`
	AsOf         time.Time    `json:"as_of"`
	ExactUntil   *time.Time   `json:"exact_until"`
	MaxOverCount uint64       `json:"max_overcount"`
	Proven       int          `json:"proven"`
	Cutoff       uint64       `json:"cutoff"`
	Stale        bool         `json:"stale"`
	Total        uint64       `json:"total"`
	Other        uint64       `json:"other"`
	Duplicates   uint64       `json:"duplicates"`
	Dedup        Dedup        `json:"dedup"`
	Late         uint64       `json:"late"`
	Short        Short        `json:"short,omitempty"`
	IDField      string       `json:"id_field,omitempty"`
	Top          []plainEntry `json:"top"`
}

type plainEntry struct {
	Rank         int    `json:"rank"`
	ID           string `json:"article_id"`
	Title        string `json:"title,omitempty"`
	Thumbnail    string `json:"thumbnail,omitempty"`
	Count        uint64 `json:"count"`
	Error        uint64 `json:"error"`
	PreviousRank *int   `json:"previous_rank"`
}

func plain(l *List) plainList {
	optional := func(m Millis) *time.Time {
		if m == 0 {
			return nil
		}
		return new(m.Time())
	}
	p := plainList{
		Type: l.Type, Window: l.Window, Board: l.Board, K: l.K, Version: l.Version, GeneratedAt: l.GeneratedAt.Time(),
		From: optional(l.From), AsOf: l.AsOf.Time(), ExactUntil: optional(l.ExactUntil), MaxOverCount: l.MaxOverCount,
		Proven: l.Proven, Cutoff: l.Cutoff, Stale: l.Stale, Total: l.Total, Other: l.Other, Duplicates: l.Duplicates,
		Dedup: l.Dedup, Late: l.Late, Short: l.Short, IDField: l.IDField, Top: []plainEntry{},
	}
	for _, e := range l.Top {
		q := plainEntry{Rank: e.Rank, ID: e.ID, Title: e.Title, Thumbnail: e.Thumbnail, Count: e.Count, Error: e.Error}
		if e.PreviousRank != 0 {
			q.PreviousRank = &e.PreviousRank
		}
		p.Top = append(p.Top, q)
	}
	return p
}

func exampleList() *List {
	l := &List{
		Type: "article", Window: "1h", Board: "article/category=sports", K: 5, Version: "01JDX0000000000000000000AB",
		GeneratedAt: noon + 400, From: noon - 3_600_000, AsOf: noon, Total: 4000, Duplicates: 3, Dedup: DedupPartial, Late: 7,
		Cutoff: 80, IDField: "article_id", Short: ShortFewItems,
		Top: []Entry{
			{ID: "a", Title: "<b>\"Hi\" & bye</b>\u2028", Thumbnail: "https://x/y?a=1&b=2", Count: 912, PreviousRank: 3},
			{ID: "b", Count: 900, Error: 5},
			{ID: "c\u0000\x1f\x7f\b\f\n\r\t\\é\U0001F600\xff\xed\xa0\x80", Count: 200, Error: 200, PreviousRank: 12},
			{ID: "d", Count: 100},
		},
	}
	l.Label()
	return l
}

func TestListJSONIsThatOfEncodingJSON(t *testing.T) {
	full := exampleList()
	empty := &List{Type: "video", Window: "all", Board: "video", K: 10, AsOf: noon, GeneratedAt: noon, IDField: "article_id", Short: ShortNoTraffic, Stale: true}
	exact := exampleList()
	exact.ExactUntil, exact.From, exact.Short = noon, 0, ""
	sliced := full.Slice(2)
	for _, l := range []*List{full, empty, exact, &sliced} {
		want, err := json.Marshal(plain(l))
		if err != nil {
			t.Fatal(err)
		}
		got, err := json.Marshal(l)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		if direct := l.AppendJSON(nil); !bytes.Equal(direct, want) {
			t.Errorf("AppendJSON gave %s\nwant %s", direct, want)
		}
	}
}

func FuzzStringJSON(f *testing.F) {
	for _, s := range []string{"", "plain", "<>&\"\\", "\x00\x1f\x7f\u2028\u2029", "\xff\xc3", "#️⃣ é 😀", "\ufffd"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		want, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		if got := appendString(nil, s); !bytes.Equal(got, want) {
			t.Errorf("%q: got %s, want %s", s, got, want)
		}
	})
}

func TestListSurvivesJSON(t *testing.T) {
	l := exampleList()
	l.Top[2].ID = "c" // what is not UTF-8 never gets as far as a list
	for _, idField := range []string{"", "article_id"} {
		l.IDField = idField
		var got List
		if err := json.Unmarshal(l.AppendJSON(nil), &got); err != nil {
			t.Fatal(err)
		}
		if want := *l; fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
			t.Errorf("got  %+v\nwant %+v", got, want)
		}
	}
}

func TestListRefusesBadJSON(t *testing.T) {
	good := string(exampleList().AppendJSON(nil))
	for name, bad := range map[string]string{
		"no id":        strings.Replace(good, `"article_id":"a"`, `"id":"a"`, 1),
		"id no string": strings.Replace(good, `"article_id":"a"`, `"article_id":7`, 1),
		"negative":     strings.Replace(good, `"count":912`, `"count":-1`, 1),
		"not an entry": strings.Replace(good, `"top":[`, `"top":[3,`, 1),
		"cut":          good[:len(good)-3],
		"time":         strings.Replace(good, `"as_of":"2026-11-30T12:00:00Z"`, `"as_of":"yesterday"`, 1),
	} {
		if bad == good {
			t.Fatalf("%s: the test no longer changes anything", name)
		}
		var l List
		if err := json.Unmarshal([]byte(bad), &l); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestSlice(t *testing.T) {
	l := exampleList() // 4 of 5 entries: 912, 900, 200, 100; cutoff 80; errors 0, 5, 200, 0
	for _, c := range []struct {
		k, entries, proven int
		cutoff, over       uint64
		other              uint64
		short              Short
	}{
		{1, 1, 1, 900, 0, 4000 - 912, ""},
		{2, 2, 2, 200, 5, 4000 - 1812, ""},
		{3, 3, 2, 100, 200, 4000 - 2012, ""},
		{4, 4, 2, 80, 200, 4000 - 2112, ""},
		{5, 4, 2, 80, 200, 4000 - 2112, ShortFewItems},
	} {
		s := l.Slice(c.k)
		if s.K != c.k || len(s.Top) != c.entries || s.Proven != c.proven || s.Cutoff != c.cutoff ||
			s.MaxOverCount != c.over || s.Other != c.other || s.Short != c.short {
			t.Errorf("k=%d: got %+v, want %+v", c.k, s, c)
		}
	}
	if l.K != 5 || len(l.Top) != 4 {
		t.Error("slicing changed the list")
	}
}

func TestOtherIsNeverNegative(t *testing.T) {
	l := List{Total: 10, Top: []Entry{{ID: "a", Count: 9, Error: 3}, {ID: "b", Count: 4, Error: 2}}}
	l.Label()
	if l.Other != 0 {
		t.Errorf("other is %d", l.Other)
	}
}

// TestProvenRanksAreRight draws true counts, publishes any upper and lower bounds of them, and ranks by truth.
func TestProvenRanksAreRight(t *testing.T) {
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 2))
		truth := map[string]uint64{}
		var upper []Entry
		for i := range 2 + r.IntN(30) {
			id := fmt.Sprintf("%02d", i)
			truth[id] = 1 + uint64(r.IntN(60))
			over := uint64(r.IntN(3) * r.IntN(6))
			slack := uint64(r.IntN(3))
			upper = append(upper, Entry{ID: id, Count: truth[id] + over, Error: min(over+slack, truth[id]+over)})
		}
		slices.SortFunc(upper, func(a, b Entry) int { return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.ID, b.ID)) })
		l := List{Top: upper}
		if k := 1 + r.IntN(len(upper)); k < len(upper) {
			l.Cutoff = upper[k].Count
			l.Top = upper[:k]
		}
		l.Label()
		for k := 1; k <= len(l.Top); k++ {
			s := l.Slice(k)
			for i, e := range s.Top[:s.Proven] {
				last := i == s.Proven-1
				for id, count := range truth {
					listed := slices.IndexFunc(s.Top[:i+1], func(e Entry) bool { return e.ID == id }) >= 0
					tie := count == truth[e.ID] && (last || e.ID < id)
					if !listed && count >= truth[e.ID] && !tie {
						t.Fatalf("seed %d, k %d: proven rank %d is %s with %d, but %s has %d", seed, k, i+1, e.ID, truth[e.ID], id, count)
					}
				}
			}
		}
	}
}

// An item off the list may have as much as the cutoff and a smaller id, so a tie with it proves nothing.
func TestATieWithTheCutoffIsNotProven(t *testing.T) {
	l := List{Cutoff: 1, Top: []Entry{{ID: "a", Count: 3}, {ID: "m", Count: 1}, {ID: "n", Count: 1}}}
	l.Label()
	if l.Proven != 1 {
		t.Errorf("%d ranks are proven, want 1", l.Proven)
	}
}
