package shard

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"crest"
	"crest/window"
)

func layout(shards, memory int) *Layout {
	rings := func(memory int) []window.Config {
		return []window.Config{
			{Width: 10 * time.Second, Buckets: 6, Windows: []int{6, 3}, Memory: memory},
			{Width: time.Minute, Buckets: 60, Windows: []int{60}, Memory: memory},
			{Buckets: 1, Windows: []int{1}, Memory: memory},
		}
	}
	return &Layout{
		Types: []Type{
			{Name: "article", Narrow: [][]int{{0}, {1}, {0, 1}}},
			{Name: "hashtag", Normalizer: "hashtag/1"},
		},
		Dimensions: []string{"category", "region"},
		Rings:      rings(memory), NarrowRings: rings(memory), SpellMemory: 64 << 10,
		Shards: shards, MaxBoards: 64, Grain: 10 * time.Second,
		Horizon: 2 * time.Minute, RecentBytes: 4 << 20, MaxPartials: 1 << 14, Secret: testSecret(),
	}
}

// fixture runs aggregators and shards as a pipeline does, one after the other.
type fixture struct {
	layout *Layout
	boards *Boards
	parts  []*Aggregator
	shards []*Shard
}

func newFixture(l *Layout, partitions int) *fixture {
	f := &fixture{layout: l, boards: NewBoards(l)}
	l.Partitions = partitions
	for i := range partitions {
		f.parts = append(f.parts, NewAggregator(l, f.boards, i))
	}
	for range l.Shards {
		f.shards = append(f.shards, New(l, f.boards))
	}
	return f
}

func (f *fixture) flush(t *testing.T) {
	t.Helper()
	for _, a := range f.parts {
		a.Flush()
		a.Group()
	}
	for i, s := range f.shards {
		var partials []Partial
		for _, a := range f.parts {
			partials = a.Shard(partials, i)
		}
		if err := s.Apply(partials); err != nil {
			t.Fatal(err)
		}
	}
	for _, a := range f.parts {
		if err := f.shards[0].ApplyDuplicates(a.Dropped()); err != nil {
			t.Fatal(err)
		}
		a.Reset()
	}
}

// top merges the shards' reports.
func (f *fixture) top(t *testing.T, board, ring, win, k int, asOf crest.Millis) Report {
	t.Helper()
	var all Report
	for _, s := range f.shards {
		r, err := s.Report(Query{Board: board, Ring: ring, Window: win, K: k, AsOf: asOf})
		if err != nil {
			t.Fatal(err)
		}
		all.Entries = append(all.Entries, r.Entries...)
		all.Spellings = append(all.Spellings, r.Spellings...)
		all.Cutoff = max(all.Cutoff, r.Cutoff)
		all.Total += r.Total
		all.Late += r.Late
		all.Duplicates += r.Duplicates
	}
	return all
}

// model counts the same events exactly.
type model struct {
	seen       map[crest.EventID]bool
	counts     map[string]map[crest.Millis]map[string]uint64 // board, bucket of 10 s, item
	duplicates map[string]uint64
}

func newModel() *model {
	return &model{map[crest.EventID]bool{}, map[string]map[crest.Millis]map[string]uint64{}, map[string]uint64{}}
}

func boardNames(ev *crest.Event) []string {
	names := []string{ev.Type}
	if ev.Type != "article" {
		return names
	}
	c, r := ev.Dimensions[0], ev.Dimensions[1]
	if c != "" {
		names = append(names, "article/category="+c)
	}
	if r != "" {
		names = append(names, "article/region="+r)
	}
	if c != "" && r != "" {
		names = append(names, "article/category="+c+"/region="+r)
	}
	return names
}

func (m *model) add(ev *crest.Event, received crest.Millis) {
	dup := !ev.Generated && m.seen[ev.ID]
	m.seen[ev.ID] = true
	bucket := min(ev.Time, received).Floor(10 * time.Second)
	for _, name := range boardNames(ev) {
		if dup {
			m.duplicates[name] += uint64(ev.Weight)
			continue
		}
		if m.counts[name] == nil {
			m.counts[name] = map[crest.Millis]map[string]uint64{}
		}
		if m.counts[name][bucket] == nil {
			m.counts[name][bucket] = map[string]uint64{}
		}
		m.counts[name][bucket][ev.Item] += uint64(ev.Weight)
	}
}

func (m *model) window(board string, from crest.Millis) map[string]uint64 {
	sum := map[string]uint64{}
	for bucket, items := range m.counts[board] {
		if bucket >= from {
			for item, n := range items {
				sum[item] += n
			}
		}
	}
	return sum
}

const testStart = crest.Millis(1_700_000_000_000)

func randomEvent(r *rand.Rand, now crest.Millis) crest.Event {
	ev := crest.Event{Type: "article", Weight: 1, Session: r.Uint64(), Time: now - crest.Millis(r.IntN(400))}
	ev.Item = fmt.Sprint("a", rand.NewZipf(r, 1.2, 1, 3000).Uint64())
	ev.ID = idOf(r.Uint64N(60_000)) // so that some come twice
	ev.Generated = r.IntN(10) == 0
	if ev.Generated {
		ev.ID = idOf(r.Uint64())
	}
	if r.IntN(4) > 0 {
		ev.Dimensions[0] = []string{"sports", "science", "art"}[r.IntN(3)]
	}
	if r.IntN(4) > 0 {
		ev.Dimensions[1] = []string{"eu", "us"}[r.IntN(2)]
	}
	if r.IntN(20) == 0 {
		ev.Weight = uint32(1 + r.IntN(1000))
	}
	if r.IntN(5) == 0 {
		ev.Type, ev.Dimensions = "hashtag", crest.Dimensions{}
	}
	return ev
}

func TestEveryBoardHoldsAgainstExactCounts(t *testing.T) {
	for _, memory := range []int{4 << 10, 1 << 20} {
		for _, shards := range []int{1, 8} {
			t.Run(fmt.Sprintf("%d shards of %d bytes", shards, memory), func(t *testing.T) {
				holds(t, newFixture(layout(shards, memory), 3), memory > 1<<16)
			})
		}
	}
}

func holds(t *testing.T, f *fixture, exact bool) {
	t.Helper()
	const seed = 11
	r := rand.New(rand.NewPCG(seed, 2))
	m, now := newModel(), testStart
	for i := range 40_000 {
		now += crest.Millis(r.IntN(6))
		ev := randomEvent(r, now)
		typ := slices.IndexFunc(f.layout.Types, func(t Type) bool { return t.Name == ev.Type })
		// The partition follows the id, as for producers without sessions: so that duplicates meet.
		f.parts[int(ev.ID[7])%len(f.parts)].Add([]Event{{Event: ev, Type: typ}}, now)
		m.add(&ev, now)
		if r.IntN(3000) == 0 || i == 39_999 {
			f.flush(t)
		}
	}
	asOf := now + 1
	for _, board := range f.boards.Rankings() {
		name := f.boards.Board(board).Name
		for _, w := range []struct {
			ring, win int
			from      crest.Millis
		}{
			{0, 0, (asOf - 1).Floor(10 * time.Second).Add(-50 * time.Second)},
			{0, 1, (asOf - 1).Floor(10 * time.Second).Add(-20 * time.Second)},
			{1, 0, 0},
			{2, 0, 0},
		} {
			got := f.top(t, board, w.ring, w.win, 100, asOf)
			truth := m.window(name, w.from)
			listed := map[string]bool{}
			for _, e := range got.Entries {
				listed[e.Key] = true
				if n := truth[e.Key]; e.Count < n || e.Count-e.Error > n || exact && e.Error > 0 {
					t.Fatalf("seed %d %s %+v: %s has %d, at most %d too high; truth %d", seed, name, w, e.Key, e.Count, e.Error, n)
				}
			}
			for item, n := range truth {
				if !listed[item] && n > got.Cutoff {
					t.Fatalf("seed %d %s %+v: %s is left out with %d, cutoff %d", seed, name, w, item, n, got.Cutoff)
				}
			}
			if w.ring == 2 && got.Duplicates != m.duplicates[name] {
				t.Fatalf("seed %d %s: %d duplicates, truth %d", seed, name, got.Duplicates, m.duplicates[name])
			}
		}
	}
	if len(f.boards.Rankings()) != 2+3+2+6 || m.duplicates["article"] == 0 {
		t.Fatalf("the stream proves nothing: %d boards, %d duplicates", len(f.boards.Rankings()), m.duplicates["article"])
	}
}

// The same events in other batches, over other numbers of shards and partitions, give the same exact lists.
func TestExactListsDoNotDependOnShardsAndBatches(t *testing.T) {
	type shape struct{ shards, partitions, batch int }
	var first []window.Entry
	for _, s := range []shape{{1, 1, 40_000}, {16, 4, 1000}, {64, 7, 77}} {
		f := newFixture(layout(s.shards, 1<<20), s.partitions)
		r := rand.New(rand.NewPCG(4, 4))
		now := testStart
		for i := range 20_000 {
			now += crest.Millis(r.IntN(4))
			ev := randomEvent(r, now)
			if ev.Type == "article" {
				f.parts[int(ev.ID[7])%s.partitions].Add([]Event{{Event: ev}}, now)
			}
			if i%s.batch == s.batch-1 {
				f.flush(t)
			}
		}
		f.flush(t)
		got := f.top(t, 0, 0, 0, 1000, now+1).Entries
		slices.SortFunc(got, func(a, b window.Entry) int {
			if a.Count != b.Count {
				return int(b.Count) - int(a.Count)
			}
			if a.Key < b.Key {
				return -1
			}
			return 1
		})
		got = got[:1000]
		if first == nil {
			first = got
		}
		if !slices.Equal(first, got) {
			t.Fatalf("%+v gives another list", s)
		}
	}
}

func TestNarrowedBoardsAreBounded(t *testing.T) {
	l := layout(1, 64<<10)
	l.MaxBoards = 5
	f := newFixture(l, 2)
	for i := range 3000 {
		ev := crest.Event{
			ID: idOf(uint64(i)), Type: "article", Item: "a", Weight: 1, Time: testStart,
			Dimensions: crest.Dimensions{fmt.Sprint("junk", i)},
		}
		f.parts[i%2].Add([]Event{{Event: ev}}, testStart)
		if i%100 == 99 {
			f.flush(t)
		}
	}
	if n := len(f.boards.Narrowed()); n != 5 {
		t.Fatalf("%d narrowed boards", n)
	}
	if got := f.top(t, 0, 2, 0, 10, testStart+1); got.Total != 3000 || got.Entries[0].Count != 3000 {
		t.Fatalf("the type's own board has %+v", got)
	}
}

func TestMostUsedSpellingIsShown(t *testing.T) {
	f := newFixture(layout(4, 64<<10), 1)
	add := func(item, spelling string, n uint32) {
		ev := crest.Event{Generated: true, Type: "hashtag", Item: item, Spelling: spelling, Weight: n, Time: testStart}
		f.parts[0].Add([]Event{{Event: ev, Type: 1}}, testStart)
	}
	add("mcgregor", "#mcgregor", 300)
	add("mcgregor", "#McGregor", 2000)
	add("mcgregor", "#MCGREGOR", 15)
	add("plain", "", 9)
	f.flush(t)
	got := f.top(t, 1, 0, 0, 10, testStart+1)
	want := map[string]string{"mcgregor": "#McGregor", "plain": "plain"}
	if len(got.Entries) != 2 {
		t.Fatalf("%d entries", len(got.Entries))
	}
	for i, e := range got.Entries {
		if got.Spellings[i] != want[e.Key] {
			t.Errorf("%s is shown as %q, want %q", e.Key, got.Spellings[i], want[e.Key])
		}
	}
}

func BenchmarkAggregate(b *testing.B) {
	l := layout(64, 85<<10)
	l.Types = []Type{{Name: "video"}}
	f := newFixture(l, 1)
	r := rand.New(rand.NewPCG(1, 1))
	zipf := rand.NewZipf(r, 1.05, 1, 5_000_000)
	events := make([]Event, 1<<18)
	for i := range events {
		events[i].Event = crest.Event{
			ID: idOf(r.Uint64()), Type: "video", Item: fmt.Sprintf("v%010d", zipf.Uint64()), Weight: 1, Time: testStart,
		}
	}
	const batch = 64
	a := f.parts[0]
	for n := 0; b.Loop(); n += batch {
		some := events[n&(1<<18-1):][:batch]
		for i := range some {
			some[i].ID[0]++
		}
		a.Add(some, testStart)
		if a.Len() >= 1<<15 {
			a.Flush()
			a.Reset()
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*batch), "ns/event")
}
