package exact

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"crest/internal/archive"
	"crest/internal/exact/exacttest"
)

func (w *world) loseManifests() {
	w.t.Helper()
	for _, name := range []string{manifestName, beforeName} {
		if err := os.Remove(filepath.Join(w.config.Dir, name)); err != nil {
			w.t.Fatal(err)
		}
	}
}

// Without manifests, an hour whose counts can't be read is known by the name of its directory, also the first one. When its
// events are gone, it is told, and nothing after it counts.
func TestUnreadableFirstHour(t *testing.T) {
	for _, kept := range []bool{true, false} {
		var events []exacttest.Received
		for h := range 90 {
			events = append(events, event("a", time.Duration(h)*time.Hour+time.Minute, 0))
		}
		w := newWorld(t, events)
		if !kept {
			w.retain = archive.MinRetain
		}
		r := w.recounter()
		for h := 5; h <= 90; h += 5 {
			w.advance(testHour.Add(time.Duration(h)*time.Hour + 11*time.Minute))
			w.count(r)
		}
		m := w.load().m
		path := m.Hours[0].Counts.path(w.config.Dir)
		if err := os.Truncate(path, 10); err != nil {
			t.Fatal(err)
		}
		w.loseManifests()
		problems := w.count(w.recounter())[0].Problems
		mentioned(t, "the first hour", path, problems)
		s := w.load()
		if s.m.first() != testHour {
			t.Fatalf("counts begin at %s", timeText(s.m.first()))
		}
		w.check(s, false)
		if kept {
			if s.Reach().Until != m.Until || len(s.Problems()) > 0 {
				t.Errorf("counts go until %s: %v", timeText(s.Reach().Until), s.Problems())
			}
			continue
		}
		if s.Reach().Until != 0 {
			t.Errorf("counts go until %s", timeText(s.Reach().Until))
		}
		mentioned(t, "the first hour", path, s.Problems())
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}
}

// Of hours that the archive has deleted in order, nothing is told when manifests are lost.
func TestRebuildOfOldHours(t *testing.T) {
	t.Run("drawn", func(t *testing.T) { rebuildOldHours(t, seedOf(t)) })
	t.Run("last hours without events", func(t *testing.T) { rebuildOldHours(t, 1064732310134017507) })
}

func rebuildOldHours(t *testing.T, seed uint64) {
	t.Helper()
	w := newWorld(t, days(rand.New(rand.NewPCG(seed, 0)), testHour, 101, 3))
	w.retain = archive.MinRetain
	r := w.recounter()
	for h := 1; h <= 100; h++ {
		w.advance(testHour.Add(time.Duration(h)*time.Hour + 11*time.Minute))
		w.count(r)
	}
	w.loseManifests()
	w.advance(testHour.Add(101*time.Hour + 11*time.Minute))
	for _, result := range w.count(w.recounter()) {
		for _, p := range result.Problems {
			if strings.Contains(p.Error(), "deleted") {
				t.Error(p)
			}
		}
	}
}
