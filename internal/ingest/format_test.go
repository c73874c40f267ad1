package ingest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/bufbuild/protocompile"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"crest"
)

func TestFormatOf(t *testing.T) {
	tests := []struct {
		header string
		want   Format
	}{
		{"", FormatJSON},
		{"text/plain;charset=UTF-8", FormatJSON},
		{"application/json", FormatJSON},
		{" Application/JSON ; charset=utf-8", FormatJSON},
		{"application/x-ndjson", FormatNDJSON},
		{"application/jsonl", FormatNDJSON},
		{"application/x-protobuf", FormatProtobuf},
		{"application/vnd.google.protobuf; proto=crest.v1.Batch", FormatProtobuf},
	}
	for _, test := range tests {
		if got, err := FormatOf(test.header); err != nil || got != test.want {
			t.Errorf("%q: got %v, %v; want %v", test.header, got, err, test.want)
		}
	}
	for _, header := range []string{"application/xml", "application/x-www-form-urlencoded", "json", strings.Repeat("x", 10_000), "\xff"} {
		if _, err := FormatOf(header); crest.CodeOf(err) != crest.CodeUnsupportedMedia || len(err.Error()) > 300 {
			t.Errorf("%.20q: got %v", header, err)
		}
	}
	for header, want := range map[string]bool{"application/x-www-form-urlencoded": true, "text/csv": false} {
		if _, err := FormatOf(header); strings.Contains(err.Error(), "-H 'Content-Type: application/json'") != want {
			t.Errorf("%s: a hint for curl is %v in %v", header, !want, err)
		}
	}
}

// sample is an event in the form that the tests write in every format.
type sample struct {
	ID         string            `json:"id,omitempty"`
	Type       string            `json:"type,omitempty"`
	Item       string            `json:"item,omitempty"`
	TimeMillis int64             `json:"ts_ms,omitempty"`
	Session    string            `json:"session,omitempty"`
	Weight     uint64            `json:"weight,omitempty"`
	Dimensions map[string]string `json:"dimensions,omitempty"`
}

// randomSample is right most of the time. Its id is never left out, so that results can be compared.
func randomSample(rng *rand.Rand, i int) sample {
	pick := func(from ...string) string { return from[rng.IntN(len(from))] }
	s := sample{
		ID:   fmt.Sprintf(pick("01234567-89ab-cdef-0123-%012d", "event %d", "évènement %d"), i),
		Type: pick("video", "video", "hashtag", "article", "film", ""),
		Item: pick("dQw4w9WgXcQ", "#McGregor", "＃Straße", "😂", "#", "", "tab\tin it", strings.Repeat("ﷺ", 80), strings.Repeat("x", 257)),
	}
	if rng.IntN(2) == 0 {
		s.TimeMillis = int64(receivedMillis) + rng.Int64N(20_000) - 14_000
	}
	if rng.IntN(2) == 0 {
		s.Session = pick("s1", "s2", "s3", strings.Repeat("s", 300))
	}
	if rng.IntN(3) == 0 {
		s.Weight = rng.Uint64N(1_100_000)
	}
	for _, d := range []string{"category", "region", "colour"} {
		if rng.IntN(4) == 0 {
			if s.Dimensions == nil {
				s.Dimensions = map[string]string{}
			}
			s.Dimensions[d] = pick("eu", "us", "eu", "a/b", "")
		}
	}
	return s
}

// compileBatch compiles the schema in proto.
func compileBatch(t *testing.T) protoreflect.MessageDescriptor {
	t.Helper()
	compiler := protocompile.Compiler{
		Resolver: protocompile.WithStandardImports(&protocompile.SourceResolver{ImportPaths: []string{"../../proto"}}),
	}
	files, err := compiler.Compile(t.Context(), "crest/v1/events.proto")
	if err != nil {
		t.Fatal(err)
	}
	return files[0].Messages().ByName("Batch")
}

// marshalBatch writes samples with a protobuf library that knows the schema alone.
func marshalBatch(t *testing.T, descriptor protoreflect.MessageDescriptor, samples []sample) []byte {
	t.Helper()
	batch := dynamicpb.NewMessage(descriptor)
	events := batch.Mutable(descriptor.Fields().ByName("events")).List()
	for _, s := range samples {
		event := events.AppendMutable().Message()
		set := func(name protoreflect.Name, v any) {
			event.Set(event.Descriptor().Fields().ByName(name), protoreflect.ValueOf(v))
		}
		set("id", s.ID)
		set("type", s.Type)
		set("item", s.Item)
		set("ts_ms", s.TimeMillis)
		set("session", s.Session)
		set("weight", s.Weight)
		for k, v := range s.Dimensions {
			event.Mutable(event.Descriptor().Fields().ByName("dimensions")).Map().Set(
				protoreflect.ValueOf(k).MapKey(), protoreflect.ValueOf(v))
		}
	}
	body, err := proto.Marshal(batch)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// TestFormatsAgree sends the same events in all formats: they must have the same result, refusals included.
func TestFormatsAgree(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	descriptor := compileBatch(t)
	for round := range 50 {
		samples := make([]sample, 1+rng.IntN(40))
		var lines, pretty []string
		for i := range samples {
			samples[i] = randomSample(rng, round*100+i)
			line, err := json.Marshal(samples[i])
			if err != nil {
				t.Fatal(err)
			}
			indented, _ := json.MarshalIndent(samples[i], "", "\t")
			lines, pretty = append(lines, string(line)), append(pretty, string(indented))
		}
		requests := []Request{
			{Body: []byte("[" + strings.Join(lines, ",") + "]")},
			{Body: []byte("[" + strings.Join(pretty, " ,\n") + "]")},
			{Body: []byte(strings.Join(lines, "\r\n")), Format: FormatNDJSON},
			{Body: marshalBatch(t, descriptor, samples), Format: FormatProtobuf},
		}
		var wantResult, wantEvents string
		for i, req := range requests {
			in, log := newTestIngester(t, testConfig())
			result, err := in.Ingest(t.Context(), req)
			if err != nil {
				t.Fatal(err)
			}
			slices.Sort(result.Ignored)
			gotResult := describe(result)
			gotEvents := fmt.Sprintf("%+v", log.events)
			if i == 0 {
				wantResult, wantEvents = gotResult, gotEvents
				if result.Accepted+result.Rejected != len(samples) {
					t.Fatalf("%d events became %s", len(samples), gotResult)
				}
			}
			if gotResult != wantResult {
				t.Errorf("request %d:\n%s\nwant\n%s", i, gotResult, wantResult)
			}
			if gotEvents != wantEvents {
				t.Errorf("request %d:\n%s\nwant\n%s", i, gotEvents, wantEvents)
			}
		}
	}
}

func describe(r Result) string {
	var s strings.Builder
	fmt.Fprintf(&s, "%d accepted, %d rejected, %d clamped, ignored %q", r.Accepted, r.Rejected, r.Clamped, r.Ignored)
	for _, x := range r.Rejections {
		fmt.Fprintf(&s, "\n%d %v", x.Index, x.Reason)
	}
	return s.String()
}
