package eventpb_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/bufbuild/protocompile"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"crest/proto/eventpb"
)

// batchDescriptor compiles the schema, so that the code is compared with what other languages will generate.
func batchDescriptor(t *testing.T) protoreflect.MessageDescriptor {
	t.Helper()
	compiler := protocompile.Compiler{
		Resolver: protocompile.WithStandardImports(&protocompile.SourceResolver{ImportPaths: []string{".."}}),
	}
	files, err := compiler.Compile(context.Background(), "crest/v1/events.proto")
	if err != nil {
		t.Fatal(err)
	}
	return files[0].Messages().ByName("Batch")
}

func TestBatchIsWhatTheSchemaSays(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	descriptor := batchDescriptor(t)
	for range 200 {
		events := make([]eventpb.Event, rng.IntN(5))
		for i := range events {
			events[i] = randomEvent(rng)
		}
		message := dynamicpb.NewMessage(descriptor)
		if err := proto.Unmarshal(eventpb.AppendBatch(nil, events), message); err != nil {
			t.Fatal(err)
		}
		if len(message.GetUnknown()) != 0 {
			t.Fatalf("unknown fields %x", message.GetUnknown())
		}
		list := message.Get(descriptor.Fields().ByName("events")).List()
		if list.Len() != len(events) {
			t.Fatalf("%d events, want %d", list.Len(), len(events))
		}
		for i := range events {
			if got, want := read(list.Get(i).Message()), normal(events[i]); got != want {
				t.Fatalf("event %d is\n%s, want\n%s", i, got, want)
			}
		}
	}
}

func read(m protoreflect.Message) string {
	field := func(name protoreflect.Name) protoreflect.Value { return m.Get(m.Descriptor().Fields().ByName(name)) }
	dimensions := map[string]string{}
	field("dimensions").Map().Range(func(k protoreflect.MapKey, v protoreflect.Value) bool {
		dimensions[k.String()] = v.String()
		return true
	})
	return fmt.Sprintf("%q %x %q %q %d %q %d %q %x", field("id").String(), field("uuid").Bytes(), field("type").String(),
		field("item").String(), field("ts_ms").Int(), field("session").String(), field("weight").Uint(), dimensions, m.GetUnknown())
}

func normal(e eventpb.Event) string {
	uuid := e.UUID[:]
	if e.UUID == [16]byte{} {
		uuid = nil
	} else {
		e.ID = ""
	}
	dimensions := map[string]string{}
	for _, d := range e.Dimensions {
		dimensions[d.Name] = d.Value
	}
	return fmt.Sprintf("%q %x %q %q %d %q %d %q %x", e.ID, uuid, e.Type, e.Item, e.TimeMillis, e.Session, e.Weight, dimensions, []byte{})
}

func randomEvent(rng *rand.Rand) eventpb.Event {
	text := func() string {
		b := make([]byte, rng.IntN(3)*rng.IntN(120))
		for i := range b {
			b[i] = byte('a' + rng.IntN(26))
		}
		return string(b)
	}
	number := func() uint64 { return rng.Uint64N(3) * (rng.Uint64() >> rng.IntN(64)) }
	e := eventpb.Event{
		ID: text(), Type: text(), Item: text(), TimeMillis: int64(number() & math.MaxInt64), Session: text(), Weight: number(),
	}
	if rng.IntN(2) == 0 {
		e.UUID = [16]byte{byte(rng.Uint32()), 15: 1}
	}
	if rng.IntN(4) == 0 {
		e.TimeMillis = -e.TimeMillis
	}
	for range rng.IntN(3) {
		e.Dimensions = append(e.Dimensions, eventpb.Dimension{Name: text(), Value: text()})
	}
	return e
}

func BenchmarkAppendEvent(b *testing.B) {
	e := eventpb.Event{UUID: [16]byte{1}, Type: "video", Item: "dQw4w9WgXcQ", TimeMillis: 1_790_000_000_000, Session: "s-123456"}
	var dst []byte
	b.ReportAllocs()
	for b.Loop() {
		dst = eventpb.AppendEvent(dst[:0], &e)
	}
}
