package exact

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"crest/internal/archive"
)

// An hour that couldn't be counted is counted by the same recounter once its events have been put back, or it is to verify.
func TestEventsPutBack(t *testing.T) {
	seed := seedOf(t)
	w := newWorld(t, days(rand.New(rand.NewPCG(seed, 0)), testHour, 3, 6))
	w.advance(testHour.Add(3*time.Hour + 11*time.Minute))
	view, err := archive.Read(w.config.Archive)
	if err != nil {
		t.Fatal(err)
	}
	hour, err := view.Hour(view.Hours()[0])
	if err != nil {
		t.Fatal(err)
	}
	path := view.Path(hour.Start, hour.Files[0])
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 10); err != nil {
		t.Fatal(err)
	}
	r := w.recounter()
	for range 2 {
		results := w.count(r)
		mentioned(t, "an hour of the archive", path, results[len(results)-1].Problems)
	}
	if len(r.failed) != 1 {
		t.Fatalf("%d failures", len(r.failed))
	}
	if err := os.WriteFile(path, good, 0o600); err != nil {
		t.Fatal(err)
	}
	w.count(r)
	if s := w.load(); s.Reach().Until != testHour.Add(3*time.Hour) || len(s.Problems()) > 0 || len(r.failed) > 0 {
		t.Errorf("counts go until %s: %v; %v", timeText(s.Reach().Until), s.Problems(), r.failed)
	}
	w.check(w.load(), false)
}

// Verify may be called while a round is under way; then the next one verifies.
func TestVerifyDuringRounds(t *testing.T) {
	seed := seedOf(t)
	w := newWorld(t, days(rand.New(rand.NewPCG(seed, 0)), testHour, 3, 6))
	w.advance(testHour.Add(3*time.Hour + 11*time.Minute))
	for _, name := range filesBelow(t, w.config.Archive) {
		if strings.HasSuffix(name, parquetSuffix) {
			if err := os.Truncate(filepath.Join(w.config.Archive, name), 10); err != nil {
				t.Fatal(err)
			}
		}
	}
	r := w.recounter()
	w.count(r)
	if r.verify {
		t.Error("a round has verified, and the next is to do so again")
	}
	var both sync.WaitGroup
	both.Go(func() {
		for range 100 {
			r.Verify()
		}
	})
	for range 10 {
		if result, err := r.Round(t.Context()); err != nil || len(result.Problems) == 0 {
			t.Errorf("%+v, %v", result, err)
		}
	}
	both.Wait()

	asked := r.asked
	r.Verify()
	r.end(&round{}, asked) // of a round that had begun before
	if !r.verify {
		t.Error("the next round doesn't verify")
	}
}
