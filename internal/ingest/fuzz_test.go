package ingest

import (
	"context"
	"testing"
	"time"
	"unicode/utf8"

	"crest"
	"crest/proto/eventpb"
)

// fuzzIngest looks at what must hold whatever the body is: no panic, every event accounted for, and nothing in the log
// that breaks a limit.
func fuzzIngest(t *testing.T, format Format, body []byte) {
	t.Helper()
	cfg := testConfig()
	log := &fakeLog{}
	in, err := New(cfg, log, func() time.Time { return received }, Observer{})
	if err != nil {
		t.Fatal(err)
	}
	log.schema = mustSchema(t, cfg)
	result, err := in.Ingest(context.Background(), Request{Body: body, Format: format})
	if err != nil {
		if crest.CodeOf(err) == crest.CodeInternal {
			t.Fatal(err)
		}
		result = Result{}
	}
	if result.Accepted != len(log.events) || len(log.wrong) != 0 {
		t.Fatalf("%d accepted, %d logged, %v", result.Accepted, len(log.events), log.wrong)
	}
	if len(result.Rejections) != min(result.Rejected, MaxRejections) {
		t.Fatalf("%d rejected, %d listed", result.Rejected, len(result.Rejections))
	}
	for i, r := range result.Rejections {
		if r.Reason == nil || r.Reason.Code == crest.CodeInternal || len(r.Reason.Message) > 1000 || i > 0 && r.Index <= result.Rejections[i-1].Index {
			t.Fatalf("rejection %d: %+v", i, r)
		}
	}
	for _, ev := range log.events {
		if ev.Item == "" || len(ev.Item) > crest.MaxItemBytes || !utf8.ValidString(ev.Item) || !utf8.ValidString(ev.Spelling) ||
			ev.Weight < 1 || ev.Weight > crest.MaxWeight || ev.Time > receivedMillis || ev.Time < receivedMillis.Add(-crest.MaxAge) ||
			log.schema.typeNamed(ev.Type) == nil {
			t.Fatalf("logged %+v", ev)
		}
		for _, v := range ev.Dimensions {
			if v != "" && crest.CheckName("", v, crest.MaxDimensionBytes) != nil {
				t.Fatalf("logged %+v", ev)
			}
		}
	}
}

func FuzzJSON(f *testing.F) {
	for _, seed := range []string{
		`{"type":"video","item":"v","ts":1796035319.5,"weight":2e0,"id":"x","session":"s"}`,
		`[{"type":"hashtag","item":"#\ud83d\ude02"},{"dimensions":{"region":"eu"}},null]`,
		"{\"type\":\"article\",\"article_id\":\"a\"}\n{\"x\":[{}]}\n",
		`[{"weight":NaN,"ts":"2026-11-30T10:42:00Z"}`, "\ufeff[", `{"item":"\u00`, `{"a":tru}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		fuzzIngest(t, FormatJSON, body)
		fuzzIngest(t, FormatNDJSON, body)
	})
}

func FuzzProtobuf(f *testing.F) {
	f.Add(eventpb.AppendBatch(nil, []eventpb.Event{
		{Type: "video", Item: "v", UUID: [16]byte{1}, TimeMillis: int64(receivedMillis), Session: "s", Weight: 3},
		{ID: "x", Type: "hashtag", Item: "#T", Dimensions: []eventpb.Dimension{{Name: "region", Value: "eu"}}},
	}))
	f.Add([]byte("\x0a\xff\xff\xff\xff\x0f"))
	f.Fuzz(func(t *testing.T, body []byte) { fuzzIngest(t, FormatProtobuf, body) })
}
