package pipeline

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"crest"
	"crest/internal/config"
	"crest/internal/list"
)

// recounted is what an exact recount of a truth would have: hours up to a moment, each with what was received before a
// cut.
type recounted struct {
	reach list.Reach
	cuts  []list.Cut
	most  int // candidates
	truth []accepted
	cache map[string]*list.Base
}

func (x *recounted) Reach() list.Reach { return x.reach }

func (x *recounted) Cuts(from crest.Millis) []list.Cut {
	return slices.DeleteFunc(slices.Clone(x.cuts), func(c list.Cut) bool { return c.Hour < from })
}

func (x *recounted) counts(board string, from crest.Millis) map[string]uint64 {
	cuts := map[crest.Millis]crest.Millis{}
	for _, c := range x.cuts {
		cuts[c.Hour] = c.Received
	}
	counts := map[string]uint64{}
	for _, ev := range x.truth {
		at := min(ev.Time, ev.received)
		if at >= from && at < x.reach.Until && ev.received < cuts[at.Floor(time.Hour)] && slices.Contains(boards(&ev.Event), board) {
			counts[ev.Item] += uint64(ev.Weight)
		}
	}
	return counts
}

func (x *recounted) Base(board string, from crest.Millis) (*list.Base, error) {
	key := fmt.Sprint(board, from)
	if b, ok := x.cache[key]; ok {
		return b, nil
	}
	b := &list.Base{From: from, Until: x.reach.Until}
	counts := x.counts(board, from)
	for _, id := range slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	}) {
		b.Total += counts[id]
		if len(b.Candidates) < x.most {
			b.Candidates = append(b.Candidates, list.Candidate{ID: id, Count: counts[id]})
		} else {
			b.Rest = max(b.Rest, counts[id])
		}
	}
	x.cache[key] = b
	return b, nil
}

func (x *recounted) Counts(board string, from crest.Millis, ids []string) ([]uint64, error) {
	counts := x.counts(board, from)
	var out []uint64
	for _, id := range ids {
		out = append(out, counts[id])
	}
	return out, nil
}

// recount counts every hour that has ended by until, with all that was received before the cut; hours that were counted
// before keep their cut.
func (tr *truth) recount(before *recounted, until, cut crest.Millis) *recounted {
	x := &recounted{most: 25, truth: slices.Clone(tr.events), cache: map[string]*list.Base{}}
	first := until
	for _, ev := range tr.events {
		first = min(first, min(ev.Time, ev.received).Floor(time.Hour))
	}
	x.reach = list.Reach{First: first, Until: until, Through: cut}
	for h := first; h < until; h = h.Add(time.Hour) {
		at := cut
		if before != nil && h >= before.reach.First && h < before.reach.Until && h != first {
			at = before.cuts[(h-before.reach.First)/crest.Millis(time.Hour.Milliseconds())].Received
		}
		x.cuts = append(x.cuts, list.Cut{Hour: h, Received: at})
	}
	return x
}

// TestListsWithExactHoursHold runs hours of traffic in which an hour is counted exactly ten minutes after it ended, but for
// two hours in which the recount is down. Events come late for hours that have been counted. Every list is checked.
func TestListsWithExactHoursHold(t *testing.T) {
	for _, c := range []struct {
		preset      string
		hours, hold int
	}{{"views", 4, 5}, {"views", 4, 2}} {
		t.Run(fmt.Sprintf("%s, %d hours held", c.preset, c.hold), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { testExactHours(t, c.preset, c.hours, c.hold) })
		})
	}
}

func testExactHours(t *testing.T, preset string, hours, hold int) {
	t.Helper()
	cfg := testConfig(t, preset)
	cfg.Counting.Bucket, cfg.Counting.NarrowBucket = 64*config.KiB, 32*config.KiB
	cfg.Counting.Shards = 2
	cfg.Counting.Hold = time.Duration(hold) * time.Hour
	if hold == 2 { // the window would hold more
		cfg.Windows = slices.DeleteFunc(cfg.Windows, func(w crest.Window) bool { return w.Name == "24h" })
	}
	for i := range cfg.Windows {
		cfg.Windows[i].Refresh = max(cfg.Windows[i].Refresh, 5*time.Minute)
	}
	var exact atomic.Pointer[recounted]
	time.Sleep(time.Until(time.Now().Truncate(time.Hour).Add(time.Hour + 20*time.Minute)))
	n := startWith(t, cfg, t.TempDir(), func() list.Exact {
		if x := exact.Load(); x != nil {
			return x
		}
		return nil
	})
	tr := &truth{seen: map[crest.EventID]bool{}}
	r := rand.New(rand.NewPCG(4, 4))
	for slot := range hours * 6 {
		for range 6 {
			batch := make([]crest.Event, 1+r.IntN(30))
			for i := range batch {
				batch[i] = eventFrom(r, cfg.Types[0].Name)
				if r.IntN(20) == 0 { // hours late
					batch[i].Time -= crest.Millis(r.IntN(4 * 3_600_000))
				}
			}
			tr.add(n.post(batch...), batch...)
			time.Sleep(100 * time.Second)
		}
		now := crest.MillisOf(time.Now())
		down := slot > 6 && slot < 16
		if closed := now.Add(-crest.CloseAfter).Floor(time.Hour); !down && (exact.Load() == nil || exact.Load().reach.Until < closed) {
			exact.Store(tr.recount(exact.Load(), closed, now.Floor(crest.Slot)))
		}
	}
	n.stop()
	seams, late, alone := map[string]int{}, 0, 0
	until, asOf := map[string]crest.Millis{}, map[string]crest.Millis{}
	lists := n.lists.published()
	for i := range lists {
		l := &lists[i]
		if l.Window != "24h" && l.Window != "all" {
			continue
		}
		tr.check(t, l)
		key := l.Board + " " + l.Window
		if l.ExactUntil == 0 && until[key] > 0 && hold == 2 && l.Window == "all" {
			alone++ // the recount is later than hours are held
			until[key] = 0
		}
		if l.ExactUntil < until[key] || l.AsOf <= asOf[key] {
			t.Fatalf("%s goes back: exact until %d after %d, as of %d after %d", key, l.ExactUntil, until[key], l.AsOf, asOf[key])
		}
		if l.ExactUntil > until[key] {
			seams[key]++
		}
		until[key], asOf[key] = l.ExactUntil, l.AsOf
		if l.MaxOverCount > 0 && l.ExactUntil > 0 {
			late++
		}
	}
	for _, w := range cfg.Windows {
		key := cfg.Types[0].Name + " " + w.Name
		if cfg.Stitched(w) && seams[key] < hours-2 {
			t.Errorf("%s moved its seam %d times", key, seams[key])
		}
	}
	if (alone > 0) != (hold == 2) {
		t.Errorf("the list of all time did without the recount %d times", alone)
	}
	if late == 0 {
		t.Error("no list had an error for what came late")
	}
	if len(n.skipped) > 0 {
		t.Errorf("skipped: %v", n.skipped)
	}
}
