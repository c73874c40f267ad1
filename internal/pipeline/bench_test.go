package pipeline

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"crest"
	"crest/internal/config"
	"crest/internal/eventlog"
)

// BenchmarkTake counts events of the views preset as they come from the log: records of about 60 events, a million
// events a second of received time, Zipf(1.05) over five million items. Lists are made at their moments.
func BenchmarkTake(b *testing.B) {
	cfg, err := config.Preset("views")
	if err != nil {
		b.Fatal(err)
	}
	p, err := New(&cfg, Options{Now: func() time.Time { return time.UnixMilli(1_700_000_000_000) }})
	if err != nil {
		b.Fatal(err)
	}
	go func() {
		for range p.build { // merging lists is not what is measured
		}
	}()
	const (
		perRecord = 62
		records   = 1 << 14
		start     = crest.Millis(1_700_000_000_000)
	)
	r := rand.New(rand.NewPCG(1, 1))
	zipf := rand.NewZipf(r, 1.05, 1, 5_000_000)
	payloads := make([][]byte, records)
	ids := make([][perRecord]int, records) // where in the payload each event's id is
	for i := range payloads {
		var e eventlog.Encoder
		e.Reset(nil)
		for j := range perRecord {
			ids[i][j] = e.Size() + 1 // after the flags
			ev := crest.Event{Type: "video", Item: fmt.Sprintf("v%010d", zipf.Uint64()), Weight: 1, Session: 1 + r.Uint64N(1<<40), Time: start}
			*(*[8]byte)(ev.ID[:8]) = [8]byte(fmt.Appendf(nil, "%08x", r.Uint32()))
			*(*[8]byte)(ev.ID[8:]) = [8]byte(fmt.Appendf(nil, "%08x", r.Uint32()))
			if err := e.Add(&ev); err != nil {
				b.Fatal(err)
			}
		}
		payloads[i] = append([]byte(nil), e.Bytes()...)
		for j := range perRecord {
			ids[i][j] += len(payloads[i]) - e.Size()
		}
	}
	n, events := 0, 0
	batch := eventlog.Batch{}
	b.ResetTimer()
	for b.Loop() {
		received := start + crest.Millis(events/1000)
		batch.Records = batch.Records[:0]
		for range 200 {
			for _, at := range ids[n%records] { // no event comes twice
				binary.LittleEndian.PutUint64(payloads[n%records][at:], binary.LittleEndian.Uint64(payloads[n%records][at:])+0x9e3779b97f4a7c15)
			}
			batch.Records = append(batch.Records, eventlog.Record{Partition: n & 7, Received: received, Payload: payloads[n%records]})
			n++
		}
		events += 200 * perRecord
		batch.Watermark = received
		if err := p.take(batch); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(events), "ns/event")
}
