package logtest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"crest/internal/eventlog"
)

func (s suite) offsets(t *testing.T) {
	dir := t.TempDir()
	log := s.openDir(t, dir, Options{})
	r := newReader(t, log, 0)
	var all []string
	var nexts []eventlog.Offset // after as many records as the index says
	oldest, _ := log.Range()
	nexts = append(nexts, oldest)
	for i := range 50 {
		all = append(all, fmt.Sprint(i, strings.Repeat("-", i*100)))
		add(t, log, all[i])
		b, err := r.Read(t.Context(), long)
		if err != nil || len(b.Records) != 1 {
			t.Fatalf("%d records, error %v", len(b.Records), err)
		}
		if b.Next <= nexts[i] {
			t.Fatalf("Next went from %d to %d", nexts[i], b.Next)
		}
		nexts = append(nexts, b.Next)
		if _, end := log.Range(); end != b.Next {
			t.Fatalf("the log ends at %d, its last record at %d", end, b.Next)
		}
	}
	for range 2 {
		for i, from := range nexts {
			expect(t, readAll(t, newReader(t, log, from)), all[i:]...)
		}
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
		log = s.openDir(t, dir, Options{})
		if _, end := log.Range(); end != nexts[len(nexts)-1] {
			t.Fatalf("the log ends at %d, before it was reopened at %d", end, nexts[len(nexts)-1])
		}
	}
}

func (s suite) outside(t *testing.T) {
	log := s.open(t, Options{})
	add(t, log, "x")
	_, end := log.Range()
	_, err := log.NewReader(end + 1)
	if beyond, ok := errors.AsType[*eventlog.BeyondError](err); !ok || beyond.From != end+1 || beyond.End != end {
		t.Errorf("after the end: %v", err)
	}
	_, err = log.NewReader(-1)
	if _, ok := errors.AsType[*eventlog.TrimmedError](err); !ok {
		t.Errorf("before the beginning: %v", err)
	}
	r := newReader(t, log, end)
	expect(t, readAll(t, r))
	add(t, log, "y")
	expect(t, readAll(t, r), "y")
}

// fill appends more than 4 MiB, and returns how many records that is.
func fill(t *testing.T, log eventlog.Log) int {
	t.Helper()
	const n = 280
	payload := one(strings.Repeat("x", 16<<10))
	for i := range n {
		if _, err := log.Append(t.Context(), payload, i%8 == 7); err != nil {
			t.Fatal(err)
		}
	}
	return n
}

func (s suite) trimmed(t *testing.T) {
	dir := t.TempDir()
	log := s.openDir(t, dir, Options{})
	n := fill(t, log)
	_, end := log.Range()
	s.Trim(t, log)
	for range 2 {
		oldest, still := log.Range()
		if oldest == 0 || still != end {
			t.Fatalf("the log has the records from %d to %d; before it was trimmed it ended at %d", oldest, still, end)
		}
		_, err := log.NewReader(0)
		if trimmed, ok := errors.AsType[*eventlog.TrimmedError](err); !ok || trimmed.Oldest != oldest || trimmed.From != 0 {
			t.Fatalf("error %v, want one that names %d", err, oldest)
		}
		if kept := len(readAll(t, newReader(t, log, oldest))); kept == 0 || kept >= n {
			t.Fatalf("%d of %d records are kept", kept, n)
		}
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
		log = s.openDir(t, dir, Options{})
	}
}

func (s suite) trimmedReader(t *testing.T) {
	log := s.open(t, Options{})
	fill(t, log)
	fresh := newReader(t, log, 0) // has not begun
	begun := newReader(t, log, 0)
	b, err := begun.Read(t.Context(), long)
	if err != nil {
		t.Fatal(err)
	}
	s.Trim(t, log)
	oldest, _ := log.Range()
	_, err = fresh.Read(t.Context(), 0)
	if trimmed, ok := errors.AsType[*eventlog.TrimmedError](err); !ok || trimmed.Oldest != oldest {
		t.Fatalf("error %v, want one that names %d", err, oldest)
	}
	// The other may have what is trimmed in its hands still, but must not skip anything without a word.
	for b.Next < oldest {
		before := b.Next
		b, err = begun.Read(t.Context(), 0)
		if _, ok := errors.AsType[*eventlog.TrimmedError](err); ok {
			return
		}
		if err != nil || b.Next <= before {
			t.Fatalf("at %d: error %v", before, err)
		}
	}
}

func (s suite) readWaits(t *testing.T) {
	log := s.open(t, Options{})
	r := newReader(t, log, 0)
	batches := make(chan eventlog.Batch)
	go func() {
		defer close(batches)
		for range 20 {
			b, err := r.Read(context.Background(), long)
			if err != nil || len(b.Records) != 1 {
				t.Errorf("%d records, error %v", len(b.Records), err)
				return
			}
			batches <- b
		}
	}()
	for i := range 20 {
		if _, err := log.Append(t.Context(), one(fmt.Sprint(i)), i%2 == 0); err != nil {
			t.Fatal(err)
		}
		if b := <-batches; len(b.Records) != 1 || string(b.Records[0].Payload) != fmt.Sprint(i) {
			t.Fatalf("record %d: %+v", i, b)
		}
	}
}

func (s suite) readContext(t *testing.T) {
	log := s.open(t, Options{})
	r := newReader(t, log, 0)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := r.Read(ctx, long)
		done <- err
	}()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	add(t, log, "x")
	expect(t, readAll(t, r), "x") // the position has not moved
}

func (s suite) idleWatermark(t *testing.T) {
	var c clock
	g := newGate()
	log := s.open(t, Options{Now: c.now, BeforeSync: g.sync})
	r := newReader(t, log, 0)
	idle := func(want int64) {
		t.Helper()
		for _, wait := range []time.Duration{0, time.Microsecond} {
			b, err := r.Read(t.Context(), wait)
			if err != nil || len(b.Records) != 0 || b.Watermark != at(want) {
				t.Fatalf("%d records, watermark %d, error %v; want none and %d", len(b.Records), b.Watermark-at(0), err, want)
			}
		}
	}
	idle(0)
	c.Store(10)
	idle(10)
	c.Store(4) // the clock goes back
	idle(10)
	if received := add(t, log, "x"); received != at(10) {
		t.Fatalf("stamped %d after a watermark of 10", received-at(0))
	}
	expect(t, readAll(t, r), "x")
	c.Store(20)
	g.closed.Store(true)
	if _, err := log.Append(t.Context(), one("y"), false); err != nil {
		t.Fatal(err)
	}
	<-g.entered
	c.Store(30)
	if _, err := log.Append(t.Context(), one("z"), false); err != nil {
		t.Fatal(err)
	}
	c.Store(40)
	idle(20) // y is on its way
	g.pass <- nil
	<-g.entered
	c.Store(50)
	b, err := r.Read(t.Context(), long)
	if err != nil || len(b.Records) != 1 || b.Watermark != at(30) {
		t.Fatalf("%d records, watermark %d, error %v; want y and 30, when z came", len(b.Records), b.Watermark-at(0), err)
	}
	g.closed.Store(false)
	g.pass <- nil
	b, err = r.Read(t.Context(), long)
	if err != nil || len(b.Records) != 1 || b.Watermark != at(50) {
		t.Fatalf("%d records, watermark %d, error %v; want z and 50", len(b.Records), b.Watermark-at(0), err)
	}
}

func (s suite) readerClose(t *testing.T) {
	log := s.open(t, Options{})
	add(t, log, "x")
	idle, other := newReader(t, log, 0), newReader(t, log, 0)
	expect(t, readAll(t, idle), "x")
	done := make(chan error, 1)
	go func() {
		_, err := idle.Read(context.Background(), long)
		done <- err
	}()
	for range 2 {
		if err := idle.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := <-done; !errors.Is(err, eventlog.ErrClosed) {
		t.Fatal(err)
	}
	if _, err := idle.Read(t.Context(), 0); !errors.Is(err, eventlog.ErrClosed) {
		t.Fatal(err)
	}
	expect(t, readAll(t, other), "x")
}
