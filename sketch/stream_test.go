package sketch

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// update is one step of a stream.
type update struct {
	key    string
	weight uint64
}

// stream is a named source of updates, the same for the same seed.
type stream struct {
	name   string
	random func(r *rand.Rand, n int) []update
}

func keyOf(id uint64) string { return fmt.Sprintf("video-%x", id*0x9e3779b97f4a7c15>>20) }

// zipf returns ids from 0 to n-1, low ids often.
func zipf(r *rand.Rand, s float64, n uint64) func() uint64 {
	z := rand.NewZipf(r, s, 1, n-1)
	return z.Uint64
}

func streams() []stream {
	ones := func(id func(r *rand.Rand, n int) func(i int) string) func(*rand.Rand, int) []update {
		return func(r *rand.Rand, n int) []update {
			next := id(r, n)
			updates := make([]update, n)
			for i := range updates {
				updates[i] = update{next(i), 1}
			}
			return updates
		}
	}
	return []stream{
		{"uniform", ones(func(r *rand.Rand, n int) func(int) string {
			return func(int) string { return keyOf(r.Uint64N(uint64(n / 4))) }
		})},
		{"zipf", ones(func(r *rand.Rand, n int) func(int) string {
			z := zipf(r, 1.05, uint64(n/4))
			return func(int) string { return keyOf(z()) }
		})},
		{"few", ones(func(r *rand.Rand, _ int) func(int) string {
			return func(int) string { return keyOf(r.Uint64N(20)) }
		})},
		{"bursty", ones(func(r *rand.Rand, n int) func(int) string {
			z := zipf(r, 1.1, uint64(n/4))
			return func(i int) string {
				if r.Uint64N(3) == 0 {
					return keyOf(uint64(n) + uint64(i/500))
				}
				return keyOf(z())
			}
		})},
		{"late", ones(func(r *rand.Rand, n int) func(int) string {
			z := zipf(r, 1.05, uint64(n/4))
			return func(i int) string { return keyOf(z() + uint64(i/(n/2)*n)) }
		})},
		{"late+spam", ones(func(r *rand.Rand, n int) func(int) string {
			z := zipf(r, 1.05, uint64(n/4))
			return func(i int) string {
				if i%3 == 0 {
					return keyOf(uint64(10*n + i))
				}
				return keyOf(z() + uint64(i/(n/2)*n))
			}
		})},
		{"weights", func(r *rand.Rand, n int) []update {
			z := zipf(r, 1.05, uint64(n/4))
			updates := make([]update, n)
			for i := range updates {
				updates[i] = update{keyOf(z()), 1 + r.Uint64N(1<<r.UintN(20))}
			}
			return updates
		}},
		{"wide", func(r *rand.Rand, n int) []update {
			z := zipf(r, 1.05, uint64(n/4))
			updates := make([]update, n)
			for i := range updates {
				updates[i] = update{keyOf(z()), 1 + r.Uint64N(1<<r.UintN(40))}
			}
			return updates
		}},
		{"long then short", lengths(func(i, n int) int { return 256 - 250*i/n })},
		{"short then long", lengths(func(i, n int) int { return 6 + 250*i/n })},
		{"any length", lengths(func(i, n int) int { return 6 + i*7919%251 })},
		{"one set", crowded(func(hash uint64) bool { return hash&0xff == 7 })},
		{"one set and tag", crowded(func(hash uint64) bool { return hash&7 == 5 && tagOf(hash)&0xff == 0x5a })},
	}
}

// lengths makes keys whose lengths follow the stream's progress, at least 6 bytes.
func lengths(length func(i, n int) int) func(*rand.Rand, int) []update {
	return func(r *rand.Rand, n int) []update {
		z := zipf(r, 1.05, uint64(n/8))
		updates := make([]update, n)
		for i := range updates {
			key := fmt.Sprintf("%06x", z())
			updates[i] = update{key + strings.Repeat("x", length(i/100*100, n)-6), 1}
		}
		return updates
	}
}

// crowded makes keys that share what the hash is used for.
func crowded(want func(hash uint64) bool) func(*rand.Rand, int) []update {
	return func(r *rand.Rand, n int) []update {
		var keys []string
		for id := uint64(0); len(keys) < 300; id++ {
			if key := keyOf(id); want(Hash(key)) {
				keys = append(keys, key)
			}
		}
		z := zipf(r, 1.1, uint64(len(keys)))
		updates := make([]update, n)
		for i := range updates {
			updates[i] = update{keys[z()], 1}
		}
		return updates
	}
}

// newSummary returns a summary or ends the test.
func newSummary(t testing.TB, memory int) *Summary {
	t.Helper()
	s, err := New(Config{Memory: memory})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func randomOf(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }
