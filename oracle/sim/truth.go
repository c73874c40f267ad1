package sim

import (
	"slices"
	"time"

	"crest"
	"crest/internal/config"
)

// Truth is what lists are held against: per board and window, the weight of every item, by the order in which events were
// received. An event's first arrival counts, as in a recount; copies that the fast path can't know are kept beside it.
type Truth struct {
	boards map[string]*board
	narrow [][][]int // per type, the sets of dimensions that it has boards for
	names  []string  // of the dimensions
	kinds  []kind
	wins   []crest.Window
	stitch func(crest.Window) bool
}

// board is the truth of one board.
type board struct {
	naming  naming
	windows []*tally
	ever    []uint32 // per item, its weight since the beginning
	repeats []repeat // in the order in which they were received
	listed  []uint32 // per item, the number of the last check that found it on its list
	checks  uint32
}

// tally is the weight of each item in a window.
type tally struct {
	window   crest.Window
	stitched bool
	counts   []uint32
	total    uint64
	buckets  map[crest.Millis][]share
}

type share struct {
	item   int32
	weight uint32
}

// repeat is a copy that came after the dedup horizon: the fast path counts it again, the recount doesn't.
type repeat struct {
	share

	time, received crest.Millis
}

func newTruth(cfg *config.Config, kinds []kind) *Truth {
	t := &Truth{boards: map[string]*board{}, kinds: kinds, names: cfg.DimensionNames(), wins: cfg.Windows, stitch: cfg.Stitched}
	for _, typ := range cfg.Types {
		var sets [][]int
		for _, names := range typ.Boards {
			var set []int
			for _, name := range names {
				set = append(set, slices.Index(t.names, name))
			}
			sets = append(sets, set)
		}
		t.narrow = append(t.narrow, sets)
	}
	return t
}

// add takes in an event that was received at a moment. Repeated says that it is a copy which the fast path counts.
func (t *Truth) add(ev *event, received crest.Millis, repeated bool) {
	at := min(ev.time, received)
	t.addTo(t.kinds[ev.kind].name, ev, at, received, repeated)
next:
	for _, set := range t.narrow[ev.kind] {
		b := crest.Board{Type: t.kinds[ev.kind].name}
		for _, d := range set {
			if ev.values[d] == "" {
				continue next
			}
			b.Narrow = append(b.Narrow, crest.Narrowing{Dimension: t.names[d], Value: ev.values[d]})
		}
		t.addTo(b.String(), ev, at, received, repeated)
	}
}

func (t *Truth) addTo(name string, ev *event, at, received crest.Millis, repeated bool) {
	b := t.boards[name]
	if b == nil {
		b = &board{naming: t.kinds[ev.kind].naming}
		for _, w := range t.wins {
			b.windows = append(b.windows, &tally{window: w, stitched: t.stitch(w), buckets: map[crest.Millis][]share{}})
		}
		t.boards[name] = b
	}
	for int(ev.item) >= len(b.listed) {
		b.listed = append(b.listed, make([]uint32, max(1024, len(b.listed)))...)
		b.ever = append(b.ever, make([]uint32, len(b.listed)-len(b.ever))...)
	}
	s := share{ev.item, ev.weight}
	if repeated {
		b.repeats = append(b.repeats, repeat{s, at, received})
		return
	}
	b.ever[ev.item] += ev.weight
	for _, w := range b.windows {
		w.add(s, at, len(b.listed))
	}
}

func (w *tally) add(s share, at crest.Millis, items int) {
	if len(w.counts) < items {
		w.counts = append(w.counts, make([]uint32, items-len(w.counts))...)
	}
	w.counts[s.item] += s.weight
	w.total += uint64(s.weight)
	if !w.window.AllTime() {
		start := at.Floor(w.window.Bucket)
		w.buckets[start] = append(w.buckets[start], s)
	}
}

// reach takes out what is no longer in the window as of a moment.
func (w *tally) reach(asOf crest.Millis) {
	from := w.window.From(asOf)
	for start, shares := range w.buckets {
		if start >= from {
			continue
		}
		for _, s := range shares {
			w.counts[s.item] -= s.weight
			w.total -= uint64(s.weight)
		}
		delete(w.buckets, start)
	}
}

// repeatsIn sums, per item, the copies in a window as of a moment that the fast path has counted. What was received for
// an exact hour before its count was cut is not among them.
func (b *board) repeatsIn(w crest.Window, asOf, exactUntil crest.Millis, cut func(hour crest.Millis) crest.Millis) (map[int32]uint64, uint64) {
	from := w.From(asOf)
	sums, total := map[int32]uint64{}, uint64(0)
	for i := len(b.repeats) - 1; i >= 0 && b.repeats[i].received >= from; i-- {
		r := &b.repeats[i]
		hour := r.time.Floor(time.Hour)
		if r.time < from || hour < exactUntil && r.received < cut(hour) {
			continue
		}
		sums[r.item] += uint64(r.weight)
		total += uint64(r.weight)
	}
	return sums, total
}

// All returns the de-duplicated weight of every item since the beginning, per board.
func (t *Truth) All() map[string]map[string]uint64 {
	all := map[string]map[string]uint64{}
	for name, b := range t.boards {
		items := map[string]uint64{}
		for item, n := range b.ever {
			if n > 0 {
				items[b.naming.id(int32(item))] = uint64(n)
			}
		}
		all[name] = items
	}
	return all
}
