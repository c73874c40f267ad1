package window_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"crest"
	"crest/sketch"
	"crest/window"
)

// byBucket is what was added to a ring: weights by bucket and key, exactly.
type byBucket struct {
	width  crest.Millis
	counts map[crest.Millis]map[string]uint64
}

func (s *byBucket) add(t crest.Millis, key string, weight uint64) {
	start := t - t%s.width
	if s.counts[start] == nil {
		s.counts[start] = map[string]uint64{}
	}
	s.counts[start][key] += weight
}

// truth sums the buckets of [from, to) but those of [without, until).
func (s *byBucket) truth(from, to, without, until crest.Millis) map[string]uint64 {
	sums := map[string]uint64{}
	for start, counts := range s.counts {
		if start < from || start >= to || start >= without && start < until {
			continue
		}
		for key, n := range counts {
			sums[key] += n
		}
	}
	return sums
}

// TestWindowsWithoutHours moves the span that a window leaves out about at random, among steps, late weights and restores,
// and checks every bound against an exact count of the buckets that are left.
func TestWindowsWithoutHours(t *testing.T) {
	for seed := range uint64(8) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 17))
			config := window.Config{Width: 10 * time.Minute, Buckets: 18, Windows: []int{12, 18, 2}, Memory: 8 << 10, Late: true}
			ring, err := window.NewRing(config)
			if err != nil {
				t.Fatal(err)
			}
			all := &byBucket{width: crest.Millis(config.Width.Milliseconds()), counts: map[crest.Millis]map[string]uint64{}}
			now := crest.Millis(1_764_500_400_000)
			spans := make([][2]crest.Millis, len(config.Windows))
			for range 120 {
				now += crest.Millis(rng.IntN(int(2 * all.width)))
				ring.Advance(now + 1)
				for range 200 {
					at := now - crest.Millis(rng.ExpFloat64()*float64(all.width))
					key, weight := fmt.Sprintf("item%d", int(rng.ExpFloat64()*200)), uint64(1+rng.IntN(3))
					if ring.Add(at, sketch.Hash(key), key, weight) {
						all.add(at, key, weight)
					}
				}
				w := rng.IntN(len(spans))
				from := now - now%all.width - all.width*crest.Millis(rng.IntN(20))
				spans[w] = [2]crest.Millis{from, from + all.width*crest.Millis(rng.IntN(15))}
				ring.Without(w, spans[w][0], spans[w][1])
				if rng.IntN(20) == 0 {
					for i := range spans {
						ring.Without(i, 0, 0) // a restored ring leaves nothing out
					}
					ring = saveAndRestore(t, ring, config)
					for i, s := range spans {
						ring.Without(i, s[0], s[1])
					}
				}
				for i, s := range spans {
					newest := now - now%all.width
					from := newest - all.width*crest.Millis(config.Windows[i]-1)
					checkWithout(t, ring, i, newest+all.width, all.truth(from, newest+1, s[0], s[1]))
				}
			}
		})
	}
}

func checkWithout(t *testing.T, ring *window.Ring, w int, asOf crest.Millis, truth map[string]uint64) {
	t.Helper()
	also := []string{"item0", "item7", "item150", "item900", "never"}
	r := ring.Top(w, 20, asOf, also...)
	if len(r.Also) != len(also) {
		t.Fatalf("%d entries for %d keys", len(r.Also), len(also))
	}
	total := uint64(0)
	for _, n := range truth {
		total += n
	}
	if r.Total != total {
		t.Fatalf("window %d: total %d, want %d", w, r.Total, total)
	}
	listed := map[string]bool{}
	for _, e := range r.Entries {
		listed[e.Key] = true
	}
	for _, e := range append(r.Entries, r.Also...) {
		if n := truth[e.Key]; n > e.Count || n < e.Count-e.Error {
			t.Fatalf("window %d: %s has %d, said to have %d with an error of %d", w, e.Key, n, e.Count, e.Error)
		}
	}
	for key, n := range truth {
		if !listed[key] && n > r.Cutoff {
			t.Fatalf("window %d: %s has %d, above the cutoff %d, and is not listed", w, key, n, r.Cutoff)
		}
	}
}

// TestLateSince counts what comes for closed hours, by the hour and by when it was received, through a restore.
func TestLateSince(t *testing.T) {
	const hour = crest.Millis(3_600_000)
	start := 490_000 * hour
	config := window.Config{Width: time.Hour, Buckets: 4, Windows: []int{4}, Memory: 4096, Late: true}
	ring, err := window.NewRing(config)
	if err != nil {
		t.Fatal(err)
	}
	received := func(at crest.Millis, event crest.Millis, weight uint64) {
		ring.Advance(at + 1)
		ring.Add(event, sketch.Hash("fox"), "fox", weight)
	}
	minutes := func(n int) crest.Millis { return crest.Millis(n) * 60_000 }
	received(start+hour+minutes(9), start+minutes(59), 1)     // in time
	received(start+hour+minutes(10), start+minutes(59), 20)   // the first slot in which it is late
	received(start+hour+minutes(39), start+minutes(1), 300)   // later
	received(start+2*hour+minutes(1), start+hour, 4000)       // its hour is open
	received(start+3*hour+minutes(15), start-9*hour, 50_000)  // no longer held
	received(start+3*hour+minutes(15), start+hour+1, 600_000) // late for the second hour
	late := func(from, to crest.Millis, cut crest.Millis) uint64 {
		t.Helper()
		late := ring.LateSince(from, to, func(crest.Millis) crest.Millis { return cut })
		if late.Rest != 0 {
			t.Errorf("%d that nobody has", late.Rest)
		}
		return late.Items["fox"]
	}
	check := func() {
		t.Helper()
		for _, c := range []struct {
			what          string
			from, to, cut crest.Millis
			want          uint64
		}{
			{"first hour", start, start + hour, 0, 320},
			{"first hour, counted at its end", start, start + hour, start + hour + minutes(10), 320},
			{"first hour, counted a slot later", start, start + hour, start + hour + minutes(20), 300},
			{"first hour, counted after all", start, start + hour, start + hour + minutes(40), 0},
			{"both hours", start, start + 2*hour, 0, 600_320},
			{"all time", 0, start + 2*hour, 0, 650_320},
		} {
			if got := late(c.from, c.to, c.cut); got != c.want {
				t.Errorf("%s: %d, want %d", c.what, got, c.want)
			}
		}
	}
	check()
	ring = saveAndRestore(t, ring, config)
	check()
	ring.Advance(start + 6*hour) // what was received in the second hour is forgotten
	if got := late(0, start+2*hour, 0); got != 650_000 {
		t.Errorf("after four hours: %d, want 650000", got)
	}
	if got, want := ring.Oldest(), start+2*hour; got != want {
		t.Errorf("the oldest bucket begins at %d, want %d", got, want)
	}
}

// TestLateItemsAreBounded sends late weight of more items than are remembered. All weight is remembered, and room comes
// back when a bucket expires.
func TestLateItemsAreBounded(t *testing.T) {
	const hour = crest.Millis(3_600_000)
	start := 490_000 * hour
	config := window.Config{Width: time.Hour, Buckets: 4, Windows: []int{4}, Memory: 4096, Late: true}
	ring, err := window.NewRing(config)
	if err != nil {
		t.Fatal(err)
	}
	send := func(at crest.Millis) {
		ring.Advance(at + 1)
		for i := range 5000 {
			key := fmt.Sprint("item", i)
			ring.Add(start, sketch.Hash(key), key, 2)
		}
	}
	weight := func() (items int, attributed, rest uint64) {
		late := ring.LateSince(0, start+hour, func(crest.Millis) crest.Millis { return 0 })
		for _, n := range late.Items {
			attributed += n
		}
		return len(late.Items), attributed, late.Rest
	}
	send(start + 2*hour)
	items, attributed, rest := weight()
	if items == 0 || items >= 5000 || attributed != 2*uint64(items) || attributed+rest != 10_000 {
		t.Fatalf("%d items have %d, the rest %d", items, attributed, rest)
	}
	ring = saveAndRestore(t, ring, config)
	if again, _, _ := weight(); again != items {
		t.Fatalf("%d items after a restore, %d before", again, items)
	}
	send(start + 3*hour) // no room
	if again, a, r := weight(); again != items || a+r != 20_000 {
		t.Fatalf("%d items have %d, the rest %d", again, a, r)
	}
	ring.Advance(start + 7*hour) // all expired
	send(start + 7*hour)
	if again, a, r := weight(); again != items || a+r != 10_000 {
		t.Fatalf("%d items have %d, the rest %d", again, a, r)
	}
}
