package bench

import "slices"

// Entry is what a structure says of a key. A structure that certifies promises that the truth lies in
// [Count-Error, Count].
type Entry struct {
	Key   string
	Count uint64
	Error uint64
}

// Counter is a structure under comparison. One goroutine uses it.
type Counter interface {
	// Add counts each key once more. The keys stay as they are; a structure may keep them.
	Add(keys []string)
	// Top returns the k largest entries, the largest first.
	Top(k int) []Entry
}

// Contender is a structure and how it is sized.
type Contender struct {
	Name      string
	Certifies bool // it gives an interval for each entry
	// New makes an empty structure that takes at most budget bytes, keys included, and can list k entries.
	New func(budget, k int) (Counter, error)
}

// Contenders returns all structures of the comparison, Crest's first.
func Contenders() []Contender {
	return slices.Concat(ours(), classics(), peers())
}
