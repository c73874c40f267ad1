package logtest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"crest"
	"crest/internal/eventlog"
)

// steadily is a clock that moves a millisecond each time somebody looks.
func steadily() func() time.Time {
	var c clock
	return func() time.Time {
		c.Add(1)
		return c.now()
	}
}

// A watermark says that whatever is appended from now on is stamped no earlier, which readAll checks; here appenders
// and readers race for it.
func (s suite) watermark(t *testing.T) {
	log := s.open(t, Options{Now: steadily()})
	const n = 200
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range n {
			if _, err := log.Append(context.Background(), one("x"), i%16 == 15); err != nil {
				t.Error(err)
			}
		}
	})
	for range 2 {
		wg.Go(func() {
			r, err := log.NewReader(0)
			if err != nil {
				t.Error(err)
				return
			}
			defer r.Close()
			watermark := crest.Millis(0)
			for read := 0; read < n; {
				b, err := r.Read(context.Background(), time.Millisecond)
				if err != nil {
					t.Error(err)
					return
				}
				for _, record := range b.Records {
					if record.Received < watermark {
						t.Errorf("a record stamped %d came after the watermark %d", record.Received, watermark)
					}
				}
				if b.Watermark < watermark {
					t.Errorf("watermark went back from %d to %d", watermark, b.Watermark)
				}
				watermark = b.Watermark
				read += len(b.Records)
			}
		})
	}
	wg.Wait()
}

// A batch that is not the last must not promise what holds for the end of the log.
func (s suite) watermarkBehind(t *testing.T) {
	log := s.open(t, Options{Now: steadily()})
	n := fill(t, log)
	if got := len(readAll(t, newReader(t, log, 0))); got != n {
		t.Fatalf("%d records, want %d", got, n)
	}
}

func (s suite) many(t *testing.T) {
	dir := t.TempDir()
	log := s.openDir(t, dir, Options{Now: steadily()})
	const appenders, appends = 8, 40
	var wg sync.WaitGroup
	for a := range appenders {
		wg.Go(func() {
			for i := range appends {
				pair := []eventlog.Append{
					{Partition: a, Payload: fmt.Appendf(nil, "%d", 2*i)},
					{Partition: a, Payload: fmt.Appendf(nil, "%d %s", 2*i+1, strings.Repeat("x", i*a))},
				}
				if _, err := log.Append(context.Background(), pair, i%4 == 3); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 3 {
		wg.Go(func() {
			r, err := log.NewReader(0)
			if err != nil {
				t.Error(err)
				return
			}
			defer r.Close()
			checkMany(t, appenders, 2*appends, func() (eventlog.Batch, error) {
				return r.Read(context.Background(), long)
			})
		})
	}
	wg.Wait()
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	r := newReader(t, s.openDir(t, dir, Options{}), 0)
	checkMany(t, appenders, 2*appends, func() (eventlog.Batch, error) { return r.Read(context.Background(), 0) })
}

// checkMany reads all records of testMany: each partition's in order, and those of one Append together.
func checkMany(t *testing.T, partitions, each int, read func() (eventlog.Batch, error)) {
	t.Helper()
	next := make([]int, partitions)
	left := partitions * each
	last := eventlog.Record{Partition: -1}
	for left > 0 {
		b, err := read()
		if err != nil || len(b.Records) == 0 {
			t.Errorf("%d records are missing; error %v", left, err)
			return
		}
		for _, record := range b.Records {
			n := 0
			if _, err := fmt.Sscan(string(record.Payload), &n); err != nil || n != next[record.Partition] {
				t.Errorf("partition %d: %.20q instead of %d", record.Partition, record.Payload, next[record.Partition])
				return
			}
			if n%2 == 1 && (last.Partition != record.Partition || last.Received != record.Received) {
				t.Errorf("partition %d: records %d and %d are apart or stamped differently", record.Partition, n-1, n)
			}
			next[record.Partition]++
			last = record
			left--
		}
	}
}

func (s suite) close(t *testing.T) {
	log := s.open(t, Options{})
	add(t, log, "x")
	r := newReader(t, log, 0)
	expect(t, readAll(t, r), "x")
	waiting := make(chan error, 1)
	go func() {
		_, err := r.Read(context.Background(), long)
		waiting <- err
	}()
	for range 2 {
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := <-waiting; !errors.Is(err, eventlog.ErrClosed) {
		t.Errorf("a waiting reader got %v", err)
	}
	if _, err := r.Read(t.Context(), 0); !errors.Is(err, eventlog.ErrClosed) {
		t.Errorf("a reader got %v", err)
	}
	if _, err := log.NewReader(0); !errors.Is(err, eventlog.ErrClosed) {
		t.Errorf("NewReader: %v", err)
	}
	_, err := log.Append(t.Context(), one("y"), true)
	expectCode(t, err, crest.CodeShuttingDown)
	_, err = log.Append(t.Context(), one("y"), false)
	expectCode(t, err, crest.CodeShuttingDown)
}

func (s suite) closeKeeps(t *testing.T) {
	dir := t.TempDir()
	log := s.openDir(t, dir, Options{})
	var want []string
	for i := range 100 {
		want = append(want, fmt.Sprint(i))
		if _, err := log.Append(t.Context(), one(want[i]), false); err != nil {
			t.Fatal(err)
		}
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	expect(t, readAll(t, newReader(t, s.openDir(t, dir, Options{}), 0)), want...)
}
