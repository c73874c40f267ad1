package sketch

import (
	"cmp"
	"slices"
	"strings"

	"github.com/zeebo/xxh3"
)

// MaxKey is the longest key that a counter takes, in bytes. The shortest has one byte.
const MaxKey = 256

// Hash returns the hash by which every counter of this package places a key: 64-bit XXH3 without a seed.
func Hash(key string) uint64 { return xxh3.HashString(key) }

// Counter is what the counters of this package have in common, so that a program can compare or exchange them.
type Counter interface {
	// Add counts key weight times more. It reports whether it did: a key that is empty or longer than MaxKey is refused
	// and changes nothing. A weight of 0 changes nothing and is not refused.
	Add(key string, weight uint64) bool
	// Estimate returns what is known about key.
	Estimate(key string) Estimate
	// Top returns the k entries with the largest counts, by count descending, then key ascending by bytes. The entries
	// are the caller's.
	Top(k int) []Entry
	// Bytes returns the memory that the counter's arrays take now.
	Bytes() int
}

// Estimate is what a counter knows about one key. The true count lies in [Count-Error, Count].
type Estimate struct {
	Count     uint64
	Error     uint64
	Monitored bool // the key is one of the entries
}

// Entry is a key that a counter lists. Its true count lies in [Count-Error, Count].
type Entry struct {
	Key   string
	Hash  uint64 // Hash(Key)
	Count uint64
	Error uint64
}

// compareEntries orders by count descending, then key ascending.
func compareEntries(a, b Entry) int {
	if c := cmp.Compare(b.Count, a.Count); c != 0 {
		return c
	}
	return strings.Compare(a.Key, b.Key)
}

func sortEntries(entries []Entry) { slices.SortFunc(entries, compareEntries) }

func validKey(key string) bool { return uint(len(key)-1) < MaxKey }

// addSaturating returns a + b, or the largest value when that doesn't fit.
func addSaturating(a, b uint64) uint64 {
	if sum := a + b; sum >= a {
		return sum
	}
	return 1<<64 - 1
}
