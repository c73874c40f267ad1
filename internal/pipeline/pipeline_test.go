package pipeline

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"crest"
	"crest/internal/config"
	"crest/internal/eventlog"
	"crest/internal/eventlog/disklog"
	"crest/internal/list"
)

// node is a log, a pipeline and lists, in the bubble of a test with its own time.
type node struct {
	t      *testing.T
	config *config.Config
	dir    string
	log    *disklog.Log
	lists  *recorder
	stop   func()

	mu      sync.Mutex
	skipped []error
}

// recorder keeps every list that was published.
type recorder struct {
	*list.Store // nil when nobody reads: rendering lists takes most of a test's time
	mu          sync.Mutex
	all         []crest.List
}

func (r *recorder) Publish(lists []crest.List) {
	r.mu.Lock()
	for _, l := range lists {
		l.Top = slices.Clone(l.Top)
		r.all = append(r.all, l)
	}
	r.mu.Unlock()
	if r.Store != nil {
		r.Store.Publish(lists)
	}
}

func (r *recorder) Current(board, window string) *list.Published {
	if r.Store == nil {
		return nil
	}
	return r.Store.Current(board, window)
}

func (r *recorder) published() []crest.List {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.all)
}

func testConfig(t *testing.T, preset string) *config.Config {
	t.Helper()
	c, err := config.Preset(preset)
	if err != nil {
		t.Fatal(err)
	}
	c.Counting.Shards = 4
	c.Counting.Partitions = 3
	c.Counting.Bucket = 1 * config.MiB
	c.Counting.NarrowBucket = 256 * config.KiB
	c.Counting.DedupMemory = 8 * config.MiB
	return &c
}

func start(t *testing.T, cfg *config.Config, dir string) *node {
	t.Helper()
	return startWith(t, cfg, dir, nil)
}

// startWith starts a node that has exact counts, as far as exact gives any.
func startWith(t *testing.T, cfg *config.Config, dir string, exact func() list.Exact) *node {
	t.Helper()
	n := &node{t: t, config: cfg, dir: dir}
	log, err := disklog.Open(disklog.Config{Dir: filepath.Join(dir, "log")})
	if err != nil {
		t.Fatal(err)
	}
	n.log, n.lists = log, &recorder{}
	p, err := New(cfg, Options{
		Log: log, Lists: n.lists, Checkpoint: filepath.Join(dir, "checkpoint"), Now: time.Now, Exact: exact,
		Observer: Observer{Skipped: func(err error) {
			n.mu.Lock()
			defer n.mu.Unlock()
			n.skipped = append(n.skipped, err)
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- p.Run(ctx) }()
	n.stop = func() {
		cancel()
		if err := errors.Join(<-done, log.Close()); err != nil {
			t.Error(err)
		}
	}
	return n
}

// crash copies what is on disk, as a kill -9 would leave it, stops the node, and returns the copy's directory.
func (n *node) crash() string {
	n.t.Helper()
	dir := n.t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(n.dir)); err != nil {
		n.t.Fatal(err)
	}
	n.stop()
	return dir
}

// post appends events as ingest does, and returns the received time.
func (n *node) post(events ...crest.Event) crest.Millis {
	n.t.Helper()
	names := make([]string, len(n.config.Dimensions))
	for i, d := range n.config.Dimensions {
		names[i] = d.Name
	}
	encoders := map[int]*eventlog.Encoder{}
	for i := range events {
		part := eventlog.Partition(events[i].Session, events[i].ID, n.config.Counting.Partitions)
		if encoders[part] == nil {
			encoders[part] = &eventlog.Encoder{}
			encoders[part].Reset(names)
		}
		if err := encoders[part].Add(&events[i]); err != nil {
			n.t.Fatal(err)
		}
	}
	var records []eventlog.Append
	for _, part := range slices.Sorted(maps.Keys(encoders)) {
		records = append(records, eventlog.Append{Partition: part, Payload: encoders[part].Bytes()})
	}
	received, err := n.log.Append(n.t.Context(), records, true)
	if err != nil {
		n.t.Fatal(err)
	}
	return received
}

// truth remembers what was accepted.
type truth struct {
	seen   map[crest.EventID]bool
	events []accepted
}

type accepted struct {
	crest.Event
	received crest.Millis
}

func (tr *truth) add(received crest.Millis, events ...crest.Event) {
	for _, ev := range events {
		if !tr.seen[ev.ID] {
			tr.seen[ev.ID] = true
			tr.events = append(tr.events, accepted{ev, received})
		}
	}
}

// counts returns the exact counts that a list stands for.
func (tr *truth) counts(l *crest.List) map[string]uint64 {
	counts := map[string]uint64{}
	for _, ev := range tr.events {
		at := min(ev.Time, ev.received)
		if ev.received < l.AsOf && at >= l.From && slices.Contains(boards(&ev.Event), l.Board) {
			counts[ev.Item] += uint64(ev.Weight)
		}
	}
	return counts
}

func boards(ev *crest.Event) []string {
	names := []string{ev.Type}
	if ev.Type != "article" {
		return names
	}
	for _, b := range []crest.Board{
		{Type: "article", Narrow: []crest.Narrowing{{Dimension: "category", Value: ev.Dimensions[0]}}},
		{Type: "article", Narrow: []crest.Narrowing{{Dimension: "region", Value: ev.Dimensions[1]}}},
		{Type: "article", Narrow: []crest.Narrowing{
			{Dimension: "category", Value: ev.Dimensions[0]}, {Dimension: "region", Value: ev.Dimensions[1]},
		}},
	} {
		names = append(names, b.String())
	}
	return names
}

// check holds a list against the truth: its total, its bounds, and its proven ranks.
func (tr *truth) check(t *testing.T, l *crest.List) {
	t.Helper()
	counts := tr.checkBounds(t, l)
	total := uint64(0)
	for _, n := range counts {
		total += n
	}
	if l.Total != total {
		t.Fatalf("%s: total %d, truth %d", nameOf(l), l.Total, total)
	}
	rank := map[string]int{}
	for i, e := range l.Top {
		rank[e.ID] = i + 1
	}
	for i := range l.Proven {
		for id, n := range counts {
			if later := rank[id] == 0 || rank[id] > i+1; later && n > counts[l.Top[i].ID] {
				t.Fatalf("%s: rank %d of %d proven has %d, %s has %d", nameOf(l), i+1, l.Proven, counts[l.Top[i].ID], id, n)
			}
		}
	}
}

func nameOf(l *crest.List) string {
	return fmt.Sprintf("%s %s as of %s, exact until %s", l.Board, l.Window, l.AsOf.Time().Format(time.DateTime), l.ExactUntil.Time().Format(time.DateTime))
}

// checkBounds reports whether a count is below the truth, or it lies outside an entry's interval, or an item off the list
// has more than the cutoff. It returns the true counts.
func (tr *truth) checkBounds(t *testing.T, l *crest.List) map[string]uint64 {
	t.Helper()
	counts := tr.counts(l)
	listed := map[string]bool{}
	for _, e := range l.Top {
		listed[e.ID] = true
		if n := counts[e.ID]; e.Count < n || e.Count-e.Error > n || e.Error > l.MaxOverCount {
			t.Fatalf("%s: %s has %d, at most %d too high (list %d); truth %d", nameOf(l), e.ID, e.Count, e.Error, l.MaxOverCount, n)
		}
	}
	for id, n := range counts {
		if !listed[id] && n > l.Cutoff {
			t.Fatalf("%s: %s is left out with %d, cutoff %d", nameOf(l), id, n, l.Cutoff)
		}
	}
	return counts
}

func eventFrom(r *rand.Rand, typ string) crest.Event {
	now := crest.MillisOf(time.Now())
	ev := crest.Event{
		Type: typ, Item: fmt.Sprint("item", rand.NewZipf(r, 1.2, 1, 800).Uint64()), Weight: 1,
		Session: r.Uint64N(1000) + 1, Time: now - crest.Millis(r.IntN(3000)),
	}
	if r.IntN(20) == 0 {
		ev.Time -= crest.Millis(r.IntN(100_000))
	}
	binary.BigEndian.PutUint64(ev.ID[:], r.Uint64())
	if typ == "article" {
		ev.Dimensions = crest.Dimensions{[]string{"sports", "art"}[r.IntN(2)], []string{"eu", "us"}[r.IntN(2)]}
	}
	return ev
}

func TestEveryPublishedListHolds(t *testing.T) {
	for _, c := range []struct {
		preset string
		bucket config.Bytes
	}{{"views", config.MiB}, {"shares", config.MiB}, {"views", 16 * config.KiB}, {"shares", 16 * config.KiB}} {
		t.Run(fmt.Sprintf("%s in %s", c.preset, c.bucket), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cfg := testConfig(t, c.preset)
				cfg.Counting.Bucket, cfg.Counting.NarrowBucket = c.bucket, c.bucket
				n := start(t, cfg, t.TempDir())
				tr := &truth{seen: map[crest.EventID]bool{}}
				r := rand.New(rand.NewPCG(9, 9))
				typ := cfg.Types[0].Name
				for range 150 {
					time.Sleep(time.Duration(r.IntN(1500)) * time.Millisecond)
					batch := make([]crest.Event, 1+r.IntN(40))
					for i := range batch {
						batch[i] = eventFrom(r, typ)
					}
					tr.add(n.post(batch...), batch...)
					if r.IntN(3) == 0 { // a producer that got no answer
						tr.add(n.post(batch...), batch...)
					}
				}
				time.Sleep(2 * time.Minute)
				n.stop()
				lists := n.lists.published()
				windows := map[string]int{}
				exact := true
				for i := range lists {
					if c.preset == "views" || i%13 == 0 { // shares has thousands
						tr.check(t, &lists[i])
					}
					windows[lists[i].Window]++
					exact = exact && lists[i].MaxOverCount == 0
				}
				if exact != (c.bucket == config.MiB) {
					t.Errorf("every list is exact: %v", exact)
				}
				for _, w := range cfg.Windows {
					if windows[w.Name] < 2 {
						t.Errorf("window %s was published %d times", w.Name, windows[w.Name])
					}
				}
				if len(n.skipped) > 0 {
					t.Errorf("skipped: %v", n.skipped)
				}
			})
		})
	}
}

func TestAShareIsListedWithinTwoSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := testConfig(t, "shares")
		store, err := list.Open(list.Config{Windows: cfg.Windows, MaxK: cfg.Lists.MaxK, Now: time.Now})
		if err != nil {
			t.Fatal(err)
		}
		n := start(t, cfg, t.TempDir())
		n.lists.Store = store
		defer n.stop()
		for i := range 20 {
			time.Sleep(time.Duration(737*i) * time.Millisecond)
			ev := crest.Event{Type: "article", Item: fmt.Sprint("a", i), Weight: 1, Session: 1, Time: crest.MillisOf(time.Now()), Generated: true}
			n.post(ev)
			time.Sleep(2 * time.Second)
			l := n.lists.Current("article", "5m").List()
			if !slices.ContainsFunc(l.Top, func(e crest.Entry) bool { return e.ID == ev.Item }) {
				t.Fatalf("share %d is not on the list as of %s", i, l.AsOf.Time())
			}
		}
	})
}

// shown is what two runs on one log must agree on.
func shown(lists []crest.List) map[string]string {
	m := map[string]string{}
	for _, l := range lists {
		key := fmt.Sprintf("%s|%s|%d", l.Board, l.Window, l.AsOf)
		text := fmt.Sprintf("%d %d %d %d %d", l.Total, l.Cutoff, l.Late, l.Duplicates, l.Proven)
		for _, e := range l.Top {
			text += fmt.Sprintf(" %s:%d:%d", e.ID, e.Count, e.Error)
		}
		m[key] = text
	}
	return m
}

func TestListsAfterAStopAreThoseOfARunWithoutIt(t *testing.T) {
	for _, kind := range []string{"stop", "crash"} {
		t.Run(kind, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cfg := testConfig(t, "shares")
				straight := start(t, cfg, t.TempDir())
				broken := start(t, cfg, t.TempDir())
				r := rand.New(rand.NewPCG(21, 1))
				var parts []crest.List
				var old []crest.Event
				for round := range 6 {
					for range 40 {
						time.Sleep(time.Duration(r.IntN(700)) * time.Millisecond)
						batch := make([]crest.Event, 1+r.IntN(20))
						for i := range batch {
							batch[i] = eventFrom(r, "article")
							if len(old) > 0 && r.IntN(10) == 0 { // sent again, perhaps across the restart
								batch[i] = old[r.IntN(len(old))]
							}
						}
						old = batch
						straight.post(batch...)
						broken.post(batch...)
					}
					if round < 5 {
						dir := broken.dir
						if kind == "crash" {
							dir = broken.crash()
						} else {
							broken.stop()
						}
						parts = append(parts, broken.lists.published()...)
						broken = start(t, cfg, dir)
					}
				}
				time.Sleep(3 * time.Second)
				straight.stop()
				broken.stop()
				parts = append(parts, broken.lists.published()...)
				want, got := shown(straight.lists.published()), shown(parts)
				same := 0
				for key, text := range got {
					if w, ok := want[key]; ok {
						same++
						if w != text {
							t.Fatalf("%s differs after a %s:\nwant %s\n got %s", key, kind, w, text)
						}
					}
				}
				if same < 300 {
					t.Fatalf("only %d lists could be compared", same)
				}
			})
		})
	}
}

func TestADamagedCheckpointFallsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := testConfig(t, "shares")
		n := start(t, cfg, t.TempDir())
		r := rand.New(rand.NewPCG(2, 1))
		tr := &truth{seen: map[crest.EventID]bool{}}
		for range 60 {
			time.Sleep(time.Second)
			ev := eventFrom(r, "article")
			tr.add(n.post(ev), ev)
		}
		n.stop()
		dir := filepath.Join(n.dir, "checkpoint")
		seqs, err := checkpoints(dir)
		if err != nil || len(seqs) < 2 {
			t.Fatalf("checkpoints %v, %v", seqs, err)
		}
		path := checkpointPath(dir, seqs[len(seqs)-1])
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		data[len(data)/2] ^= 1
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		again := start(t, cfg, n.dir)
		time.Sleep(5 * time.Second)
		again.stop()
		if len(again.skipped) == 0 {
			t.Fatal("the damage was not reported")
		}
		lists := again.lists.published()
		if len(lists) == 0 {
			t.Fatal("nothing was published")
		}
		for i := range lists {
			tr.check(t, &lists[i])
		}
	})
}

func TestAbsentCheckpointsOfManyFilesStayFew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := testConfig(t, "views")
		n := start(t, cfg, t.TempDir())
		r := rand.New(rand.NewPCG(2, 1))
		for range 80 {
			time.Sleep(10 * time.Second)
			n.post(eventFrom(r, "video"))
		}
		n.stop()
		seqs, err := checkpoints(filepath.Join(n.dir, "checkpoint"))
		if err != nil {
			t.Fatal(err)
		}
		if len(seqs) == 0 || len(seqs) > maxFiles+4 {
			t.Fatalf("%d checkpoint files", len(seqs))
		}
	})
}
