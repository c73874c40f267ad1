package logtest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"crest"
	"crest/internal/eventlog"
)

func (s suite) order(t *testing.T) {
	log := s.open(t, Options{})
	var want []got
	for i := range 100 {
		var records []eventlog.Append
		for j := range i % 4 {
			g := got{partition: (i * j) % 5, payload: fmt.Sprintf("%d/%d%s", i, j, strings.Repeat(".", i*j*100))}
			if i == 50 {
				g.partition = eventlog.MaxPartition
			}
			want = append(want, g)
			records = append(records, eventlog.Append{Partition: g.partition, Payload: []byte(g.payload)})
		}
		if _, err := log.Append(t.Context(), records, i%2 == 0); err != nil {
			t.Fatal(err)
		}
	}
	want = append(want, got{payload: "end"})
	add(t, log, "end") // durable, and so is everything before it
	records := readAll(t, newReader(t, log, 0))
	if len(records) != len(want) {
		t.Fatalf("%d records, want %d", len(records), len(want))
	}
	for i, w := range want {
		if g := records[i]; g.partition != w.partition || g.payload != w.payload {
			t.Errorf("record %d: partition %d, %.20q; want %d, %.20q", i, g.partition, g.payload, w.partition, w.payload)
		}
	}
}

func (s suite) copies(t *testing.T) {
	log := s.open(t, Options{})
	payload := []byte("as it was")
	for _, durable := range []bool{false, true} {
		if _, err := log.Append(t.Context(), []eventlog.Append{{Payload: payload}}, durable); err != nil {
			t.Fatal(err)
		}
		copy(payload, "overwritten")
		copy(payload, "as it was")
	}
	copy(payload, "overwritten")
	expect(t, readAll(t, newReader(t, log, 0)), "as it was", "as it was")
}

func (s suite) limits(t *testing.T) {
	log := s.open(t, Options{})
	good := eventlog.Append{Payload: []byte("good")}
	for _, c := range []struct {
		bad  eventlog.Append
		code crest.Code
	}{
		{eventlog.Append{}, crest.CodeMissingField},
		{eventlog.Append{Payload: make([]byte, eventlog.MaxRecordBytes+1)}, crest.CodeTooLong},
		{eventlog.Append{Partition: -1, Payload: []byte("x")}, crest.CodeOutOfRange},
		{eventlog.Append{Partition: eventlog.MaxPartition + 1, Payload: []byte("x")}, crest.CodeOutOfRange},
	} {
		_, err := log.Append(t.Context(), []eventlog.Append{good, c.bad}, true)
		expectCode(t, err, c.code)
	}
	largest := strings.Repeat("x", eventlog.MaxRecordBytes)
	add(t, log, largest)
	add(t, log, "after it")
	expect(t, readAll(t, newReader(t, log, 0)), largest, "after it")
}

func (s suite) emptyAppend(t *testing.T) {
	log := s.open(t, Options{})
	for _, durable := range []bool{false, true} {
		if received, err := log.Append(t.Context(), nil, durable); err != nil || received != crest.MillisOf(start) {
			t.Fatalf("received %d, error %v", received, err)
		}
	}
	expect(t, readAll(t, newReader(t, log, 0)))
}

// clock is a clock that tests set, in milliseconds after start.
type clock struct{ atomic.Int64 }

func (c *clock) now() time.Time {
	return start.Add(time.Duration(c.Load()) * time.Millisecond)
}

func at(millis int64) crest.Millis { return crest.MillisOf(start) + crest.Millis(millis) }

func (s suite) stamps(t *testing.T) {
	var c clock
	log := s.open(t, Options{Now: c.now})
	var want []crest.Millis
	for _, step := range []struct{ now, stamp int64 }{{5, 5}, {7, 7}, {3, 7}, {-5000, 7}, {8, 8}} {
		c.Store(step.now)
		received := add(t, log, "x")
		if received != at(step.stamp) {
			t.Fatalf("at %d stamped %d", step.now, received-at(0))
		}
		want = append(want, received)
	}
	for i, g := range readAll(t, newReader(t, log, 0)) {
		if g.received != want[i] {
			t.Errorf("record %d is stamped %d, Append said %d", i, g.received, want[i])
		}
	}
}

func (s suite) stampsReopened(t *testing.T) {
	dir := t.TempDir()
	var c clock
	for _, step := range []struct{ now, stamp int64 }{{5, 5}, {3, 5}, {-100, 5}, {6, 6}} {
		c.Store(step.now)
		log := s.openDir(t, dir, Options{Now: c.now})
		if received := add(t, log, "x"); received != at(step.stamp) {
			t.Fatalf("at %d stamped %d", step.now, received-at(0))
		}
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// gate is a disk that can be stopped, and made to fail.
type gate struct {
	entered chan struct{} // a sync has begun
	pass    chan error    // how it ends
	closed  atomic.Bool   // from now on syncs stop at the gate
}

func newGate() *gate {
	return &gate{entered: make(chan struct{}), pass: make(chan error)}
}

func (g *gate) sync() error {
	if !g.closed.Load() {
		return nil
	}
	g.entered <- struct{}{}
	return <-g.pass
}

// result is what an Append returned.
type result struct {
	received crest.Millis
	err      error
}

func appendAside(ctx context.Context, log eventlog.Log, records []eventlog.Append, durable bool) <-chan result {
	done := make(chan result, 1)
	go func() {
		received, err := log.Append(ctx, records, durable)
		done <- result{received, err}
	}()
	return done
}

func (s suite) durable(t *testing.T) {
	g := newGate()
	log := s.open(t, Options{BeforeSync: g.sync})
	add(t, log, "durable")
	g.closed.Store(true)
	if _, err := log.Append(t.Context(), one("not yet"), false); err != nil {
		t.Fatal(err)
	}
	<-g.entered
	r := newReader(t, log, 0)
	expect(t, readAll(t, r), "durable")
	g.closed.Store(false)
	g.pass <- nil
	b, err := r.Read(t.Context(), long)
	if err != nil || len(b.Records) != 1 || string(b.Records[0].Payload) != "not yet" {
		t.Fatalf("%v, error %v", b, err)
	}
}

func (s suite) durableWaits(t *testing.T) {
	g := newGate()
	log := s.open(t, Options{BeforeSync: g.sync})
	g.closed.Store(true)
	done := appendAside(t.Context(), log, one("x"), true)
	<-g.entered
	select {
	case r := <-done:
		t.Fatalf("a durable Append returned %+v before its sync ended", r)
	default:
	}
	g.closed.Store(false)
	g.pass <- nil
	if r := <-done; r.err != nil {
		t.Fatal(r.err)
	}
	expect(t, readAll(t, newReader(t, log, 0)), "x") // at once
}

func (s suite) appendContext(t *testing.T) {
	g := newGate()
	log := s.open(t, Options{BeforeSync: g.sync})
	ctx, cancel := context.WithCancel(t.Context())
	g.closed.Store(true)
	done := appendAside(ctx, log, one("x"), true)
	<-g.entered
	cancel()
	if r := <-done; !errors.Is(r.err, context.Canceled) {
		t.Fatal(r.err)
	}
	g.closed.Store(false)
	g.pass <- nil
	if _, err := log.Append(ctx, one("never"), false); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	add(t, log, "y")
	expect(t, readAll(t, newReader(t, log, 0)), "x", "y")
}

func (s suite) full(t *testing.T) {
	g := newGate()
	log := s.open(t, Options{BeforeSync: g.sync, MaxPendingBytes: 64 << 10})
	_, err := log.Append(t.Context(), one(strings.Repeat("x", 65<<10)), true)
	expectCode(t, err, crest.CodeTooLong) // it never fits
	g.closed.Store(true)
	payload := strings.Repeat("x", 1<<10)
	accepted := 0
	for {
		_, err := log.Append(t.Context(), one(payload), false)
		if err != nil {
			expectCode(t, err, crest.CodeBehind)
			break
		}
		if accepted++; accepted > 64 {
			t.Fatal("the queue takes more than its limit")
		}
	}
	if accepted < 32 {
		t.Errorf("behind after %d KiB of 64", accepted)
	}
	_, err = log.Append(t.Context(), one(payload), true) // must not wait for room
	expectCode(t, err, crest.CodeBehind)
	<-g.entered
	g.closed.Store(false)
	g.pass <- nil
	r := newReader(t, log, 0)
	for read := 0; read < accepted; {
		b, err := r.Read(t.Context(), long)
		if err != nil || len(b.Records) == 0 {
			t.Fatalf("%d of %d records, then error %v", read, accepted, err)
		}
		read += len(b.Records)
	}
	add(t, log, "room again")
	expect(t, readAll(t, r), "room again")
}

func (s suite) failing(t *testing.T) {
	g := newGate()
	dir := t.TempDir()
	o := Options{BeforeSync: g.sync}
	log := s.openDir(t, dir, o)
	want := []string{"before"}
	add(t, log, want[0])
	broken := errors.New("disk is on fire")
	for i := range 3 {
		g.closed.Store(true)
		done := appendAside(t.Context(), log, one(fmt.Sprint("lost ", i)), true)
		<-g.entered
		g.closed.Store(false)
		g.pass <- broken
		r := <-done
		expectCode(t, r.err, crest.CodeLogUnavailable)
		if !errors.Is(r.err, broken) {
			t.Errorf("error %v does not tell the cause", r.err)
		}
		expect(t, readAll(t, newReader(t, log, 0)), want...)
		want = append(want, fmt.Sprint("after ", i))
		add(t, log, want[i+1])
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	log = s.openDir(t, dir, o)
	expect(t, readAll(t, newReader(t, log, 0)), want...)
}
