package sketch

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
)

func encode(t testing.TB, s *Summary) []byte {
	t.Helper()
	data, err := s.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestEncodingHasTheSameFuture(t *testing.T) {
	const updates = 30_000
	for _, memory := range []int{MinMemory, 32 << 10, 1 << 20} {
		for _, stream := range streams() {
			t.Run(fmt.Sprintf("%s/%d", stream.name, memory), func(t *testing.T) {
				t.Parallel()
				seed := rand.Uint64()
				t.Logf("seed %d", seed)
				s, truth := newSummary(t, memory), map[string]uint64{}
				restored := s
				for i, u := range stream.random(randomOf(seed), updates) {
					s.Add(u.key, u.weight)
					if restored != s {
						restored.Add(u.key, u.weight)
					}
					truth[u.key] += u.weight
					if i == updates/20 || i == updates/2 {
						restored = new(Summary)
						if err := restored.UnmarshalBinary(encode(t, s)); err != nil {
							t.Fatal(err)
						}
						checkSound(t, restored, truth)
					}
				}
				checkSound(t, restored, truth)
				if !bytes.Equal(encode(t, s), encode(t, restored)) {
					t.Error("the restored summary has another future")
				}
			})
		}
	}
}
