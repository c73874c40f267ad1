package exact

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"crest/internal/archive"
	"crest/internal/counts"
	"crest/internal/durable"
)

// harm does something to a file.
type harm struct {
	name string
	do   func(t *testing.T, path string)
}

const changed = "with a byte changed"

func harms(random *rand.Rand) []harm {
	return []harm{
		{"deleted", func(t *testing.T, path string) {
			t.Helper()
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		}},
		{changed, func(t *testing.T, path string) {
			t.Helper()
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			b[random.IntN(len(b))] ^= 1 << random.IntN(8)
			if err := os.WriteFile(path, b, durable.FileMode); err != nil {
				t.Fatal(err)
			}
		}},
		{"cut", func(t *testing.T, path string) {
			t.Helper()
			info, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.Truncate(path, random.Int64N(info.Size())); err != nil {
				t.Fatal(err)
			}
		}},
	}
}

// filesBelow returns the files below a directory, relative, but for those that say nothing of counts.
func filesBelow(t *testing.T, dir string) []string {
	t.Helper()
	var all []string
	for name, content := range contents(t, dir) {
		if content != "directory" && content != "" && filepath.Base(name) != lockName {
			all = append(all, name)
		}
	}
	return all
}

// Every file of the counts is damaged, one at a time: what is read meanwhile is right or refused, the damage is named, and
// a round makes all as it was.
func TestDamagedCountsAreRepaired(t *testing.T) {
	random := rand.New(rand.NewPCG(seedOf(t), 0))
	w, step := crashWorld(t, random)
	step(0)
	w.count(w.recounter())
	step(1)
	w.count(w.recounter())
	whole := w.load()
	until := whole.Reach().Until
	want := contents(t, w.config.Dir)
	good := filepath.Join(w.dir, "good")
	if err := os.CopyFS(good, os.DirFS(w.config.Dir)); err != nil {
		t.Fatal(err)
	}
	same, all, movedBack := 0, 0, 0
	for _, name := range filesBelow(t, w.config.Dir) {
		for _, h := range harms(random) {
			if refersTo(whole.m, name) {
				all++
			}
			what := name + " " + h.name
			path := filepath.Join(w.config.Dir, name)
			if h.name == changed && name < hourDir(until.Add(hourLength-eventsEnd)) {
				continue // nobody looks into hours that old until they are needed
			}
			h.do(t, path)
			s := w.load()
			w.check(s, true)
			if reach := s.Reach(); reach.Until > until {
				t.Fatalf("%s: counts go until %s", what, timeText(reach.Until))
			} else if reach.Until != 0 && reach.Until < s.m.Until {
				movedBack++
			}
			if opened(whole, name) || name == manifestName {
				mentioned(t, what, path, s.Problems())
			}
			var problems []Problem
			for _, result := range w.count(w.recounter()) {
				problems = append(problems, result.Problems...)
			}
			if refersTo(whole.m, name) || name == manifestName {
				mentioned(t, what, path, problems)
			}
			s = w.load()
			w.check(s, false)
			if s.Reach().Until != until || len(s.Problems()) > 0 {
				t.Fatalf("%s: afterwards counts go until %s, not %s: %v", what, timeText(s.Reach().Until), timeText(until), s.Problems())
			}
			// Where an hour's neighbour has got events since, it was counted anew.
			if s.Version() == whole.Version() && (refersTo(whole.m, name) || name == manifestName) {
				same++
				sameContents(t, contents(t, w.config.Dir), want)
			}
			if t.Failed() {
				t.Fatal(what)
			}
			if err := os.RemoveAll(w.config.Dir); err != nil {
				t.Fatal(err)
			}
			if err := os.CopyFS(w.config.Dir, os.DirFS(good)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if same < all/2 {
		t.Errorf("%d of %d times all is as it was", same, all)
	}
	if movedBack == 0 {
		t.Error("a damaged hour never moved the end back")
	}
}

// opened reports whether a file is one that a snapshot reads from the beginning.
func opened(s *Snapshot, name string) bool {
	return slices.ContainsFunc(s.held.keys, func(key string) bool { return strings.HasPrefix(key, filepath.ToSlash(name)+" ") })
}

func refersTo(m *manifest, name string) bool {
	for _, f := range m.files() {
		if f.Name == filepath.ToSlash(name) {
			return true
		}
	}
	return false
}

func mentioned(t *testing.T, what, path string, problems []Problem) {
	t.Helper()
	for _, p := range problems {
		if strings.Contains(p.Error(), path) || p.Path == path {
			return
		}
	}
	t.Errorf("%s: not told: %v", what, problems)
}

// Every file of the archive is damaged before it is counted: nothing is counted that is not whole, and what was is right.
func TestDamagedArchiveIsNotCounted(t *testing.T) {
	random := rand.New(rand.NewPCG(seedOf(t), 0))
	w, step := crashWorld(t, random)
	step(0)
	w.count(w.recounter())
	step(1)
	good := w.dir
	for _, name := range filesBelow(t, w.config.Archive) {
		if strings.HasSuffix(name, ".lock") || filepath.Base(name) == "LOCK" {
			continue
		}
		for _, h := range harms(random) {
			what := name + " " + h.name
			dir := filepath.Join(scratch(t), "world")
			if err := os.CopyFS(dir, os.DirFS(good)); err != nil {
				t.Fatal(err)
			}
			w.place(dir)
			path := filepath.Join(w.config.Archive, name)
			h.do(t, path)
			r := w.recounter()
			var problems []Problem
			for rounds := 0; ; rounds++ {
				result, err := r.Round(t.Context())
				if e, ok := errors.AsType[*archive.CorruptError](err); ok && e.Path == path {
					break // the archive's state: nothing can be done without
				}
				if err != nil {
					t.Fatalf("%s: %v", what, err)
				}
				problems = append(problems, result.Problems...)
				if result.Done {
					break
				}
				if rounds > 100 {
					t.Fatalf("%s: there is no end to it", what)
				}
			}
			s := w.load()
			w.check(s, false)
			if s.Reach().Until < testHour.Add(6*time.Hour) && filepath.Base(name) != "state.json" {
				found := false
				for _, p := range problems {
					found = found || strings.Contains(p.Error(), filepath.Base(name))
				}
				if !found {
					t.Errorf("%s: counts go until %s, and nobody says why: %v", what, timeText(s.Reach().Until), problems)
				}
			}
			os.RemoveAll(dir)
		}
	}
}

// Without any manifest, one is made from what the hours' files say of themselves.
func TestManifestFromHours(t *testing.T) {
	random := rand.New(rand.NewPCG(seedOf(t), 0))
	w, step := crashWorld(t, random)
	step(0)
	w.count(w.recounter())
	step(1)
	w.count(w.recounter())
	before := w.load()
	for _, archived := range []bool{true, false} {
		for _, name := range []string{manifestName, beforeName} {
			if err := os.WriteFile(filepath.Join(w.config.Dir, name), []byte("rubbish"), durable.FileMode); err != nil {
				t.Fatal(err)
			}
		}
		if s := w.load(); s.Reach().Until != 0 || len(s.Problems()) == 0 {
			t.Fatalf("without a manifest counts go until %s: %v", timeText(s.Reach().Until), s.Problems())
		}
		if !archived {
			if err := os.RemoveAll(w.config.Archive); err != nil {
				t.Fatal(err)
			}
		}
		results := w.count(w.recounter())
		if len(results[0].Problems) == 0 {
			t.Fatal("nobody says that the manifest was damaged")
		}
		s := w.load()
		if s.Reach() != before.Reach() {
			t.Fatalf("counts go from %v, not %v: %v", s.Reach(), before.Reach(), results)
		}
		w.check(s, false)
	}
}

// An hour's counts are damaged and its events are gone: totals of all time know what it counted.
func TestHourFromTotals(t *testing.T) {
	random := rand.New(rand.NewPCG(seedOf(t), 0))
	w := newWorld(t, days(random, testHour, 86, 6))
	w.retain = archive.MinRetain
	r := w.recounter()
	for h := 1; h <= 86; h += 5 {
		w.advance(testHour.Add(time.Duration(h)*time.Hour + 11*time.Minute))
		w.count(r)
	}
	view, err := archive.Read(w.config.Archive)
	if err != nil {
		t.Fatal(err)
	}
	if view.State.KeptFrom <= testHour.Add(5*time.Hour) {
		t.Fatalf("the archive goes back to %s", timeText(view.State.KeptFrom))
	}
	m := w.load().m
	want := contents(t, w.config.Dir)
	var hour *hourEntry
	for i := range m.Hours {
		if h := &m.Hours[i]; h.Counts != nil && h.Start < view.State.KeptFrom {
			hour = h
		}
	}
	path := hour.Counts.path(w.config.Dir)
	if err := os.Truncate(path, 10); err != nil {
		t.Fatal(err)
	}
	results := w.count(w.recounter())
	if len(results[0].Repaired) == 0 {
		t.Fatalf("%+v", results)
	}
	mentioned(t, "an old hour", path, results[0].Problems)
	sameContents(t, contents(t, w.config.Dir), want)

	// What was late can't be known again, and hardly matters any more.
	var late *hourEntry
	for i := range m.Hours {
		if h := &m.Hours[i]; h.Late != nil && h.Start < view.State.KeptFrom {
			late = h
		}
	}
	if err := os.Remove(late.Late.path(w.config.Dir)); err != nil {
		t.Fatal(err)
	}
	results = w.count(w.recounter())
	mentioned(t, "late weights", late.Late.path(w.config.Dir), results[0].Problems)
	if s := w.load(); s.Reach().Until != m.Until || len(s.Problems()) > 0 {
		t.Fatalf("counts go until %s: %v", timeText(s.Reach().Until), s.Problems())
	} else if err := s.Truth(t.Context(), 0, late.Start.Add(time.Hour), func(counts.Row) error { return nil }); !strings.Contains(fmt.Sprint(err), "are lost") {
		t.Errorf("truth without late weights: %v", err)
	}

	// Without the totals it can't be known. What comes before it still can.
	if err := os.Truncate(path, 10); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(m.total("all").Counts.path(w.config.Dir)); err != nil {
		t.Fatal(err)
	}
	problems := w.count(w.recounter())[0].Problems
	mentioned(t, "an old hour", path, problems)
	s := w.load()
	if s.Reach().Until != hour.Start {
		t.Fatalf("counts go until %s, not %s", timeText(s.Reach().Until), timeText(hour.Start))
	}
	w.check(s, false)

	// Put back from a backup, it counts again.
	if err := os.WriteFile(path, []byte(want[filepath.FromSlash(hour.Counts.Name)]), durable.FileMode); err != nil {
		t.Fatal(err)
	}
	w.count(w.recounter())
	s = w.load()
	if s.Reach().Until != m.Until {
		t.Fatalf("counts go until %s, not %s: %v", timeText(s.Reach().Until), timeText(m.Until), s.Problems())
	}
	w.check(s, false)
}
