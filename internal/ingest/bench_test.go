package ingest

import (
	"context"
	"fmt"
	"syscall"
	"testing"
	"time"

	"crest"
	"crest/internal/config"
	"crest/internal/eventlog"
	"crest/proto/eventpb"
)

type discardLog struct{}

func (discardLog) Append(context.Context, []eventlog.Append, bool) (crest.Millis, error) {
	return 0, nil
}

// BenchmarkIngest takes batches of 500 events from body to encoded records. It reports CPU time, which a busy machine
// disturbs less than the clock.
func BenchmarkIngest(b *testing.B) {
	const events = 500
	now := time.Now()
	var uuids, ids []byte
	array, tags := []byte("["), []byte(nil)
	for i := range events {
		e := eventpb.Event{
			ID: fmt.Sprintf("01234567-89ab-cdef-0123-%012d", i), Type: "video", Item: fmt.Sprintf("dQw4w9Wg%03d", i),
			TimeMillis: now.UnixMilli() - int64(i), Session: fmt.Sprintf("session-%d", i),
		}
		ids = eventpb.AppendEvent(ids, &e)
		array = fmt.Appendf(array, `{"id":%q,"type":"video","item":%q,"ts":%d,"session":%q},`, e.ID, e.Item, e.TimeMillis, e.Session)
		e.UUID = [16]byte{byte(i), byte(i >> 8), 15: 1}
		uuids = eventpb.AppendEvent(uuids, &e)
		e.Type, e.Item = "hashtag", fmt.Sprintf("#McGregor%03d", i)
		tags = eventpb.AppendEvent(tags, &e)
	}
	array[len(array)-1] = ']'
	for _, bm := range []struct {
		name   string
		format Format
		body   []byte
	}{
		{"protobuf", FormatProtobuf, uuids},
		{"protobuf with text ids", FormatProtobuf, ids},
		{"protobuf hashtags", FormatProtobuf, tags},
		{"JSON", FormatJSON, array},
	} {
		b.Run(bm.name, func(b *testing.B) {
			cfg, err := config.Preset("views")
			if err != nil {
				b.Fatal(err)
			}
			in, err := New(&cfg, discardLog{}, func() time.Time { return now }, Observer{})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			b.SetBytes(int64(len(bm.body)))
			n, before := 0, cpuTime()
			for b.Loop() {
				result, err := in.Ingest(context.Background(), Request{Body: bm.body, Format: bm.format})
				if err != nil || result.Accepted != events {
					b.Fatal(describe(result), err)
				}
				n += events
			}
			b.ReportMetric(float64(cpuTime()-before)/float64(n), "cpu-ns/event")
		})
	}
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
