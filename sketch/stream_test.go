package sketch

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/zeebo/xxh3"
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
		{"any length", lengths(func(i, _ int) int { return 6 + i*7919%251 })},
		{"one set", crowded(keysOfOneSet)},
		{"one set and tag", crowded(keysOfOneTag)},
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

// crowded makes a stream of few keys, which share what the hash is used for.
func crowded(keys func() []string) func(*rand.Rand, int) []update {
	return func(r *rand.Rand, n int) []update {
		z := zipf(r, 1.1, uint64(len(keys())))
		updates := make([]update, n)
		for i := range updates {
			updates[i] = update{keys()[z()], 1}
		}
		return updates
	}
}

// keysOfOneSet are of the same set until there are more than 1,024 sets.
var keysOfOneSet = sync.OnceValue(func() []string {
	return keysWith(300, "", "", func(hash uint64) bool { return hash&0x3ff == 7 })
})

// keysOfOneTag are of the same set, until there are more than 4, and can't be told apart without comparing all of them.
var keysOfOneTag = sync.OnceValue(func() []string {
	var keys []string
	for _, around := range [][2]string{{"", ""}, {"eight at", ""}, {"", "eight at"}, {"", " the end of more than 16"}} {
		keys = append(keys, keysWith(12, around[0], around[1], func(hash uint64) bool {
			return hash&3 == 1 && tagOf(hash) == 0x5a5a
		})...)
	}
	return keys
})

// keysWith returns n keys with that prefix and suffix whose hashes are wanted.
func keysWith(n int, prefix, suffix string, want func(hash uint64) bool) []string {
	keys, buf := make([]string, 0, n), make([]byte, 0, 64)
	for id := uint64(0); len(keys) < n; id++ {
		buf = append(strconv.AppendUint(append(buf[:0], prefix...), id, 36), suffix...)
		if want(xxh3.Hash(buf)) {
			keys = append(keys, string(buf))
		}
	}
	return keys
}

// newSummary returns a summary or ends the test.
func newSummary(tb testing.TB, memory int) *Summary {
	tb.Helper()
	s, err := New(Config{Memory: memory})
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

func randomOf(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }
