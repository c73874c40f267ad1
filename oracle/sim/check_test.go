package sim

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"crest"
	"crest/internal/config"
)

// checked is a truth with a list of it that is right.
func checked(t *testing.T) (*Truth, crest.List) {
	t.Helper()
	cfg, err := config.Preset("views")
	if err != nil {
		t.Fatal(err)
	}
	tr := newTruth(&cfg, []kind{{name: "video", naming: codes{}}, {name: "hashtag", naming: tags{}}})
	now := crest.MillisOf(time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC))
	l := crest.List{Board: "video", Window: "1h", AsOf: now, From: now.Add(-time.Hour), Cutoff: 10}
	for item := range int32(20) {
		for range 20 - item {
			tr.add(&event{item: item, time: now - 1000, weight: 1}, now-900, false)
		}
		l.Total += uint64(20 - item)
		if item < 10 {
			l.Top = append(l.Top, crest.Entry{ID: codes{}.id(item), Count: uint64(20 - item)})
		}
	}
	tr.add(&event{item: 0, time: now.Add(-61 * time.Minute), weight: 1}, now-900, false)
	l.Label()
	return tr, l
}

func TestWhatTheCheckFinds(t *testing.T) {
	swap := func(l *crest.List, i, j int) { l.Top[i], l.Top[j] = l.Top[j], l.Top[i] }
	for name, breakIt := range map[string]func(l *crest.List){
		"":                          func(*crest.List) {},
		"a count below the truth":   func(l *crest.List) { l.Top[3].Count-- },
		"a count above its error":   func(l *crest.List) { l.Top[0].Count++ },
		"an error above the list's": func(l *crest.List) { l.Top[0].Error = 2 },
		"too small a cutoff":        func(l *crest.List) { l.Cutoff = 9 },
		"an item left out":          func(l *crest.List) { l.Top = l.Top[1:]; l.Label() },
		"an item that nobody sent":  func(l *crest.List) { l.Top[9].ID = codes{}.id(500) },
		"an item twice":             func(l *crest.List) { l.Top[9] = l.Top[8] },
		"a wrong order":             func(l *crest.List) { swap(l, 4, 5) },
		"a rank that isn't proven": func(l *crest.List) {
			swap(l, 4, 5)
			l.Top[4].Count, l.Top[5].Count = 16, 16
			l.Top[4].Error = 1
			l.Label()
		},
		"a total that is too small": func(l *crest.List) { l.Total-- },
		"a total that is too large": func(l *crest.List) { l.Total++ },
		"another beginning":         func(l *crest.List) { l.From += 60_000 },
		"a window that isn't there": func(l *crest.List) { l.Window = "2h" },
		"a board without events":    func(l *crest.List) { l.Board = "article" },
	} {
		tr, l := checked(t)
		l.Top = slices.Clone(l.Top)
		breakIt(&l)
		if name == "a rank that isn't proven" {
			l.Proven = 10
		}
		var found []string
		tr.check(&l, func(crest.Millis) crest.Millis { return 0 }, func(format string, args ...any) {
			found = append(found, fmt.Sprintf(format, args...))
		})
		if (len(found) > 0) != (name != "") {
			t.Errorf("%q: found %q", name, found)
		}
	}
}

func TestRepeatsBelongToThePartThatIsNotExact(t *testing.T) {
	tr, _ := checked(t)
	now := crest.MillisOf(time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC))
	hour := now.Add(-3 * time.Hour)
	for i, received := range []crest.Millis{hour.Add(70 * time.Minute), hour.Add(170 * time.Minute), now - 1} {
		tr.add(&event{item: 7, time: hour + 5, weight: uint32(1 + i)}, received, true)
	}
	b := tr.boards["video"]
	w := b.window("24h").window
	for cut, want := range map[crest.Millis]uint64{0: 6, hour.Add(2 * time.Hour): 5, now: 0} {
		got, total := b.repeatsIn(w, now, hour.Add(time.Hour), func(crest.Millis) crest.Millis { return cut })
		if got[7] != want || total != want {
			t.Errorf("cut %d: %d, %d; want %d", cut, got[7], total, want)
		}
	}
	if _, total := b.repeatsIn(w, now, hour, func(crest.Millis) crest.Millis { return now }); total != 6 {
		t.Errorf("before an exact hour: %d", total)
	}
	if _, total := b.repeatsIn(b.window("1h").window, now, 0, nil); total != 0 {
		t.Errorf("outside the window: %d", total)
	}
}
