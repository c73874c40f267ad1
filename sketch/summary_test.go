package sketch

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
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
	const updates = 30_000
	for _, memory := range []int{MinMemory, 16 << 10, 87 << 10, 1 << 20} {
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

func TestOneOffsTakeNoMemory(t *testing.T) {
	s := newSummary(t, 64<<10)
	next := zipf(randomOf(3), 1.2, 1000)
	truth := map[string]uint64{}
	hot := func() {
		for range 50_000 {
			key := keyOf(next())
			s.Add(key, 1)
			truth[key]++
		}
	}
	hot()
	before := s.Top(20)
	buf := make([]byte, 0, 16)
	for id := range uint64(1_000_000) {
		buf = strconv.AppendUint(append(buf[:0], "junk"...), id, 36)
		s.Add(string(buf), 1)
	}
	if s.Bytes() > s.MaxBytes() {
		t.Errorf("%d bytes after the junk; at most %d are promised", s.Bytes(), s.MaxBytes())
	}
	after := s.Top(20)
	if !slices.Equal(before, after) {
		t.Errorf("junk changed the top 20:\n%v\n%v", before, after)
	}
	for key, n := range truth {
		if e := s.Estimate(key); n > e.Count || n < e.Count-e.Error {
			t.Errorf("%q: truth %d is not in [%d-%d, %d]", key, n, e.Count, e.Error, e.Count)
		}
	}
}

// TestSetsFollowTheHash checks what sums over several summaries rely on.
func TestSetsFollowTheHash(t *testing.T) {
	s := newSummary(t, 87<<10)
	sets := 1
	for _, u := range streams()[1].random(randomOf(5), 20_000) {
		wasFull := s.Full()
		s.Add(u.key, u.weight)
		if s.Sets() != sets {
			if s.Sets() != 2*sets || wasFull {
				t.Fatalf("%d sets became %d; full: %t", sets, s.Sets(), wasFull)
			}
			sets = s.Sets()
		}
		hash := Hash(u.key)
		set := s.SetOf(hash)
		if set != int(hash&uint64(sets-1)) {
			t.Fatalf("hash %x is of set %d among %d", hash, set, sets)
		}
		if !s.Full() && (s.Floor(set) != 0 || s.Cutoff() != 0) {
			t.Fatalf("floor %d, cutoff %d before anything was evicted", s.Floor(set), s.Cutoff())
		}
	}
	if !s.Full() {
		t.Fatal("the stream is too short to fill the summary")
	}
	var all, bySet []Entry
	for e := range s.All() {
		all = append(all, e)
	}
	cutoff := uint64(0)
	for set := range sets {
		from := len(bySet)
		bySet = s.AppendSet(bySet, set)
		for _, e := range bySet[from:] {
			if s.SetOf(e.Hash) != set {
				t.Errorf("%q is listed in set %d", e.Key, set)
			}
		}
		cutoff = max(cutoff, s.Floor(set))
	}
	if !slices.Equal(all, bySet) || len(all) != s.Len() {
		t.Errorf("All lists %d, the sets %d of %d entries", len(all), len(bySet), s.Len())
	}
	if cutoff != s.Cutoff() {
		t.Errorf("cutoff %d; the largest floor is %d", s.Cutoff(), cutoff)
	}
}

func TestAppendSetAllocatesNothing(t *testing.T) {
	s := newSummary(t, MinMemory)
	for i := range uint64(1000) {
		s.Add(keyOf(i), 1)
	}
	dst := make([]Entry, 0, 8)
	if n := testing.AllocsPerRun(100, func() { dst = s.AppendSet(dst[:0], 0) }); n != 0 {
		t.Errorf("%g allocations", n)
	}
}

// TestLivesOfOtherLengths reuses arrays that had another share of the memory in the life before.
func TestLivesOfOtherLengths(t *testing.T) {
	s := newSummary(t, 64<<10)
	for life, suffix := range []string{strings.Repeat("x", 240), "", strings.Repeat("x", 240), "x", strings.Repeat("x", 60)} {
		s.Reset()
		truth := map[string]uint64{}
		for i := range uint64(3000) {
			key := fmt.Sprintf("%04x", i) + suffix
			s.Add(key, 1)
			truth[key]++
			if s.Bytes() > s.MaxBytes() {
				t.Fatalf("life %d, key %d: %d bytes; at most %d are allowed", life, i, s.Bytes(), s.MaxBytes())
			}
			if i == 20 && !s.Exact() {
				t.Fatalf("life %d: no longer exact after %d keys", life, i)
			}
		}
		checkSound(t, s, truth)
		fresh := newSummary(t, 64<<10)
		for i := range uint64(3000) {
			fresh.Add(fmt.Sprintf("%04x", i)+suffix, 1)
		}
		if !bytes.Equal(encode(t, s), encode(t, fresh)) {
			t.Errorf("life %d is not that of a new summary", life)
		}
	}
}

func TestResetKeepsArrays(t *testing.T) {
	s := newSummary(t, 87<<10)
	var keys []string
	for i := range uint64(5000) {
		keys = append(keys, fmt.Sprintf("video%06x", i))
	}
	fill := func() {
		s.Reset()
		for _, key := range keys {
			s.Add(key, 1)
		}
	}
	fill()
	if n := testing.AllocsPerRun(5, fill); n != 0 {
		t.Errorf("%g allocations in a later life", n)
	}
}
