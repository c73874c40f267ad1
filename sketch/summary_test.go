package sketch

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// checkSound compares a summary with the exact counts of what it was given.
func checkSound(t *testing.T, s *Summary, truth map[string]uint64) {
	t.Helper()
	total, failures := uint64(0), 0
	fail := func(format string, args ...any) {
		t.Helper()
		if failures++; failures <= 5 {
			t.Errorf(format, args...)
		}
	}
	monitored := 0
	for key, n := range truth {
		total += n
		e := s.Estimate(key)
		if e.Monitored {
			monitored++
		}
		if n > e.Count || e.Error > e.Count || n < e.Count-e.Error {
			fail("%q: truth %d is not in [%d-%d, %d]", key, n, e.Count, e.Error, e.Count)
		}
		if !e.Monitored && (n > s.Cutoff() || n > s.Floor(s.SetOf(Hash(key)))) {
			fail("%q is absent and has %d; cutoff %d, floor %d", key, n, s.Cutoff(), s.Floor(s.SetOf(Hash(key))))
		}
		if s.Exact() && (!e.Monitored || e.Error != 0) {
			fail("%q: exact, but %+v", key, e)
		}
	}
	if monitored != s.Len() {
		fail("%d keys of the stream are monitored, but Len is %d", monitored, s.Len())
	}
	if s.Total() != total {
		fail("Total is %d; want %d", s.Total(), total)
	}
	listed := map[string]bool{}
	for _, e := range s.Top(math.MaxInt) {
		if listed[e.Key] {
			fail("%q is listed twice", e.Key)
		}
		listed[e.Key] = true
		if e.Hash != Hash(e.Key) {
			fail("%q has hash %x", e.Key, e.Hash)
		}
		if got := s.Estimate(e.Key); got != (Estimate{e.Count, e.Error, true}) {
			fail("%q is listed with %d, %d, but estimated as %+v", e.Key, e.Count, e.Error, got)
		}
	}
	if len(listed) != s.Len() {
		fail("%d entries are listed, but Len is %d", len(listed), s.Len())
	}
	surcharge := 0
	if s.high != nil {
		surcharge = cap(s.high) * highBytes
	}
	if s.Bytes()-surcharge > s.MaxBytes() || s.MaxBytes() > s.config.Memory {
		fail("%d bytes; at most %d are allowed", s.Bytes(), s.MaxBytes())
	}
}

func TestSummaryIsSound(t *testing.T) {
	const updates = 60_000
	for _, memory := range []int{MinMemory, 16 << 10, 87 << 10, 4 << 20} {
		for _, stream := range streams() {
			t.Run(fmt.Sprintf("%s/%d", stream.name, memory), func(t *testing.T) {
				t.Parallel()
				seed := rand.Uint64()
				t.Logf("seed %d", seed)
				s, truth := newSummary(t, memory), map[string]uint64{}
				for life := range 2 {
					for i, u := range stream.random(randomOf(seed+uint64(life)), updates) {
						if !s.Add(u.key, u.weight) {
							t.Fatalf("%q was refused", u.key)
						}
						truth[u.key] += u.weight
						if i == updates/10 {
							checkSound(t, s, truth)
						}
					}
					checkSound(t, s, truth)
					s.Reset()
					clear(truth)
					checkSound(t, s, truth)
				}
			})
		}
	}
}
