package window

import (
	"slices"

	"crest"
	"crest/sketch"
)

// itemBytes is the size of one item in a window's totals, without its key.
const itemBytes = 40

// Entry is an item of a report. The truth over the window's buckets lies in [Count - Error, Count].
type Entry struct {
	Key   string
	Hash  uint64 // sketch.Hash(Key)
	Count uint64
	Error uint64
}

// Report is what a ring says of one window.
type Report struct {
	Entries      []Entry // by count descending, then key ascending
	Also         []Entry // of the keys asked for beside, in their order
	Cutoff       uint64  // no other item has more than this
	Total        uint64  // weight of the window's buckets, exactly
	Late         uint64  // weight that came within the window's time but was already older than the window
	Duplicates   uint64  // weight dropped as sent before
	DedupPartial bool    // ids had to be forgotten too early
}

// Top reports the k items with the highest counts in the window of that index, and those of the keys in also, as of a
// moment to which the ring is first advanced. Buckets that the window is without are not counted.
func (r *Ring) Top(window, k int, asOf crest.Millis, also ...string) Report {
	r.Advance(asOf)
	t := r.windows[window]
	buckets := r.config.Windows[window]
	newestOpen := min(buckets, open)
	for n := r.newest; n > r.newest-int64(newestOpen); n-- {
		if s := r.at(n).summary; s != nil && r.has(window, n) {
			t.addBucket(s)
		}
	}
	report := r.ranking.top(t, k)
	report.Also = t.entries(also)
	for n := r.newest; n > r.newest-int64(newestOpen); n-- {
		if s := r.at(n).summary; s != nil && r.has(window, n) {
			t.removeBucket(s)
		}
	}
	for i := range buckets {
		b := r.at(r.newest - int64(i))
		report.Late += b.late[window]
		if !r.has(window, b.number) {
			continue
		}
		if b.summary != nil {
			report.Total += b.summary.Total()
		}
		report.Duplicates += b.duplicates
		report.DedupPartial = report.DedupPartial || b.dedupPartial
	}
	return report
}

// entries returns what the totals say of each key.
func (t *totals) entries(keys []string) []Entry {
	if len(keys) == 0 {
		return nil
	}
	entries := make([]Entry, len(keys))
	for i, key := range keys {
		hash := sketch.Hash(key)
		e := Entry{Key: key, Hash: hash}
		if it := t.lookup(hash, key); it != nil {
			e.Count = t.count(it)
			e.Error = e.Count - it.low
		} else if len(t.floors) > 0 {
			e.Count = t.floors[hash&uint64(len(t.floors)-1)]
			e.Error = e.Count
		}
		entries[i] = e
	}
	return entries
}

// ranked is an item's position in totals.items and its count.
type ranked struct {
	count uint64
	item  int
}

// ranking selects the top k of a window's totals. It keeps its memory from one use to the next.
type ranking struct {
	heap []ranked // the best k so far, the worst of them first
	keys []byte
}

// top reports the k best items and the largest upper bound of all others.
func (r *ranking) top(t *totals, k int) Report {
	r.heap = r.heap[:0]
	cutoff := t.cutoff()
	for i := range t.items {
		c := ranked{t.count(&t.items[i]), i}
		switch {
		case len(r.heap) < k:
			r.heap = append(r.heap, c)
			r.up(t, len(r.heap)-1)
		case c.count < r.heap[0].count || !t.less(c, r.heap[0]):
			cutoff = max(cutoff, c.count)
		default:
			cutoff = max(cutoff, r.heap[0].count)
			r.heap[0] = c
			r.down(t, 0)
		}
	}
	slices.SortFunc(r.heap, func(a, b ranked) int {
		if t.less(a, b) {
			return -1
		}
		return 1
	})
	report := Report{Cutoff: cutoff, Entries: make([]Entry, len(r.heap))}
	r.keys = r.keys[:0]
	for _, c := range r.heap {
		r.keys = append(r.keys, t.keyOf(&t.items[c.item])...)
	}
	keys := string(r.keys) // one allocation for all
	for i, c := range r.heap {
		it := &t.items[c.item]
		report.Entries[i] = Entry{Key: keys[:it.length], Hash: it.hash, Count: c.count, Error: c.count - it.low}
		keys = keys[it.length:]
	}
	return report
}

func (r *ranking) up(t *totals, i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if !t.less(r.heap[parent], r.heap[i]) {
			return
		}
		r.heap[parent], r.heap[i] = r.heap[i], r.heap[parent]
		i = parent
	}
}

func (r *ranking) down(t *totals, i int) {
	for {
		child := 2*i + 1
		if child >= len(r.heap) {
			return
		}
		if child+1 < len(r.heap) && t.less(r.heap[child], r.heap[child+1]) {
			child++
		}
		if !t.less(r.heap[i], r.heap[child]) {
			return
		}
		r.heap[i], r.heap[child] = r.heap[child], r.heap[i]
		i = child
	}
}
