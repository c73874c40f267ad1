package sketch

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
)

func TestMergeIsSound(t *testing.T) {
	const updates = 8_000
	all := streams()
	for _, memory := range []int{MinMemory, 32 << 10, 512 << 10} {
		for i, first := range all {
			second := all[(i*5+2)%len(all)]
			t.Run(fmt.Sprintf("%s, %s/%d", first.name, second.name, memory), func(t *testing.T) {
				t.Parallel()
				seed := rand.Uint64()
				t.Logf("seed %d", seed)
				truth := map[string]uint64{}
				add := func(s *Summary, updates []update) {
					for _, u := range updates {
						s.Add(u.key, u.weight)
						truth[u.key] += u.weight
					}
				}
				a, b := newSummary(t, memory), newSummary(t, memory)
				add(a, first.random(randomOf(seed), updates))
				add(b, second.random(randomOf(seed+1), updates))
				exact, before := a.Exact() && b.Exact(), encode(t, b)
				if err := a.Merge(b); err != nil {
					t.Fatal(err)
				}
				checkSound(t, a, truth)
				if memory == 512<<10 && exact && len(truth) < 400 && !a.Exact() {
					t.Error("two exact summaries that fit are no longer exact")
				}
				if !bytes.Equal(before, encode(t, b)) {
					t.Error("Merge changed the other summary")
				}
				add(a, first.random(randomOf(seed+2), updates))
				checkSound(t, a, truth)
				for key := range truth {
					truth[key] *= 2
				}
				if err := a.Merge(a); err != nil {
					t.Fatal(err)
				}
				checkSound(t, a, truth)
				if err := new(Summary).UnmarshalBinary(encode(t, a)); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

func TestMergeNeedsEqualConfig(t *testing.T) {
	a, b := newSummary(t, MinMemory), newSummary(t, 2*MinMemory)
	b.Add("a", 1)
	if err := a.Merge(b); err == nil || a.Total() != 0 {
		t.Errorf("Merge of another Config: error %v, total %d", err, a.Total())
	}
}
