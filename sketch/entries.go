package sketch

import (
	"iter"
	"slices"
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
	k = min(k, s.len)
	best, least := make([]Entry, 0, 2*k), uint64(0)
	for index := range s.sets {
		for i := range int(s.sets[index].n) {
			if s.count(index, i) < least {
				continue
			}
			if best = append(best, s.entry(index, i)); len(best) == 2*k {
				sortEntries(best)
				best = best[:k]
				least = best[k-1].Count
			}
		}
	}
	sortEntries(best)
	top := slices.Clone(best[:k])
	for i := range top {
		top[i].Key = strings.Clone(top[i].Key)
	}
	return top
}
