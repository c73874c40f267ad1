package sketch

import (
	"iter"
	"strings"
)

// entry returns an entry whose key is borrowed from the arena.
func (s *Summary) entry(index, i int) Entry {
	key := s.key(&s.sets[index], i)
	return Entry{Key: key, Hash: Hash(key), Count: s.count(index, i), Error: s.err(index, i)}
}

// AppendSet appends the entries of a set to dst, without allocating if dst has room. The keys are borrowed: they hold
// until the next call that changes the summary; clone those that are to be kept.
func (s *Summary) AppendSet(dst []Entry, set int) []Entry {
	for i := range int(s.sets[set].n) {
		dst = append(dst, s.entry(set, i))
	}
	return dst
}

// All returns every entry, in no useful order. The summary must not change meanwhile, and the keys are borrowed as those
// of AppendSet.
func (s *Summary) All() iter.Seq[Entry] {
	return func(yield func(Entry) bool) {
		for index := range s.sets {
			for i := range int(s.sets[index].n) {
				if !yield(s.entry(index, i)) {
					return
				}
			}
		}
	}
}

// Top returns the k entries with the largest counts, by count descending, then key ascending by bytes. The entries and
// their keys are the caller's.
func (s *Summary) Top(k int) []Entry {
	if k <= 0 {
		return nil
	}
	entries := make([]Entry, 0, s.len)
	for e := range s.All() {
		entries = append(entries, e)
	}
	sortEntries(entries)
	top := append([]Entry(nil), entries[:min(k, len(entries))]...)
	for i := range top {
		top[i].Key = strings.Clone(top[i].Key)
	}
	return top
}
