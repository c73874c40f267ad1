package sketch

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// counters returns one of each kind.
func counters(t *testing.T) map[string]Counter {
	t.Helper()
	countMin := func(c CountMinConfig) Counter {
		s, err := NewCountMin(c)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	spaceSaving, err := NewSpaceSaving(200)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]Counter{
		"summary":      newSummary(t, 16<<10),
		"space-saving": spaceSaving,
		"count-min":    countMin(CountMinConfig{Epsilon: 0.002, Delta: 0.02, List: 100}),
		"conservative": countMin(CountMinConfig{Epsilon: 0.002, Delta: 0.02, List: 100, Conservative: true}),
		"without list": countMin(CountMinConfig{Epsilon: 0.01, Delta: 0.1}),
	}
}

func TestEveryCounterIsSound(t *testing.T) {
	for _, stream := range streams() {
		t.Run(stream.name, func(t *testing.T) {
			t.Parallel()
			seed := rand.Uint64()
			t.Logf("seed %d", seed)
			updates := stream.random(randomOf(seed), 20_000)
			for name, c := range counters(t) {
				truth := map[string]uint64{}
				for _, u := range updates {
					if !c.Add(u.key, u.weight) {
						t.Fatalf("%s refuses %q", name, u.key)
					}
					truth[u.key] += u.weight
				}
				checkCounter(t, name, c, truth)
			}
		})
	}
}

func checkCounter(t *testing.T, name string, c Counter, truth map[string]uint64) {
	t.Helper()
	monitored := 0
	for key, n := range truth {
		e := c.Estimate(key)
		if n > e.Count || e.Error > e.Count || n < e.Count-e.Error {
			t.Fatalf("%s: %q: truth %d is not in [%d-%d, %d]", name, key, n, e.Count, e.Error, e.Count)
		}
		if e.Monitored {
			monitored++
		}
	}
	top := c.Top(math.MaxInt)
	if len(top) != monitored {
		t.Errorf("%s: %d entries are listed, %d keys are monitored", name, len(top), monitored)
	}
	if !slices.IsSortedFunc(top, compareEntries) {
		t.Errorf("%s: Top is not in order", name)
	}
	for _, e := range top {
		if got := c.Estimate(e.Key); got != (Estimate{e.Count, e.Error, true}) || e.Hash != Hash(e.Key) {
			t.Errorf("%s: %q is listed as %+v, but estimated as %+v", name, e.Key, e, got)
		}
	}
	for _, k := range []int{-1, 0, 1, 10, 63, 100, 1000} {
		if got := c.Top(k); !slices.Equal(got, top[:max(0, min(k, len(top)))]) {
			t.Errorf("%s: Top(%d) is not the front of the whole list", name, k)
		}
	}
	if c.Bytes() <= 0 {
		t.Errorf("%s: takes %d bytes", name, c.Bytes())
	}
}

func TestEveryCounterChecksKeys(t *testing.T) {
	for name, c := range counters(t) {
		for _, key := range []string{"", strings.Repeat("x", MaxKey+1)} {
			if c.Add(key, 1) {
				t.Errorf("%s takes a key of %d bytes", name, len(key))
			}
			if e := c.Estimate(key); e != (Estimate{}) {
				t.Errorf("%s estimates a key of %d bytes as %+v", name, len(key), e)
			}
		}
		if !c.Add("nothing", 0) || len(c.Top(10)) != 0 {
			t.Errorf("%s: a weight of 0 changes something", name)
		}
		for _, key := range []string{"x", "\x00", "\xff\xfe", strings.Repeat("x", MaxKey)} {
			if !c.Add(key, 3) || c.Estimate(key).Count != 3 {
				t.Errorf("%s: a key of %d bytes has %+v", name, len(key), c.Estimate(key))
			}
		}
	}
}

func TestEveryCounterStopsAtTheLargestCount(t *testing.T) {
	for name, c := range counters(t) {
		c.Add("much", math.MaxUint64-1)
		c.Add("much", 5)
		c.Add("little", 5)
		if e := c.Estimate("much"); e.Count != math.MaxUint64 {
			t.Errorf("%s: %+v after more than 2^64", name, e)
		}
		if e := c.Estimate("little"); e.Count < 5 || e.Count-e.Error > 5 {
			t.Errorf("%s: %+v for 5 beside a huge count", name, e)
		}
	}
}

func TestConfigIsChecked(t *testing.T) {
	for _, memory := range []int{-1, 0, MinMemory - 1, MaxMemory + 1} {
		if _, err := New(Config{Memory: memory}); err == nil || !strings.Contains(err.Error(), "Memory") {
			t.Errorf("Memory %d: error %v", memory, err)
		}
	}
	for _, c := range []CountMinConfig{
		{},
		{Epsilon: 1, Delta: 0.1},
		{Epsilon: 0.1, Delta: 1},
		{Epsilon: -0.1, Delta: 0.1},
		{Epsilon: math.NaN(), Delta: 0.1},
		{Epsilon: 1e-12, Delta: 0.1},
		{Epsilon: 0.1, Delta: 0.1, List: -1},
		{Epsilon: 0.1, Delta: 0.1, List: MaxEntries + 1},
	} {
		if _, err := NewCountMin(c); err == nil {
			t.Errorf("%+v is accepted", c)
		}
	}
	for _, entries := range []int{-1, 0, MaxEntries + 1} {
		if _, err := NewSpaceSaving(entries); err == nil {
			t.Errorf("%d entries are accepted", entries)
		}
	}
}

func TestCountMinSize(t *testing.T) {
	for _, test := range []struct {
		epsilon, delta float64
		width, depth   int
	}{
		{1e-5, 0.01, 271_829, 5},
		{0.001, 0.001, 2719, 7},
		{0.9, 0.9, 4, 1},
	} {
		s, err := NewCountMin(CountMinConfig{Epsilon: test.epsilon, Delta: test.delta})
		if err != nil {
			t.Fatal(err)
		}
		if s.width != test.width || len(s.rows) != test.depth {
			t.Errorf("epsilon %g, delta %g: %d x %d cells; want %d x %d",
				test.epsilon, test.delta, s.width, len(s.rows), test.width, test.depth)
		}
	}
}

// TestCountMinKeepsItsPromise checks that estimates exceed epsilon times the total no more often than delta allows.
func TestCountMinKeepsItsPromise(t *testing.T) {
	const epsilon, delta, n = 0.001, 0.02, 200_000
	for _, conservative := range []bool{false, true} {
		t.Run(fmt.Sprintf("conservative=%t", conservative), func(t *testing.T) {
			s, err := NewCountMin(CountMinConfig{Epsilon: epsilon, Delta: delta, Conservative: conservative})
			if err != nil {
				t.Fatal(err)
			}
			truth, next := map[string]uint64{}, zipf(randomOf(7), 1.05, 50_000)
			for range n {
				key := keyOf(next())
				s.Add(key, 1)
				truth[key]++
			}
			bad := 0
			for key, count := range truth {
				if s.Estimate(key).Count-count > epsilon*n {
					bad++
				}
			}
			if float64(bad) > delta*float64(len(truth)) {
				t.Errorf("%d of %d estimates are too high by more than promised", bad, len(truth))
			}
		})
	}
}
