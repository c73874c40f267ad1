package archive

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"crest"
	"crest/internal/eventlog"
)

// note collects what an observer is told.
type note struct {
	mu  sync.Mutex
	all []string
}

func (n *note) add(s string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.all = append(n.all, s)
}

func (n *note) has(part string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return strings.Contains(strings.Join(n.all, "\n"), part)
}

func view(t *testing.T, dir string) *View {
	t.Helper()
	v, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// waitFor waits until the writer has reached a watermark.
func (r *running) waitFor(t *testing.T, watermark crest.Millis) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); r.Watermark() < watermark; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the watermark is %s", r.Watermark().Time())
		}
	}
}

func event(n int, at crest.Millis) crest.Event {
	return crest.Event{ID: id(n), Type: "video", Item: "a", Time: at, Weight: 1}
}

func TestWatermarkMovesWithoutEvents(t *testing.T) {
	log := newFakeLog(noon + 3*minute)
	dir := t.TempDir()
	w := start(t, Config{Dir: dir}, log)
	w.commit(t)
	log.set(noon + 19*minute)
	w.waitFor(t, noon+10*minute)
	log.set(noon + hour + 10*minute + 1)
	w.waitFor(t, noon+hour+10*minute)
	v := view(t, dir)
	if v.State.Watermark != noon+hour+10*minute || v.State.Since != 0 || v.State.KeptFrom != 0 || len(v.Hours()) != 0 {
		t.Errorf("state %+v, hours %v", v.State, v.Hours())
	}
	if !v.Closed(noon) || v.Closed(noon+hour) {
		t.Error("an hour without events does not close with the others")
	}
	if h, err := v.Hour(noon); err != nil || len(h.Files) != 0 {
		t.Errorf("hour %+v, error %v", h, err)
	}
	w.mustStop(t)
	if got := view(t, dir).State.Watermark; got != noon+hour+10*minute+1 {
		t.Errorf("after the stop the watermark is %s", got.Time())
	}
}

func TestAnHourClosesTenMinutesAfterItsEnd(t *testing.T) {
	for _, c := range []struct {
		watermark crest.Millis
		closed    bool
	}{{noon + hour + 10*minute - 1, false}, {noon + hour + 10*minute, true}} {
		if got := (State{Watermark: c.watermark}).Closed(noon); got != c.closed {
			t.Errorf("at %s: %v", c.watermark.Time(), got)
		}
	}
}

func TestGaps(t *testing.T) {
	put := func(log *fakeLog, n int) {
		for i := range n {
			log.set(log.now + second)
			log.add(nil, event(int(log.now), log.now-crest.Millis(i)))
		}
	}
	for name, c := range map[string]struct {
		prepare func(log *fakeLog)
		between func(log *fakeLog)
		rows    int
		since   crest.Millis
		skipped string
	}{
		"nothing lost": {rows: 20},
		"the log was trimmed before the archive began": {
			prepare: func(log *fakeLog) { log.trimmed = 4 }, rows: 16, since: noon + 5*second,
		},
		"the log was trimmed while the archive was down": {
			between: func(log *fakeLog) { log.trimmed = 13 }, rows: 17, since: noon + 14*second, skipped: "no longer has",
		},
		"damaged records": {
			prepare: func(log *fakeLog) { log.corrupt[3] = 6 }, rows: 17, since: noon + 7*second, skipped: "damaged",
		},
		"damage at the beginning": {
			prepare: func(log *fakeLog) { log.corrupt[0] = 2 }, rows: 18, since: noon + 3*second,
		},
		"damage at the end": {
			between: func(log *fakeLog) { log.corrupt[18] = 20 }, rows: 18, since: noon + 20*second, skipped: "damaged",
		},
	} {
		t.Run(name, func(t *testing.T) {
			log := newFakeLog(noon)
			put(log, 10)
			if c.prepare != nil {
				c.prepare(log)
			}
			skipped := &note{}
			cfg := Config{Dir: t.TempDir(), Observer: Observer{Skipped: func(err error) { skipped.add(err.Error()) }}}
			w := start(t, cfg, log)
			w.commit(t)
			w.mustStop(t)
			put(log, 10)
			if c.between != nil {
				c.between(log)
			}
			w = start(t, cfg, log)
			w.commit(t)
			w.mustStop(t)
			if got := len(readAll(t, cfg.Dir)); got != c.rows {
				t.Errorf("%d rows, want %d", got, c.rows)
			}
			if v := view(t, cfg.Dir); v.State.Since != c.since {
				t.Errorf("since is %d, want %d", v.State.Since-noon, c.since-noon)
			}
			if !skipped.has(c.skipped) || c.skipped == "" && len(skipped.all) > 0 {
				t.Errorf("skipped %q", skipped.all)
			}
		})
	}
}

func TestAnotherLogIsRefused(t *testing.T) {
	log := newFakeLog(noon)
	for i := range 9 {
		log.add(nil, event(i, noon))
	}
	log.set(noon + hour)
	cfg := Config{Dir: t.TempDir()}
	w := start(t, cfg, log)
	w.commit(t)
	w.mustStop(t)
	before := readTree(t, cfg.Dir)

	shorter := newFakeLog(noon + 2*hour)
	shorter.add(nil, event(1, noon))
	w = start(t, cfg, shorter)
	err := <-w.done
	if _, ok := errors.AsType[*eventlog.BeyondError](err); !ok || !strings.Contains(err.Error(), "move the archive aside") {
		t.Errorf("of a log that ends earlier: %v", err)
	}
	w.Close()

	log.now = noon + 30*minute
	w = start(t, cfg, log)
	if err := <-w.done; err == nil || !strings.Contains(err.Error(), "its clock was ahead") {
		t.Errorf("of a clock that went back half an hour: %v", err)
	}
	w.Close()
	if !equalContents(before, readTree(t, cfg.Dir)) {
		t.Error("the archive is no longer as it was")
	}
}

// A clock that was put back a little while the log was closed is nothing to stop for.
func TestClockPutBack(t *testing.T) {
	log := newFakeLog(noon + 5*minute)
	cfg := Config{Dir: t.TempDir()}
	w := start(t, cfg, log)
	log.add(nil, event(1, log.now))
	w.commit(t)
	w.mustStop(t)
	log.now = noon + minute
	log.add(nil, event(2, noon), event(3, noon+4*minute))
	w = start(t, cfg, log)
	w.commit(t)
	w.mustStop(t)
	got := readAll(t, cfg.Dir)
	if len(got) != 3 {
		t.Fatalf("%d rows", len(got))
	}
	for _, s := range got {
		if s.Received != noon+5*minute {
			t.Errorf("%+v: received before what the archive had", s)
		}
	}
	if got[2].Time != noon+minute {
		t.Errorf("the event from the future is of %s", got[2].Time.Time())
	}
	if v := view(t, cfg.Dir); v.State.Watermark != noon+5*minute {
		t.Errorf("the watermark went to %s", v.State.Watermark.Time())
	}
}

func TestMalformedRecordsAreSkipped(t *testing.T) {
	log := newFakeLog(noon)
	skipped := &note{}
	cfg := Config{Dir: t.TempDir(), Observer: Observer{Skipped: func(err error) { skipped.add(err.Error()) }}}
	log.add(nil, event(1, noon))
	log.addPayload([]byte("nonsense"))
	log.addPayload(log.records[0].Payload[:len(log.records[0].Payload)-1])
	log.add(nil, event(2, noon))
	w := start(t, cfg, log)
	w.commit(t)
	w.mustStop(t)
	if got := readAll(t, cfg.Dir); len(got) != 2 || len(skipped.all) != 2 || !skipped.has("malformed") {
		t.Errorf("%d rows, skipped %q", len(got), skipped.all)
	}
	if since := view(t, cfg.Dir).State.Since; since != 0 {
		t.Errorf("since is %d: what can't be read was never an event", since)
	}
}

func TestCommit(t *testing.T) {
	log := newFakeLog(noon)
	cfg := Config{Dir: t.TempDir()}
	w, err := open(cfg, unsynced{})
	if err != nil {
		t.Fatal(err)
	}
	early := make(chan error, 1)
	go func() { early <- w.Commit(t.Context()) }()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.Commit(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("a commit whose caller has gone: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	r := &running{w, cancel, make(chan error, 1)}
	go func() { r.done <- w.Run(ctx, log) }()
	if err := <-early; err != nil {
		t.Errorf("a commit asked for before Run: %v", err)
	}
	for n := range 20 {
		log.add(nil, event(n, noon))
		r.commit(t)
		if got := len(readAll(t, cfg.Dir)); got != n+1 {
			t.Fatalf("%d rows after the commit of %d", got, n+1)
		}
		_, end := log.Range()
		if w.Needed() != end {
			t.Fatalf("it needs the log from %d, which ends at %d", w.Needed(), end)
		}
	}
	if h, err := view(t, cfg.Dir).Hour(noon); err != nil || len(h.Files) != 1 {
		t.Errorf("twenty commits within a slot made %d files, error %v", len(h.Files), err)
	}
	r.mustStop(t)
	if err := w.Commit(t.Context()); crest.CodeOf(err) != crest.CodeShuttingDown {
		t.Errorf("a commit after the end: %v", err)
	}
}

// What the log holds when the writer is told to stop is archived before it ends.
func TestStopDrains(t *testing.T) {
	log := newFakeLog(noon)
	for i := range 500 {
		log.add(nil, event(i, noon))
	}
	cfg := Config{Dir: t.TempDir()}
	w := start(t, cfg, log)
	w.mustStop(t)
	if got := len(readAll(t, cfg.Dir)); got != 500 {
		t.Errorf("%d rows", got)
	}
}

func TestOneWriter(t *testing.T) {
	cfg := Config{Dir: t.TempDir()}
	w, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(cfg); err == nil || !strings.Contains(err.Error(), "another process") {
		t.Errorf("a second writer: %v", err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if w, err = Open(cfg); err != nil {
		t.Fatal(err)
	}
	w.Close()
}

func TestConfigIsChecked(t *testing.T) {
	for want, cfg := range map[string]Config{
		"dir":          {},
		"at least 73h": {Dir: "x", Retain: time.Hour},
		"file rows":    {Dir: "x", FileRows: -1},
		"file bytes":   {Dir: "x", FileBytes: -1},
		"at most 4":    {Dir: "x", Dimensions: []string{"a", "b", "c", "d", "e"}},
		"twice":        {Dir: "x", Dimensions: []string{"a", "a"}},
		"column":       {Dir: "x", Dimensions: []string{"a,optional"}},
		"separates":    {Dir: "x", Dimensions: []string{"a/b"}},
	} {
		if _, err := Open(cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", cfg, err, want)
		}
	}
}
