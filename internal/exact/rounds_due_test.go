package exact

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"crest"
	"crest/internal/archive"
	"crest/internal/counts"
	"crest/internal/dirlock"
	"crest/internal/durable"
	"crest/internal/exact/exacttest"
	"crest/internal/list"
)

// event is one of an article, received some time after it happened.
func event(item string, happened, after time.Duration) exacttest.Received {
	ev := crest.Event{
		ID: crest.ParseEventID(fmt.Sprint(item, happened)), Type: "article", Item: item, Time: testHour.Add(happened), Weight: 1,
	}
	ev.Dimensions[0] = "sports"
	return exacttest.Received{Event: ev, At: ev.Time.Add(after)}
}

// reasons returns which hours were counted, and why.
func reasons(results []Result) string {
	var s []string
	for _, r := range results {
		for _, c := range r.Counted {
			s = append(s, fmt.Sprintf("%02d %s", c.Hour.Time().Hour(), c.Reason))
		}
	}
	return strings.Join(s, ", ")
}

func problems(results []Result) string {
	var s []string
	for _, r := range results {
		for _, p := range r.Problems {
			s = append(s, p.Error())
		}
	}
	return strings.Join(s, "\n")
}

func equal[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %v, not %v", what, got, want)
	}
}

// testHour is 09:00.
func TestLateEventsWaitUntilAnHourIsTwiceAsOld(t *testing.T) {
	var events []exacttest.Received
	for h := range 8 {
		events = append(events, event("a", time.Duration(h)*time.Hour+30*time.Minute, 0))
		events = append(events, event(fmt.Sprint("late", h), 20*time.Minute, time.Duration(h)*time.Hour+15*time.Minute)) // all of hour 9
	}
	w := newWorld(t, events)
	r := w.recounter()
	for i, want := range []string{
		"09 closed", // cut at 10:10, ten minutes after its end
		"09 late, 10 closed",
		"11 closed", // 09 was counted an hour and ten minutes after its end
		"09 late, 12 closed",
		"13 closed",
		"14 closed",
		"15 closed",
	} {
		w.advance(testHour.Add(time.Duration(i+1)*time.Hour + 16*time.Minute))
		equal(t, fmt.Sprint("at ", 10+i), reasons(w.count(r)), want)
		s := w.load()
		w.check(s, false)
		w.checkCuts(s)
	}
	w.config.Wait = 2 * time.Hour // it was counted at 13:10
	w.advance(testHour.Add(8*time.Hour + 16*time.Minute))
	equal(t, "at 17", reasons(w.count(w.recounter())), "09 late, 16 closed")
}

func TestEventOfAnHourBeforeTheFirst(t *testing.T) {
	w := newWorld(t, []exacttest.Received{
		event("a", 30*time.Minute, 0), event("early", -150*time.Minute, 4*time.Hour), event("a", 3*time.Hour, 0),
	})
	r := w.recounter()
	w.advance(testHour.Add(70 * time.Minute))
	equal(t, "counted", reasons(w.count(r)), "09 closed")
	s := w.load()
	cuts := s.Cuts(0)
	equal(t, "hours that can still get events", len(cuts), 1+71)
	equal(t, "the first of them", cuts[0], list.Cut{Hour: testHour.Add(-71 * time.Hour), Received: testHour.Add(70 * time.Minute)})
	w.advance(testHour.Add(2*time.Hour + 15*time.Minute))
	equal(t, "counted", reasons(w.count(r)), "06 earlier, 07 earlier, 08 earlier, 10 closed")
	w.advance(testHour.Add(3*time.Hour + 15*time.Minute))
	equal(t, "counted", reasons(w.count(r)), "11 closed")
	s = w.load()
	equal(t, "first", s.Reach().First, testHour.Add(-3*time.Hour))
	w.check(s, false)
	w.checkCuts(s)
}

func TestForcedHours(t *testing.T) {
	w := newWorld(t, []exacttest.Received{event("a", 30*time.Minute, 0), event("a", 90*time.Minute, 0), event("b", 3*time.Hour, 0)})
	w.advance(testHour.Add(3*time.Hour + 20*time.Minute))
	r := w.recounter()
	r.Force(testHour.Add(-time.Hour), testHour.Add(4*time.Hour))
	results := w.count(r)
	equal(t, "counted", reasons(results), "09 closed, 10 closed, 11 closed")
	got := problems(results)
	for _, want := range []string{
		"hour 2026-11-30T08: the archive has no events of it, nor of an hour before",
		"hour 2026-11-30T12: it is open until everything received before 2026-11-30T13:10:00Z is in the archive, which has all before 2026-11-30T12:",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("problems are %s; %s is missing", got, want)
		}
	}
	version := w.load().Version()
	r.Force(testHour, testHour.Add(time.Hour))
	equal(t, "counted", reasons(w.count(r)), "09 forced")
	equal(t, "counted", reasons(w.count(r)), "")
	equal(t, "version", w.load().Version(), version)
	r.Force(testHour, testHour.Add(3*time.Hour))
	r.config.Edge = time.Minute
	equal(t, "counted", reasons(w.count(r)), "09 forced, 10 forced, 11 forced")
	w.config.Edge = time.Minute
	s := w.load()
	if s.Version() == version {
		t.Error("another edge gives the same counts")
	}
	w.check(s, false)
}

func TestBoardsThatAreDeclaredLater(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	w := newWorld(t, days(random, testHour, 14, 8))
	all := w.config.Types
	w.config.Types = []TypeBoards{{Name: "article"}, {Name: "video"}}
	w.advance(testHour.Add(10*time.Hour + 20*time.Minute))
	w.count(w.recounter())
	hidden := w.config.Archive + "-hidden"
	for _, archived := range []bool{false, true} {
		w.config.Types = all
		w.advance(testHour.Add(13*time.Hour + 20*time.Minute))
		if !archived { // as if what has been counted by now were no longer in the archive
			if err := os.Rename(w.config.Archive, hidden); err != nil {
				t.Fatal(err)
			}
		}
		results := w.count(w.recounter())
		s := w.load()
		since := s.boardSince("article/category=sports")
		b, err := s.Base("article/category=sports", 0)
		if err != nil {
			t.Fatal(err)
		}
		if !archived {
			equal(t, "counted", reasons(results), "")
			equal(t, "from", b.From, s.Reach().Until)
			if err := os.Rename(hidden, w.config.Archive); err != nil {
				t.Fatal(err)
			}
			continue
		}
		equal(t, "since", since, s.Reach().First)
		equal(t, "from", b.From, 0)
		if !strings.Contains(reasons(results), string(ReasonBoards)) {
			t.Errorf("counted: %s", reasons(results))
		}
		w.check(s, false)
	}
	// Fewer boards are no reason to count again.
	w.config.Types = all[1:]
	equal(t, "counted", reasons(w.count(w.recounter())), "")
}

func TestHoursThatTheArchiveDeletedFirst(t *testing.T) {
	w := newWorld(t, []exacttest.Received{event("a", 30*time.Minute, 0), event("a", 90*time.Minute, 0), event("b", 200*time.Hour, 0), event("b", 202*time.Hour, 0)})
	w.retain = archive.MinRetain
	w.advance(testHour.Add(75 * time.Minute))
	r := w.recounter()
	equal(t, "counted", reasons(w.count(r)), "09 closed")
	w.advance(testHour.Add(201 * time.Hour))
	for range 2 {
		results := w.count(r)
		equal(t, "counted", reasons(results), "")
		if got := problems(results); !strings.Contains(got, "hour 2026-11-30T10: its events were deleted from the archive") {
			t.Errorf("problems: %s", got)
		}
	}
	equal(t, "until", w.load().Reach().Until, testHour.Add(time.Hour))

	// Counting that begins now says since when.
	w.config.Dir += "-anew"
	w.advance(testHour.Add(203 * time.Hour))
	w.count(w.recounter())
	s := w.load()
	view, err := archive.Read(w.config.Archive)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "since", s.Reach().Since, view.State.KeptFrom)
	equal(t, "first", s.Reach().First, testHour.Add(200*time.Hour).Floor(time.Hour))
}

func TestHoursSettle(t *testing.T) {
	w := newWorld(t, []exacttest.Received{event("a", 30*time.Minute, 0), event("b", 10*time.Minute, 70*time.Hour), event("c", 80*time.Hour, 0)})
	r := w.recounter()
	for h := 1; h < 82; h += 3 {
		w.advance(testHour.Add(time.Duration(h)*time.Hour + 11*time.Minute))
		w.count(r)
	}
	w.advance(testHour.Add(82 * time.Hour))
	w.count(r)
	s := w.load()
	h, _ := s.Hour(testHour)
	if !h.Settled || h.Weight != 2 {
		t.Errorf("hour 9: %+v", h)
	}
	through := s.Reach().Through
	for _, c := range s.Cuts(0) {
		if c.Hour.Add(eventsEnd) <= through {
			t.Errorf("hour %s has a cut although no events can come", hourText(c.Hour))
		}
	}
	w.check(s, false)
}

// Totals of all time take in what is new, and read no other hour.
func TestOldHoursAreNotReadAgain(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	w := newWorld(t, days(random, testHour, 20, 8))
	w.config.Windows = w.config.Windows[1:] // 3h and all
	r := w.recounter()
	w.advance(testHour.Add(12*time.Hour + 11*time.Minute))
	w.count(r)
	s := w.load()
	var path string
	for _, h := range s.m.Hours {
		if h.Counts != nil && h.Start >= testHour && h.Start < testHour.Add(3*time.Hour) {
			path = h.Counts.path(w.config.Dir)
		}
	}
	harms(random)[1].do(t, path) // it has the right size
	for h := 13; h < 19; h++ {
		w.events = slices.DeleteFunc(w.events, func(e exacttest.Received) bool {
			return e.At >= testHour.Add(12*time.Hour+11*time.Minute) && e.Time < testHour.Add(12*time.Hour)
		})
		w.advance(testHour.Add(time.Duration(h)*time.Hour + 11*time.Minute))
		for _, result := range w.count(r) {
			if len(result.Problems)+len(result.Repaired) > 0 {
				t.Fatalf("hour %d: %+v", h, result)
			}
		}
	}
	w.check(w.load(), true)
}

func TestRecountersTakeTurns(t *testing.T) {
	w := newWorld(t, []exacttest.Received{event("a", 30*time.Minute, 0), event("a", 90*time.Minute, 0)})
	w.advance(testHour.Add(75 * time.Minute))
	if err := os.MkdirAll(w.config.Dir, durable.DirMode); err != nil {
		t.Fatal(err)
	}
	lock, err := dirlock.Wait(t.Context(), w.config.Dir, lockName, func(string) { t.Error("nobody holds it") })
	if err != nil {
		t.Fatal(err)
	}
	waits := make(chan string, 1)
	w.config.Observer.Waiting = func(holder string) { waits <- holder }
	r := w.recounter()
	ctx, cancel := context.WithCancelCause(t.Context())
	done := make(chan error)
	go func() {
		_, err := r.Round(ctx)
		done <- err
	}()
	me := fmt.Sprint("process ", os.Getpid())
	equal(t, "holder", <-waits, me)
	reason := errors.New("no time left")
	cancel(reason)
	if err := <-done; !errors.Is(err, reason) || !strings.Contains(err.Error(), me) {
		t.Errorf("error %v", err)
	}
	go func() {
		_, err := r.Round(t.Context())
		done <- err
	}()
	<-waits
	if err := errors.Join(lock.Close(), <-done); err != nil {
		t.Error(err)
	}
	equal(t, "until", w.load().Reach().Until, testHour.Add(time.Hour))
	b, err := os.ReadFile(filepath.Join(w.config.Dir, lockName))
	if err != nil || len(b) > 0 {
		t.Errorf("the lock has %q, %v", b, err)
	}
}

func TestSnapshotsFollowOneAnother(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	w := newWorld(t, days(random, testHour, 12, 8))
	s := w.load()
	equal(t, "until", s.Reach().Until, 0)
	r := w.recounter()
	for h := 1; h <= 12; h++ {
		w.advance(testHour.Add(time.Duration(h)*time.Hour + 12*time.Minute))
		if s.Changed() {
			t.Fatal("it has changed before it was counted")
		}
		if counted := reasons(w.count(r)) != ""; s.Changed() != counted {
			t.Fatalf("it has changed: %t; something was counted: %t", s.Changed(), counted)
		}
		next, err := s.Next()
		if err != nil {
			t.Fatal(err)
		}
		w.check(next, false)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		w.check(next, false)
		s = next
	}
	store := s.held.store
	equal(t, "open files", len(store.slots), len(s.held.keys))
	next, err := s.Next()
	if err != nil {
		t.Fatal(err)
	}
	if err := next.held.release(false); err != nil { // as when it is dropped
		t.Fatal(err)
	}
	w.check(s, false)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	equal(t, "open files", len(store.slots), 0)
}

func TestTruthOfWhatIsNotCounted(t *testing.T) {
	w := newWorld(t, []exacttest.Received{event("a", 30*time.Minute, 0), event("a", 90*time.Minute, 0)})
	w.advance(testHour.Add(75 * time.Minute))
	w.count(w.recounter())
	s := w.load()
	none := func(counts.Row) error { return nil }
	for _, err := range []error{
		s.Truth(t.Context(), 0, testHour, none),
		s.Truth(t.Context(), 0, testHour.Add(2*time.Hour), none),
		s.Truth(t.Context(), testHour, testHour, none),
		s.Truth(t.Context(), testHour, testHour.Add(30*time.Minute), none),
		s.Rank(t.Context(), testHour, testHour.Add(2*time.Hour), none),
		s.Rank(t.Context(), testHour, testHour, none),
	} {
		if _, ok := errors.AsType[*crest.Error](err); !ok {
			t.Errorf("error %v", err)
		}
	}
	rows := 0
	err := s.Rank(t.Context(), testHour.Add(20*time.Minute), testHour.Add(40*time.Minute), func(r counts.Row) error {
		rows++
		if r.Item != "a" || r.Count != 1 {
			t.Errorf("row %v", r)
		}
		return nil
	})
	if err != nil || rows != 2 {
		t.Errorf("%d rows, %v", rows, err)
	}
}

func TestConfigValidate(t *testing.T) {
	w := newWorld(t, nil)
	for name, spoil := range map[string]func(c *Config){
		"dir":        func(c *Config) { c.Dir = "" },
		"archive":    func(c *Config) { c.Archive = "" },
		"types":      func(c *Config) { c.Types = nil },
		"twice":      func(c *Config) { c.Types = append(c.Types, c.Types[0]) },
		"narrow":     func(c *Config) { c.Types = []TypeBoards{{"video", [][]int{{2}}}} },
		"edge":       func(c *Config) { c.Edge = 30 * time.Minute },
		"memory":     func(c *Config) { c.Memory = 1 },
		"candidates": func(c *Config) { c.Candidates = -1 },
		"wait":       func(c *Config) { c.Wait = -1 },
		"workers":    func(c *Config) { c.Workers = -1 },
		"window":     func(c *Config) { c.Windows = append(c.Windows, crest.Window{Name: "x", Length: 90 * time.Minute}) },
		"windows":    func(c *Config) { c.Windows = append(c.Windows, c.Windows[0]) },
	} {
		c := w.config
		spoil(&c)
		if _, err := NewRecounter(c); err == nil || crest.CodeOf(err) == crest.CodeInternal {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := Load(c); err == nil {
			t.Errorf("%s: it can be loaded", name)
		}
	}
}

// An archive that is not, or not all of, the one that hours were counted from takes nothing away from them.
func TestArchiveThatLostEvents(t *testing.T) {
	w := newWorld(t, []exacttest.Received{
		event("a", 30*time.Minute, 0), event("b", 40*time.Minute, 0), event("a", 90*time.Minute, 0), event("b", 3*time.Hour, 0),
	})
	w.advance(testHour.Add(80 * time.Minute))
	early := w.config.Archive + "-early"
	if err := os.CopyFS(early, os.DirFS(w.config.Archive)); err != nil {
		t.Fatal(err)
	}
	w.advance(testHour.Add(3*time.Hour + 30*time.Minute))
	w.count(w.recounter())
	version := w.load().Version()
	late := w.config.Archive

	w.config.Archive = early
	r := w.recounter()
	r.Force(testHour, testHour.Add(time.Hour))
	results := w.count(r)
	equal(t, "counted", reasons(results), "")
	if got := problems(results); !strings.Contains(got, "the archive in "+early+" has all received before 2026-11-30T10:") {
		t.Errorf("problems: %s", got)
	}

	w.config.Archive = late + "-poor"
	err := exacttest.Write(t.Context(), w.config.Archive, w.config.Dimensions, slices.Values(w.events[1:]), testHour.Add(4*time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	r = w.recounter()
	r.Force(testHour, testHour.Add(time.Hour))
	results = w.count(r)
	equal(t, "counted", reasons(results), "")
	if got := problems(results); !strings.Contains(got, "hour 2026-11-30T09: the archive has 1 events of it, of which 2 have been counted") {
		t.Errorf("problems: %s", got)
	}
	equal(t, "version", w.load().Version(), version)
}

// The neighbour's file has rows at the boundary and rows from before the cut, but none that is both.
func TestNeighbourWithoutRowsThatTakePart(t *testing.T) {
	again := event("a", 55*time.Minute, 0)
	again.Time = testHour.Add(61 * time.Minute)
	again.At = again.Time
	w := newWorld(t, []exacttest.Received{event("a", 55*time.Minute, 0), again, event("b", 59*time.Minute, 70*time.Minute)})
	w.advance(testHour.Add(3 * time.Hour)) // the late event is put into one file with the first
	view, err := archive.Read(w.config.Archive)
	if err != nil {
		t.Fatal(err)
	}
	in, err := inputOf(view, testHour.Add(time.Hour), testHour.Add(120*time.Minute), w.config.Edge)
	if err != nil {
		t.Fatal(err)
	}
	got, err := countHour(t.Context(), t, newCounter(w.config, t.TempDir()), in)
	if err != nil {
		t.Fatal(err)
	}
	if len(in.before) != 1 || len(got.rows) == 0 || got.rows[0].Count != 1 {
		t.Errorf("%d files of the hour before, rows %v", len(in.before), got.rows)
	}
}

// Late events of many hours are all counted when they are due, some hours a round, but the next closed hours come first.
func TestManyHoursWithLateEvents(t *testing.T) {
	const hours = 30
	var events []exacttest.Received
	for h := range hours {
		happened := time.Duration(h)*time.Hour + 30*time.Minute
		events = append(events, event("a", happened, 0), event("late", happened+time.Minute, 70*time.Hour-time.Duration(h)*time.Hour))
	}
	events = append(events, event("a", 72*time.Hour, 0))
	slices.SortStableFunc(events, func(a, b exacttest.Received) int { return cmp.Compare(a.At, b.At) })
	w := newWorld(t, events)
	r := w.recounter()
	w.advance(testHour.Add(hours*time.Hour + 10*time.Minute))
	equal(t, "hours counted first", len(w.count(r)), hours+1)
	w.advance(testHour.Add(71*time.Hour + 15*time.Minute))
	var late []int
	for _, result := range w.count(r) {
		n := 0
		for _, c := range result.Counted {
			switch {
			case c.Reason == ReasonLate:
				n++
			case len(late) > 0:
				t.Errorf("hour %s waited for late events", hourText(c.Hour))
			}
		}
		if n > 0 {
			late = append(late, n)
		}
	}
	equal(t, "hours counted again, by round", fmt.Sprint(late), "[8 8 8 6]")
	w.check(w.load(), false)
	w.checkCuts(w.load())
	equal(t, "nothing is left", len(w.count(r)), 1)
}
