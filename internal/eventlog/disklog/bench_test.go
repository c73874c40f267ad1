package disklog

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"

	"crest"
	"crest/internal/eventlog"
)

const batchEvents = 500

// batch returns the payload of a record of 500 views.
func batch(tb testing.TB) []byte {
	tb.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	var e eventlog.Encoder
	e.Reset(nil)
	for i := range batchEvents {
		ev := crest.Event{
			Type: "video", Item: fmt.Sprintf("%011x", r.Uint64N(1<<44)), Time: 1_764_500_000_000 + crest.Millis(i),
			Session: r.Uint64(), Weight: 1,
		}
		for j := range ev.ID {
			ev.ID[j] = byte(r.Uint32())
		}
		if err := e.Add(&ev); err != nil {
			tb.Fatal(err)
		}
	}
	return e.Bytes()
}

// Appends of one batch each, from as many goroutines as the name says; each waits until its batch is durable.
func BenchmarkAppendDurable(b *testing.B) {
	payload := batch(b)
	for _, appenders := range []int{1, 16, 256} {
		b.Run(fmt.Sprint(appenders), func(b *testing.B) {
			commits := 0
			l := mustOpen(b, Config{Dir: b.TempDir(), Observer: Observer{Committed: func(Commit) { commits++ }}})
			b.SetBytes(int64(len(payload)))
			b.SetParallelism(max(1, appenders/runtime.GOMAXPROCS(0)))
			b.ResetTimer()
			var partition atomic.Int64
			b.RunParallel(func(pb *testing.PB) {
				records := []eventlog.Append{{Partition: int(partition.Add(1)), Payload: payload}}
				for pb.Next() {
					if _, err := l.Append(context.Background(), records, true); err != nil {
						b.Error(err)
						return
					}
				}
			})
			b.StopTimer()
			b.ReportMetric(batchEvents*float64(b.N)/b.Elapsed().Seconds(), "events/s")
			b.ReportMetric(float64(b.N)/float64(max(1, commits)), "appends/commit")
		})
	}
}

// void is a disk that takes everything and keeps nothing.
type void struct{ unsynced }

type voidFile struct{ file }

func (voidFile) WriteAt(b []byte, _ int64) (int, error) { return len(b), nil }
func (voidFile) Sync() error                            { return nil }

func (v void) Create(p string) (file, error) {
	f, err := v.unsynced.Create(p)
	return voidFile{f}, err
}

// Appends that are only enqueued, on no disk: what the processor has to do.
func BenchmarkAppendEnqueued(b *testing.B) {
	payload := batch(b)
	l, err := open(Config{Dir: b.TempDir()}, void{})
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	records := []eventlog.Append{{Payload: payload}}
	b.SetBytes(int64(len(payload)))
	b.ReportAllocs()
	for b.Loop() {
		_, err := l.Append(context.Background(), records, false)
		for crest.CodeOf(err) == crest.CodeBehind {
			runtime.Gosched()
			_, err = l.Append(context.Background(), records, false)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}

// Reading 256 MiB that the page cache has.
func BenchmarkRead(b *testing.B) {
	payload := batch(b)
	l, err := open(Config{Dir: b.TempDir()}, unsynced{})
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	records := make([]eventlog.Append, 64)
	for i := range records {
		records[i] = eventlog.Append{Partition: i, Payload: payload}
	}
	n := (256 << 20) / (len(payload) * len(records))
	for range n {
		if _, err := l.Append(context.Background(), records, true); err != nil {
			b.Fatal(err)
		}
	}
	_, end := l.Range()
	b.SetBytes(int64(end))
	b.ReportAllocs()
	for b.Loop() {
		r, err := l.NewReader(0)
		if err != nil {
			b.Fatal(err)
		}
		for at := eventlog.Offset(0); at < end; {
			batch, err := r.Read(context.Background(), 0)
			if err != nil {
				b.Fatal(err)
			}
			at = batch.Next
		}
		r.Close()
	}
	b.ReportMetric(batchEvents*float64(n*len(records)*b.N)/b.Elapsed().Seconds(), "events/s")
}
