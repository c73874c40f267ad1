package bench

import (
	"math/rand/v2"
	"testing"
)

var smallSpec = Spec{IDs: 20_000, Updates: 100_000, Spam: 30_000, Skew: 1.05, Seed: 7}

func TestKeysAndIDsAreOneToOne(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	ids := []uint32{0, 1, 1<<32 - 1}
	for range 1000 {
		ids = append(ids, r.Uint32())
	}
	for _, id := range ids {
		key := string(appendKey(nil, id))
		if len(key) != keyBytes {
			t.Fatalf("key %q of id %d has %d bytes", key, id, len(key))
		}
		if got, ok := keyID(key); !ok || got != id {
			t.Fatalf("key %q of id %d reads as id %d, %v", key, id, got, ok)
		}
	}
	for _, key := range []string{"", "short", "AAAAAAAAAA!", "dQw4w9WgXcQ"} {
		if id, ok := keyID(key); ok {
			t.Errorf("key %q, which no id has, reads as id %d", key, id)
		}
	}
}

func TestStreamKnowsItsCounts(t *testing.T) {
	for _, kind := range Kinds() {
		s := newStream(t, kind, smallSpec)
		counts := map[string]uint64{}
		for keys := range s.Batches(777) {
			for _, k := range keys {
				counts[k]++
			}
		}
		total := uint64(0)
		for k, n := range counts {
			total += n
			if s.Truth(k) != n {
				t.Fatalf("%s: key %q came %d times, truth says %d", kind, k, n, s.Truth(k))
			}
		}
		if int(total) != s.Len() || len(counts) != s.Distinct() {
			t.Errorf("%s: %d updates of %d keys, the stream says %d of %d", kind, total, len(counts), s.Len(), s.Distinct())
		}
		want := smallSpec.Updates
		if kind == Spam || kind == LateSpam {
			want += smallSpec.Spam
		}
		if s.Len() != want {
			t.Errorf("%s: %d updates, want %d", kind, s.Len(), want)
		}
	}
}

func TestStreamIsTheSameForTheSameSeed(t *testing.T) {
	a, b := newStream(t, LateSpam, smallSpec), newStream(t, LateSpam, smallSpec)
	if a.keys != b.keys {
		t.Error("two streams of one seed differ")
	}
}

func TestLateStreamChangesItsHotSet(t *testing.T) {
	s := newStream(t, Late, smallSpec)
	half := len(s.keys) / 2 / keyBytes * keyBytes
	first, second := count(s.keys[:half]), count(s.keys[half:])
	hottest := ""
	for k, n := range first {
		if n > first[hottest] {
			hottest = k
		}
	}
	if second[hottest] > first[hottest]/10 {
		t.Errorf("the hottest key came %d times in the first half and %d in the second", first[hottest], second[hottest])
	}
}

func TestSizesWithoutSenseAreRefused(t *testing.T) {
	for _, spec := range []Spec{{}, {IDs: 1, Updates: 1, Skew: 1}, {IDs: 1, Updates: 1, Skew: 1.05, Spam: -1}} {
		if _, err := NewStream(Plain, spec); err == nil {
			t.Errorf("a stream of %+v was made", spec)
		}
	}
}

func count(keys string) map[string]int {
	counts := map[string]int{}
	for at := 0; at < len(keys); at += keyBytes {
		counts[keys[at:at+keyBytes]]++
	}
	return counts
}

func newStream(t *testing.T, kind Kind, spec Spec) *Stream {
	t.Helper()
	s, err := NewStream(kind, spec)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
