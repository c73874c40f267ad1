package pipeline

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"crest"
	"crest/internal/config"
)

// TestRandomWindowsWithExactHours has windows of many shapes, recounts up to a day late, and events at the edges of hours and
// slots to the millisecond. A sample of the stitched lists is held against the truth.
func TestRandomWindowsWithExactHours(t *testing.T) {
	for seed := range uint64(2) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { randomWindows(t, rand.New(rand.NewPCG(seed, 77))) })
		})
	}
}

func randomWindows(t *testing.T, r *rand.Rand) {
	t.Helper()
	d := newDrive(t, randomConfig(t, r))
	now := night + 13*minute
	end := night + crest.Millis(27+r.IntN(6))*hour
	items, lag := 5+r.IntN(200), crest.Millis(r.IntN(4))
	if r.IntN(3) == 0 {
		lag = crest.Millis(r.IntN(24))
	}
	var exact *recounted
	for now < end {
		now += randomStep(r, now)
		var events []crest.Event
		for range r.IntN(10) {
			events = append(events, d.event("article", fmt.Sprint("i", r.IntN(items)), randomTime(r, now), uint32(1+r.IntN(5)),
				[]string{"sports", "art"}[r.IntN(2)], []string{"eu", "us"}[r.IntN(2)]))
		}
		d.post(now, now+crest.Millis(r.IntN(2)), events...)
		until := now.Add(-crest.CloseAfter).Floor(time.Hour) - lag*hour
		if until > night && (exact == nil || exact.reach.Until < until) && r.IntN(3) == 0 {
			exact = d.truth.recount(exact, until, now.Floor(crest.Slot))
			exact.most = 3 + r.IntN(60)
			d.exact = exact
		}
	}
	seams := 0
	lists := d.end()
	for i := range lists {
		if lists[i].ExactUntil > 0 && r.IntN(12) == 0 {
			seams++
			d.truth.check(t, &lists[i])
		}
	}
	t.Logf("%d stitched lists checked, recounts %d hours late", seams, lag)
}

func randomConfig(t *testing.T, r *rand.Rand) *config.Config {
	t.Helper()
	cfg := testConfig(t, "shares")
	cfg.Counting.Shards = 2
	cfg.Counting.Bucket, cfg.Counting.NarrowBucket = 32*config.KiB, 16*config.KiB
	cfg.Counting.Hold = time.Duration(4+r.IntN(40)) * time.Hour
	refresh := func() time.Duration { return 5 * time.Minute * time.Duration(3+r.IntN(8)) }
	cfg.Windows = []crest.Window{
		{Name: "24h", Length: 24 * time.Hour, Bucket: 5 * time.Minute, Refresh: refresh()},
		{Name: "25h", Length: 25 * time.Hour, Bucket: 5 * time.Minute, Refresh: refresh()},
		{Name: "24h-coarse", Length: 24 * time.Hour, Bucket: 20 * time.Minute, Refresh: 20 * time.Minute},
		{Name: "7d", Length: 168 * time.Hour, Bucket: time.Hour, Refresh: 30 * time.Minute},
		{Name: "all", Refresh: refresh()},
	}
	if err := cfg.Validate(); err != nil {
		t.Fatal(err)
	}
	return cfg
}

// randomStep is how long nothing comes: up to nine minutes, to the edge of a slot, or hours.
func randomStep(r *rand.Rand, now crest.Millis) crest.Millis {
	switch r.IntN(60) {
	case 0:
		return crest.Millis(1+r.IntN(4)) * hour
	case 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20:
		return max(1, now.Add(crest.Slot).Floor(crest.Slot)-now+crest.Millis(r.IntN(3)-1))
	}
	return crest.Millis(r.IntN(9*60_000) + 1)
}

// randomTime is when an event happened that is received now: just now, long ago, or at the edge of an hour.
func randomTime(r *rand.Rand, now crest.Millis) crest.Millis {
	switch edge := now.Floor(time.Hour) + crest.Millis(r.IntN(3)-1); r.IntN(8) {
	case 0:
		return max(now-crest.Millis(r.IntN(30))*hour-crest.Millis(r.IntN(int(hour))), night-50*hour)
	case 1:
		return edge
	case 2:
		return edge - hour
	}
	return now - crest.Millis(r.IntN(3000))
}
