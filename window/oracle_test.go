package window_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"crest"
	"crest/sketch"
	"crest/window"
)

// oracle counts exactly what a ring should count.
type oracle struct {
	width   int64 // ms; 0 for all time
	held    int64
	newest  int64
	started bool
	weights map[int64]map[string]uint64 // by bucket
	lateBy  map[int64][]uint64
	windows []int
}

func newOracle(c window.Config) *oracle {
	return &oracle{
		width: c.Width.Milliseconds(), held: int64(c.Buckets), windows: c.Windows,
		weights: map[int64]map[string]uint64{}, lateBy: map[int64][]uint64{},
	}
}

func (o *oracle) number(t crest.Millis) int64 {
	if o.width == 0 {
		return 0
	}
	n := int64(t) / o.width
	if int64(t)%o.width < 0 {
		n--
	}
	return n
}

func (o *oracle) advance(n int64) {
	if !o.started || n > o.newest {
		o.newest, o.started = n, true
	}
}

func (o *oracle) add(t crest.Millis, key string, w uint64) bool {
	n := o.number(t)
	o.advance(n)
	if o.lateBy[o.newest] == nil {
		o.lateBy[o.newest] = make([]uint64, len(o.windows))
	}
	for i, buckets := range o.windows {
		if n <= o.newest-int64(buckets) {
			o.lateBy[o.newest][i] += w
		}
	}
	if n <= o.newest-o.held {
		return false
	}
	if o.weights[n] == nil {
		o.weights[n] = map[string]uint64{}
	}
	o.weights[n][key] += w
	return true
}

// truth returns the exact counts of a window, their sum, and what came too late.
func (o *oracle) truth(win int) (counts map[string]uint64, total, late uint64) {
	counts = map[string]uint64{}
	for n := o.newest - int64(o.windows[win]) + 1; n <= o.newest; n++ {
		for k, w := range o.weights[n] {
			counts[k] += w
			total += w
		}
		if l := o.lateBy[n]; l != nil {
			late += l[win]
		}
	}
	return counts, total, late
}

// check compares a report with the truth: no count is below it, it lies in every entry's interval, and no key that is left
// out has more than the cutoff.
func (o *oracle) check(t *testing.T, win, k int, r window.Report) {
	t.Helper()
	counts, total, late := o.truth(win)
	if r.Total != total {
		t.Fatalf("window %d: total %d, truth %d", win, r.Total, total)
	}
	if r.Late != late {
		t.Fatalf("window %d: late %d, truth %d", win, r.Late, late)
	}
	listed := map[string]bool{}
	for i, e := range r.Entries {
		truth := counts[e.Key]
		if e.Count < truth {
			t.Fatalf("window %d: %q under-counted: %d, truth %d", win, e.Key, e.Count, truth)
		}
		if e.Error > e.Count || e.Count-e.Error > truth {
			t.Fatalf("window %d: %q has count %d error %d, truth %d is below the interval", win, e.Key, e.Count, e.Error, truth)
		}
		if listed[e.Key] {
			t.Fatalf("window %d: %q is listed twice", win, e.Key)
		}
		listed[e.Key] = true
		if i > 0 {
			b := r.Entries[i-1]
			if b.Count < e.Count || b.Count == e.Count && b.Key >= e.Key {
				t.Fatalf("window %d: entries %d and %d are out of order: %+v %+v", win, i-1, i, b, e)
			}
		}
	}
	if len(r.Entries) > k {
		t.Fatalf("window %d: %d entries for k=%d", win, len(r.Entries), k)
	}
	for key, truth := range counts {
		if !listed[key] && truth > r.Cutoff {
			t.Fatalf("window %d: %q is not listed, truth %d is above the cutoff %d", win, key, truth, r.Cutoff)
		}
	}
}

// exactTop is what an exact report must list.
func (o *oracle) exactTop(win, k int) []window.Entry {
	counts, _, _ := o.truth(win)
	var top []window.Entry
	for key, n := range counts {
		top = append(top, window.Entry{Key: key, Hash: sketch.Hash(key), Count: n})
	}
	slices.SortFunc(top, func(a, b window.Entry) int {
		if a.Count != b.Count {
			if a.Count > b.Count {
				return -1
			}
			return 1
		}
		return strings.Compare(a.Key, b.Key)
	})
	return top[:min(k, len(top))]
}

type stream struct {
	name string
	key  func(r *rand.Rand, step int) string
	time func(r *rand.Rand, now crest.Millis) crest.Millis
}

func streams() []stream {
	zipf := func(r *rand.Rand) int { return int(rand.NewZipf(r, 1.1, 1, 20000).Uint64()) }
	onTime := func(r *rand.Rand, now crest.Millis) crest.Millis { return now - crest.Millis(r.IntN(300)) }
	return []stream{
		{"few keys", func(r *rand.Rand, _ int) string { return fmt.Sprint("k", r.IntN(20)) }, onTime},
		{"zipf", func(r *rand.Rand, _ int) string { return fmt.Sprint("k", zipf(r)) }, onTime},
		{"uniform", func(r *rand.Rand, _ int) string { return fmt.Sprint("k", r.IntN(5000)) }, onTime},
		{"one-offs", func(r *rand.Rand, step int) string {
			if step%3 == 0 {
				return fmt.Sprint("hot", r.IntN(10))
			}
			return fmt.Sprint("junk", step)
		}, onTime},
		{
			"late", func(r *rand.Rand, _ int) string { return fmt.Sprint("k", zipf(r)) },
			func(r *rand.Rand, now crest.Millis) crest.Millis { return now - crest.Millis(r.IntN(90_000)) },
		},
		{"bursts", func(r *rand.Rand, step int) string {
			if step/500%2 == 0 {
				return fmt.Sprint("burst", step/1000)
			}
			return fmt.Sprint("k", zipf(r))
		}, onTime},
	}
}

func TestReportsHoldAgainstExactCounts(t *testing.T) {
	configs := []window.Config{
		{Width: 10 * time.Second, Buckets: 6, Windows: []int{6}},
		{Width: 10 * time.Second, Buckets: 36, Windows: []int{3, 36, 1, 2}},
		{Width: time.Minute, Buckets: 4, Windows: []int{4}},
		{Width: 0, Buckets: 1, Windows: []int{1}},
	}
	for _, s := range streams() {
		for _, c := range configs {
			for _, memory := range []int{4 << 10, 64 << 10} {
				c.Memory = memory
				t.Run(fmt.Sprintf("%s/%v-%d/%d", s.name, c.Width, c.Buckets, memory), func(t *testing.T) {
					replay(t, c, s, 30_000)
				})
			}
		}
	}
}

func replay(t *testing.T, c window.Config, s stream, steps int) {
	t.Helper()
	const seed = 7
	r := rand.New(rand.NewPCG(seed, 1))
	ring, err := window.NewRing(c)
	if err != nil {
		t.Fatal(err)
	}
	o := newOracle(c)
	now := crest.Millis(1_700_000_000_000)
	for step := range steps {
		now += crest.Millis(r.IntN(40))
		if r.IntN(10_000) == 0 { // silence, sometimes for longer than the ring
			now += crest.Millis(r.IntN(500_000))
		}
		at, key, weight := s.time(r, now), s.key(r, step), uint64(1)
		if r.IntN(50) == 0 {
			weight = uint64(1 + r.IntN(1000))
		}
		counted := ring.Add(at, sketch.Hash(key), key, weight)
		if want := o.add(at, key, weight); counted != want {
			t.Fatalf("seed %d step %d: counted %v, want %v", seed, step, counted, want)
		}
		if step%997 == 0 {
			ring.Advance(now + 1)
			o.advance(o.number(now))
			for win := range c.Windows {
				const k = 50
				o.check(t, win, k, ring.Top(win, k, now+1))
			}
		}
		if step%7919 == 0 {
			ring = saveAndRestore(t, ring, c)
		}
	}
}

func saveAndRestore(t *testing.T, ring *window.Ring, c window.Config) *window.Ring {
	t.Helper()
	newest, ok := ring.Newest()
	if !ok {
		return ring
	}
	saved := map[int64][]byte{}
	for number := range ring.Buckets() {
		data, err := ring.AppendBucket(nil, number)
		if err != nil {
			t.Fatal(err)
		}
		saved[number] = data
	}
	for number, changed := range ring.Buckets() {
		if changed {
			t.Fatalf("bucket %d counts as changed after it was saved", number)
		}
	}
	again, err := window.NewRing(c)
	if err != nil {
		t.Fatal(err)
	}
	err = again.Restore(newest, func(yield func(int64, []byte) bool) {
		for number, data := range saved {
			if !yield(number, data) {
				return
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	for win := range c.Windows {
		asOf := crest.Millis(newest+1) * crest.Millis(c.Width.Milliseconds())
		before, after := ring.Top(win, 1000, asOf), again.Top(win, 1000, asOf)
		if !slices.Equal(before.Entries, after.Entries) || before.Cutoff != after.Cutoff || before.Total != after.Total {
			t.Fatalf("window %d differs after a restore: %d and %d entries, cutoff %d and %d", win,
				len(before.Entries), len(after.Entries), before.Cutoff, after.Cutoff)
		}
	}
	return again
}

func TestSmallStreamsAreExact(t *testing.T) {
	c := window.Config{Width: 10 * time.Second, Buckets: 12, Windows: []int{6, 12}, Memory: 256 << 10}
	ring, err := window.NewRing(c)
	if err != nil {
		t.Fatal(err)
	}
	o := newOracle(c)
	r := rand.New(rand.NewPCG(3, 1))
	now := crest.Millis(1_700_000_000_000)
	for range 20_000 {
		now += crest.Millis(r.IntN(30))
		key := fmt.Sprint("k", r.IntN(300))
		at := now - crest.Millis(r.IntN(60_000))
		ring.Add(at, sketch.Hash(key), key, 1)
		o.add(at, key, 1)
	}
	for win := range c.Windows {
		got := ring.Top(win, 100, now+1)
		if want := o.exactTop(win, 100); !slices.Equal(got.Entries, want) {
			t.Fatalf("window %d:\n got %v\nwant %v", win, got.Entries[:5], want[:5])
		}
	}
}

func TestMemoryFollowsConfigurationNotKeys(t *testing.T) {
	c := window.Config{Width: 10 * time.Second, Buckets: 6, Windows: []int{6}, Memory: 64 << 10}
	ring, err := window.NewRing(c)
	if err != nil {
		t.Fatal(err)
	}
	now := crest.Millis(1_700_000_000_000)
	fill := func(from, n int) {
		for i := from; i < from+n; i++ {
			now++
			key := fmt.Sprint("junk", i)
			ring.Add(now, sketch.Hash(key), key, 1)
		}
		ring.Top(0, 1000, now+1)
	}
	fill(0, 200_000)
	warm := ring.Bytes()
	fill(200_000, 1_000_000)
	if after := ring.Bytes(); float64(after) > 1.05*float64(warm) {
		t.Fatalf("memory grew from %d to %d bytes", warm, after)
	}
}
