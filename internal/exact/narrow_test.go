package exact

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"crest"
	"crest/internal/exact/exacttest"
)

// crowdedDays is traffic of some hours in which now and then an hour has very many categories, and of days that have more of
// them than others.
func crowdedDays(random *rand.Rand, hours int) []exacttest.Received {
	all := days(random, testHour, hours, 20)
	many := map[crest.Millis]bool{}
	for i := range all {
		e := &all[i]
		hour := e.Time.Floor(time.Hour)
		if _, ok := many[hour]; !ok {
			many[hour] = random.IntN(10) == 0
		}
		switch {
		case many[hour]:
			e.Type, e.Dimensions[0] = "article", fmt.Sprint("c", random.IntN(40))
		case e.Dimensions[0] == "":
		case hour.Time().Day()%2 == 0:
			e.Dimensions[0] = fmt.Sprint("c", random.IntN(2))
		default:
			e.Dimensions[0] = fmt.Sprint("c", random.IntN(8))
		}
	}
	return all
}

func TestHoursWithTooManyBoards(t *testing.T) {
	const usual = 5 // a seed for which there is some of everything
	many, refused := 0, 0
	for _, seed := range []uint64{usual, rand.Uint64()} {
		t.Logf("seed %d", seed)
		m, r := followCrowdedDays(t, seed)
		many, refused = many+m, refused+r
	}
	if many == 0 || refused == 0 {
		t.Errorf("%d hours have too many boards, %d answers were refused", many, refused)
	}
}

// followCrowdedDays counts crowded days, and returns how many hours had too many boards and how many answers were refused as their
// window had.
func followCrowdedDays(t *testing.T, seed uint64) (many, refused int) {
	t.Helper()
	const hours = 40
	random := rand.New(rand.NewPCG(seed, 0))
	w := newWorld(t, crowdedDays(random, hours))
	w.config.maxNarrow = 20
	told := map[string]int{}
	w.config.Observer.Problem = func(p Problem) { told[p.Error()]++ }
	r := w.recounter()
	for now := testHour.Add(80 * time.Minute); now < testHour.Add((hours+2)*time.Hour); now = now.Add(time.Duration(random.Int64N(int64(150 * time.Minute)))) {
		w.advance(now)
		w.count(r)
		if random.IntN(8) > 0 && now < testHour.Add(hours*time.Hour) {
			continue
		}
		if again := w.count(r); len(again) != 1 || len(again[0].Counted) > 0 {
			t.Fatalf("nothing is due, but this was counted: %s", reasons(again))
		}
		s := w.load()
		w.check(s, false)
		w.checkCuts(s)
		w.checkTruth(s, random)
		w.checkTotals(s)
	}
	for _, h := range w.load().Hours() {
		if h.TooMany {
			many++
		}
	}
	if len(told) != many {
		t.Errorf("%d hours have too many boards; told were %v", many, told)
	}
	for text, n := range told {
		if n != 1 || !strings.Contains(text, "more than 20 narrowed boards") {
			t.Errorf("%s: told %d times", text, n)
		}
	}
	return many, w.refused
}

// checkTotals makes sure that totals made from all hours are those that were made out of one another.
func (w *world) checkTotals(s *Snapshot) {
	w.t.Helper()
	for _, f := range s.m.files() {
		if strings.HasPrefix(f.Name, totalsDir) {
			if err := os.Remove(f.path(w.config.Dir)); err != nil {
				w.t.Fatal(err)
			}
		}
	}
	w.config.Observer.Problem = nil
	results := w.count(w.recounter())
	again := w.load()
	for i, total := range again.m.Totals {
		was := s.m.Totals[i]
		if total.ID != was.ID || total.Wide != was.Wide || total.Counts != nil && (total.Counts.Info != was.Counts.Info || total.Candidates.Info != was.Candidates.Info) {
			w.t.Fatalf("totals of %s are %+v, made anew they are %+v; %s", total.Window, was, total, problems(results))
		}
	}
}

// Kinds of boards that some hours in between have not been counted for begin after these: an exact list of what came before and
// after would have a hole that nobody sees.
func TestBoardsWithAHole(t *testing.T) {
	const board = "article/category=sports"
	var events []exacttest.Received
	for h := range 6 {
		for n := range 1 + h {
			events = append(events, event(fmt.Sprint("item-", n), time.Duration(h)*time.Hour+time.Duration(10+n)*time.Minute, 0))
		}
	}
	events = append(events, event("end", 6*time.Hour+30*time.Minute, 0))
	w := newWorld(t, events)
	for h := 1; h <= 6; h++ {
		w.config.maxNarrow = 0
		if h == 3 {
			w.config.maxNarrow = -1
		}
		w.advance(testHour.Add(time.Duration(h)*time.Hour + 10*time.Minute))
		w.count(w.recounter())
	}
	s := w.load()
	var counted []bool
	for _, h := range s.m.Hours {
		counted = append(counted, slices.Contains(s.m.Boards[h.Boards], "article/category"))
	}
	equal(t, "hours with the board", fmt.Sprint(counted), "[true true false true true true]")
	since := testHour.Add(3 * time.Hour)
	for _, from := range []crest.Millis{0, testHour, testHour.Add(time.Hour), since.Add(-time.Hour), since, since.Add(time.Hour)} {
		b, err := s.Base(board, from)
		if err != nil {
			t.Fatal(err)
		}
		begin := max(from, since)
		equal(t, "from", b.From, begin)
		want := map[string]uint64{}
		total := uint64(0)
		for _, e := range events {
			if e.Time >= begin && e.Time < s.Reach().Until {
				want[e.Item]++
				total++
			}
		}
		equal(t, "total", b.Total, total)
		for _, c := range b.Candidates {
			equal(t, c.ID, c.Count, want[c.ID])
		}
		equal(t, "candidates", len(b.Candidates), min(len(want), w.config.Candidates))
		items := slices.Sorted(maps.Keys(want))
		for _, start := range []crest.Millis{from, b.From} {
			got, err := s.Counts(board, start, items)
			if err != nil {
				t.Fatal(err)
			}
			for i, item := range items {
				equal(t, item, got[i], want[item])
			}
		}
	}
	b, err := s.Base("article", 0)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "from of the type's board", b.From, 0)
}

func TestNarrowLimit(t *testing.T) {
	b := newBoards(3)
	add := func(value string) error {
		_, err := b.number(crest.ParseBoard("article/category=" + value))
		return err
	}
	if _, err := b.number(crest.Board{Type: "article"}); err != nil {
		t.Fatal(err)
	}
	for _, v := range []string{"a", "b", "a", "c", "b"} {
		if err := add(v); err != nil {
			t.Fatal(err)
		}
	}
	if err := add("d"); !errors.Is(err, errTooManyBoards) {
		t.Errorf("a fourth board: %v", err)
	}
	b = newBoards(3)
	if err := errors.Join(add(strings.Repeat("x", 200)), add("y")); err != nil {
		t.Fatal(err)
	}
	if err := add(strings.Repeat("z", 200)); !errors.Is(err, errTooManyBoards) {
		t.Errorf("names of more than %d bytes: %v", 3*narrowNameSize, err)
	}
}

// Of an hour with as many boards as are possible nothing is left out.
func TestBoardsUpToTheLimit(t *testing.T) {
	var all []exacttest.Received
	for i := range 21 {
		e := event("a", time.Duration(i)*time.Minute, 0)
		e.Dimensions[0] = fmt.Sprint("c", i)
		all = append(all, e)
	}
	for boards, want := range map[int]int{21: 22, 20: 1} {
		w := newWorld(t, all)
		w.config.maxNarrow = boards
		w.advance(testHour.Add(30 * time.Minute))
		w.events = append(w.events, event("b", 3*time.Hour, 0))
		w.advance(testHour.Add(4 * time.Hour))
		w.count(w.recounter())
		s := w.load()
		rows, err := s.HourRows(testHour)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for rows.Next() {
			n++
		}
		equal(t, fmt.Sprintf("boards, %d are possible", boards), n, want)
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			t.Fatal(err)
		}
		w.check(s, false)
	}
}
