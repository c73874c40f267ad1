package ingest

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"crest"
	"crest/proto/eventpb"
)

// message returns an event with fields that eventpb does not write, or not so.
func message(parts ...[]byte) []byte {
	var b []byte
	for _, p := range parts {
		b = append(b, p...)
	}
	return b
}

func textField(number protowire.Number, s string) []byte {
	return protowire.AppendString(protowire.AppendTag(nil, number, protowire.BytesType), s)
}

func numberField(number protowire.Number, n uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(nil, number, protowire.VarintType), n)
}

func TestProtobufEvents(t *testing.T) {
	video, item := textField(2, "video"), textField(3, "v")
	uuid := "0123456789abcdef"
	dimension := func(name, value string) []byte {
		return textField(7, string(message(textField(1, name), textField(2, value))))
	}
	tests := []struct {
		name  string
		event []byte
		want  crest.Event // compared but for a generated id
	}{
		{"least", message(video, item), crest.Event{Type: "video", Item: "v", Time: receivedMillis, Weight: 1}},
		{
			"all", message(textField(8, uuid), video, item, numberField(4, uint64(receivedMillis-5)), numberField(6, 7), dimension("region", "eu")),
			crest.Event{
				ID: crest.EventID([]byte(uuid)), Type: "video", Item: "v", Time: receivedMillis - 5, Weight: 7,
				Dimensions: crest.Dimensions{1: "eu"},
			},
		},
		{"uuid wins", message(textField(1, "x"), textField(8, uuid), video, item), crest.Event{ID: crest.EventID([]byte(uuid)), Type: "video", Item: "v", Time: receivedMillis, Weight: 1}},
		{"the last of a field counts", message(video, textField(3, "other"), item), crest.Event{Type: "video", Item: "v", Time: receivedMillis, Weight: 1}},
		{
			"unknown fields and kinds", message(numberField(99, 1), textField(50, "x"), protowire.AppendFixed32(protowire.AppendTag(nil, 3, protowire.Fixed32Type), 1),
				protowire.AppendTag(nil, 9, protowire.StartGroupType), numberField(1, 1), protowire.AppendTag(nil, 9, protowire.EndGroupType), numberField(2, 5), video, item),
			crest.Event{Type: "video", Item: "v", Time: receivedMillis, Weight: 1},
		},
		{"unknown dimension", message(video, item, dimension("colour", "red")), crest.Event{Type: "video", Item: "v", Time: receivedMillis, Weight: 1}},
		{"dimension back to front", message(video, item, textField(7, string(message(textField(2, "eu"), numberField(3, 1), textField(1, "region"))))), crest.Event{
			Type: "video", Item: "v", Time: receivedMillis, Weight: 1, Dimensions: crest.Dimensions{1: "eu"},
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			in, log := newTestIngester(t, testConfig())
			result, err := in.Ingest(t.Context(), Request{Body: textField(1, string(test.event)), Format: FormatProtobuf})
			if err != nil || result.Accepted != 1 {
				t.Fatalf("got %s, %v", describe(result), err)
			}
			got := log.events[0]
			if got.Generated {
				got.ID, got.Generated = crest.EventID{}, false
			}
			if got != test.want {
				t.Errorf("got  %+v\nwant %+v", got, test.want)
			}
		})
	}
}

func TestRefusedProtobufEvents(t *testing.T) {
	video, item := textField(2, "video"), textField(3, "v")
	tests := []struct {
		name  string
		event []byte
		code  crest.Code
		field string
	}{
		{"empty", nil, crest.CodeMissingField, "type"},
		{"not UTF-8", message(video, textField(3, "\xff")), crest.CodeInvalidUTF8, "item"},
		{"session not UTF-8", message(video, item, textField(5, "\xff")), crest.CodeInvalidUTF8, "session"},
		{"item of 1 MB", message(video, textField(3, strings.Repeat("x", 1<<20))), crest.CodeTooLong, "item"},
		{"short uuid", message(video, item, textField(8, "123")), crest.CodeOutOfRange, "uuid"},
		{"long uuid", message(video, item, textField(8, strings.Repeat("x", 17))), crest.CodeOutOfRange, "uuid"},
		{"negative weight", message(video, item, numberField(6, 1<<64-5)), crest.CodeOutOfRange, "weight"},
		{"weight of 2^32 + 1", message(video, item, numberField(6, 1<<32+1)), crest.CodeOutOfRange, "weight"},
		{"before the epoch", message(video, item, numberField(4, 1<<64-1)), crest.CodeTooOld, "ts"},
		{"the end of time", message(video, item, numberField(4, 1<<63-1)), crest.CodeTooFarAhead, "ts"},
		{"the beginning of time", message(video, item, numberField(4, 1<<63)), crest.CodeTooOld, "ts"},
		{"cut off in a tag", message(video, item, []byte{0xff}), crest.CodeMalformed, ""},
		{"cut off in text", message(video, item, []byte{0x0a, 5, 'a'}), crest.CodeMalformed, ""},
		{"cut off in a number", message(video, item, []byte{0x20, 0xff}), crest.CodeMalformed, ""},
		{"cut off in an unknown field", message(video, item, []byte{0x4d, 1}), crest.CodeMalformed, ""},
		{"field number zero", message(video, item, []byte{0x02, 0}), crest.CodeMalformed, ""},
		{"dimension cut off", message(video, item, textField(7, "\x0a\x09r")), crest.CodeMalformed, "dimensions"},
		{"dimension with a bad tag", message(video, item, textField(7, "\xff")), crest.CodeMalformed, "dimensions"},
		{"unlisted value", message(video, item, textField(7, string(message(textField(1, "region"), textField(2, "mars"))))), crest.CodeUnknownValue, "region"},
	}
	good := eventpb.AppendEvent(nil, &eventpb.Event{Type: "video", Item: "good"})
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			in, log := newTestIngester(t, testConfig())
			body := message(good, textField(1, string(test.event)), good)
			result, err := in.Ingest(t.Context(), Request{Body: body, Format: FormatProtobuf})
			if err != nil || result.Accepted != 2 || result.Rejected != 1 || len(log.events) != 2 {
				t.Fatalf("got %s, %v", describe(result), err)
			}
			if r := result.Rejections[0]; r.Index != 1 || r.Reason.Code != test.code || r.Reason.Field != test.field {
				t.Errorf("got %d: %v, want %s of %q", r.Index, r.Reason, test.code, test.field)
			}
		})
	}
}

func TestUnknownFieldsOfABatch(t *testing.T) {
	in, log := newTestIngester(t, testConfig())
	body := message(numberField(1, 3), textField(2, "x"), eventpb.AppendEvent(nil, &eventpb.Event{Type: "video", Item: "v"}), numberField(77, 1))
	result, err := in.Ingest(t.Context(), Request{Body: body, Format: FormatProtobuf})
	if err != nil || result.Accepted != 1 || len(log.events) != 1 {
		t.Errorf("got %s, %v", describe(result), err)
	}
}
