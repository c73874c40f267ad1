package archive

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"crest"
)

// expected is what the archive must have: every event that was put into the log, as rows by hour in the log's order.
type expected map[crest.Millis][]row

// fill puts random traffic into a log: bursts, quiet times, late events and some that come from the future.
func fill(r *rand.Rand, log *fakeLog, dimensions []string, records int) expected {
	want := expected{}
	n := 0
	for range records {
		switch r.IntN(12) {
		case 0:
			log.now += crest.Millis(r.Int64N(int64(70 * minute)))
		case 1, 2, 3:
			log.now += crest.Millis(r.Int64N(int64(6 * minute)))
		case 4:
			log.now = log.now.Floor(crest.Slot).Add(crest.Slot) // exactly where the next slot begins
		default:
			log.now += crest.Millis(r.Int64N(3000))
		}
		var events []crest.Event
		for range 1 + r.IntN(6) {
			n++
			ev := crest.Event{ID: id(n), Type: []string{"video", "hashtag"}[r.IntN(2)], Item: string(rune('a' + r.IntN(20))), Weight: 1}
			switch r.IntN(20) {
			case 0:
				ev.Time = log.now - crest.Millis(r.Int64N(int64(72*hour)))
			case 1:
				ev.Time = log.now + crest.Millis(r.Int64N(5000))
			default:
				ev.Time = log.now - crest.Millis(r.Int64N(int64(2*minute)))
			}
			for i := range dimensions {
				if r.IntN(3) > 0 {
					ev.Dimensions[i] = []string{"x", "y", "z"}[r.IntN(3)]
				}
			}
			if r.IntN(4) == 0 {
				ev.Session, ev.Weight, ev.Spelling = r.Uint64(), 1+r.Uint32N(9), "A"
			}
			events = append(events, ev)
			want.add(ev, log.now)
		}
		log.add(dimensions, events...)
	}
	return want
}

func (e expected) add(ev crest.Event, received crest.Millis) {
	t := min(ev.Time, received)
	h := t.Floor(time.Hour)
	e[h] = append(e[h], row{
		ID: ev.ID, Type: ev.Type, Item: ev.Item, Spelling: ev.Spelling, Time: t, Received: received, Session: ev.Session, Weight: ev.Weight,
		Generated: ev.Generated, Dimensions: valuesOf(ev.Dimensions),
	})
}

func valuesOf(d crest.Dimensions) values { return values{d[0], d[1], d[2], d[3]} }

// all returns the rows by hour.
func (e expected) all() []stored {
	var all []stored
	for h, rows := range e {
		for _, r := range rows {
			all = append(all, stored{r, h})
		}
	}
	slices.SortStableFunc(all, func(a, b stored) int { return cmp.Compare(a.hour, b.hour) })
	return all
}

// before returns the rows received before a moment.
func (e expected) before(t crest.Millis) []stored {
	return slices.DeleteFunc(e.all(), func(s stored) bool { return s.Received >= t })
}

func sameRows(tb testing.TB, got, want []stored) {
	tb.Helper()
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			tb.Fatalf("row %d is %+v, want %+v", i, got[i], want[i])
		}
	}
	if len(got) != len(want) {
		tb.Fatalf("%d rows, want %d", len(got), len(want))
	}
}

func seeded(tb testing.TB) *rand.Rand {
	tb.Helper()
	seed := rand.Uint64()
	tb.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// Whatever the writer's batches, files and restarts, the archive has every event once, in order; and it is the same, byte for
// byte, when only the batches differ.
func TestRandomStreams(t *testing.T) {
	r := seeded(t)
	for range 4 {
		dimensions := [][]string{nil, {"category"}, {"a", "b", "c", "d"}}[r.IntN(3)]
		log := newFakeLog(noon + crest.Millis(r.Int64N(int64(hour))))
		want := fill(r, log, dimensions, 120)
		cfg := Config{Dir: t.TempDir(), Dimensions: dimensions}
		if r.IntN(2) == 0 {
			cfg.FileRows = 1 + r.Int64N(100)
		}
		log.batch = 1 + r.IntN(50)
		for log.visible = r.IntN(60); log.visible < len(log.records); log.visible += r.IntN(60) { // with stops
			w := start(t, cfg, log)
			w.commit(t)
			if r.IntN(2) == 0 {
				w.commit(t)
			}
			w.mustStop(t)
		}
		w := start(t, cfg, log)
		w.commit(t)
		w.mustStop(t)
		sameRows(t, readAll(t, cfg.Dir), want.all())
		checkSlots(t, cfg.Dir)

		first, second := contents(t, cfg, log), contents(t, cfg, log)
		if len(first) < 2 || !equalContents(first, second) {
			t.Fatal("two runs over one log differ")
		}
	}
}

// contents archives the whole log at once, with a random size of batches, and returns the files.
func contents(t *testing.T, cfg Config, log *fakeLog) map[string]string {
	t.Helper()
	cfg.Dir = t.TempDir()
	log.batch = 1 + rand.IntN(50)
	w := start(t, cfg, log)
	w.commit(t)
	w.mustStop(t)
	return readTree(t, cfg.Dir)
}

func equalContents(a, b map[string]string) bool {
	if len(a) != len(b) {
		return false
	}
	for name, content := range a {
		if b[name] != content {
			return false
		}
	}
	return true
}

// checkSlots sees that no file has rows of two slots, unless it was made for a closed hour.
func checkSlots(tb testing.TB, dir string) {
	tb.Helper()
	v, err := Read(dir)
	if err != nil {
		tb.Fatal(err)
	}
	for _, h := range v.Hours() {
		hour, err := v.Hour(h)
		if err != nil {
			tb.Fatal(err)
		}
		for _, f := range hour.Files {
			if f.Received.First.Floor(crest.Slot) != f.Received.Last.Floor(crest.Slot) && f.Received.Last < h.Add(time.Hour+crest.CloseAfter) {
				tb.Errorf("%s has rows of two slots: %+v", v.Path(h, f), f)
			}
		}
	}
}
