package ingest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zeebo/xxh3"

	"crest"
	"crest/internal/config"
)

// one returns the event that a body's only event becomes.
func one(t *testing.T, body string) crest.Event {
	t.Helper()
	in, log := newTestIngester(t, testConfig())
	result, err := in.Ingest(t.Context(), Request{Body: []byte(body)})
	if err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	if result.Accepted != 1 || len(log.events) != 1 {
		t.Fatalf("%s: %+v", body, result)
	}
	return log.events[0]
}

func TestEventFields(t *testing.T) {
	base := crest.Event{Type: "video", Item: "v", Time: receivedMillis, Weight: 1}
	with := func(change func(*crest.Event)) crest.Event {
		ev := base
		change(&ev)
		return ev
	}
	uuid := crest.ParseEventID("01234567-89ab-cdef-0123-456789abcdef")
	tests := []struct {
		name string
		body string
		want crest.Event
	}{
		{"least", `{"type":"video","item":"v"}`, base},
		{"white space", " \r\n{ \"type\" : \"video\" ,\t\"item\":\"v\" }\n", base},
		{"byte order mark", "\ufeff{\"type\":\"video\",\"item\":\"v\"}", base},
		{"null is absent", `{"type":"video","item":"v","id":null,"ts":null,"session":null,"weight":null,"category":null,"dimensions":null}`, base},
		{"empty is absent", `{"type":"video","item":"v","id":"","session":"","category":"","dimensions":{"region":""}}`, base},
		{"unknown fields are ignored", `{"type":"video","item":"v","x":[1,{"y":"]"}],"dimensions":{"z":3}}`, base},
		{"weight", `{"type":"video","item":"v","weight":12}`, with(func(e *crest.Event) { e.Weight = 12 })},
		{"largest weight", `{"type":"video","item":"v","weight":1000000}`, with(func(e *crest.Event) { e.Weight = 1_000_000 })},
		{"weight as a float", `{"type":"video","item":"v","weight":3.0}`, with(func(e *crest.Event) { e.Weight = 3 })},
		{"weight with an exponent", `{"type":"video","item":"v","weight":2e3}`, with(func(e *crest.Event) { e.Weight = 2000 })},
		{"milliseconds", `{"type":"video","item":"v","ts":1796035319123}`, with(func(e *crest.Event) { e.Time -= 877 })},
		{"milliseconds by name", `{"type":"video","item":"v","ts_ms":1796035319123}`, with(func(e *crest.Event) { e.Time -= 877 })},
		{"seconds", `{"type":"video","item":"v","ts":1796035319}`, with(func(e *crest.Event) { e.Time -= 1000 })},
		{"seconds with a fraction", `{"type":"video","item":"v","ts":1796035319.123}`, with(func(e *crest.Event) { e.Time -= 877 })},
		{"RFC 3339", `{"type":"video","item":"v","ts":"2026-11-30T11:41:59.123+01:00"}`, with(func(e *crest.Event) { e.Time -= 877 })},
		{"oldest", `{"type":"video","item":"v","ts":"2026-11-27T10:42:00Z"}`, with(func(e *crest.Event) { e.Time = e.Time.Add(-crest.MaxAge) })},
		{"a little ahead is now", `{"type":"video","item":"v","ts":1796035325000}`, base},
		{"session", `{"type":"video","item":"v","session":"s1"}`, with(func(e *crest.Event) { e.Session = xxh3.HashString("s1") })},
		{"UUID", `{"type":"video","item":"v","id":"01234567-89AB-cdef-0123-456789abcdef"}`, with(func(e *crest.Event) { e.ID = uuid })},
		{"id", `{"type":"video","item":"v","id":"tab-1/7"}`, with(func(e *crest.Event) { e.ID = crest.ParseEventID("tab-1/7") })},
		{
			"dimensions at the top", `{"type":"video","item":"v","category":"sports","region":"eu"}`,
			with(func(e *crest.Event) { e.Dimensions = crest.Dimensions{"sports", "eu"} }),
		},
		{
			"dimensions apart", `{"type":"video","item":"v","dimensions":{"region":"us"},"category":"sports"}`,
			with(func(e *crest.Event) { e.Dimensions = crest.Dimensions{"sports", "us"} }),
		},
		{"escapes", `{"typ\u0065":"video","item":"\u0061\"\\\/\ud83d\ude02"}`, with(func(e *crest.Event) { e.Item = `a"\/😂` })},
		{"braces in text", `{"type":"video","item":"}],{[\""}`, with(func(e *crest.Event) { e.Item = `}],{["` })},
		{"item of the longest kind", `{"type":"video","item":"` + strings.Repeat("x", 256) + `"}`, with(func(e *crest.Event) { e.Item = strings.Repeat("x", 256) })},
		{"hashtag", `{"type":"hashtag","item":"#McGregor"}`, with(func(e *crest.Event) { e.Type, e.Item, e.Spelling = "hashtag", "mcgregor", "#McGregor" })},
		{"hashtag in its normal form", `{"type":"hashtag","item":"😂"}`, with(func(e *crest.Event) { e.Type, e.Item = "hashtag", "😂" })},
		{"item by its type's name", `{"article_id":"a1","type":"article"}`, with(func(e *crest.Event) { e.Type, e.Item = "article", "a1" })},
		{"item by its usual name", `{"item":"a1","type":"article"}`, with(func(e *crest.Event) { e.Type, e.Item = "article", "a1" })},
		{"another type's name of the item is no field", `{"type":"video","item":"v","article_id":"a1"}`, base},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := one(t, test.body)
			if test.want.ID == (crest.EventID{}) {
				if !got.Generated || got.ID == (crest.EventID{}) {
					t.Errorf("no id was generated: %+v", got)
				}
				got.ID, got.Generated = crest.EventID{}, false
			}
			if got != test.want {
				t.Errorf("got  %+v\nwant %+v", got, test.want)
			}
		})
	}
}

// TestRefusedEvents puts each bad event between two good ones, and looks that these are counted.
func TestRefusedEvents(t *testing.T) {
	tests := []struct {
		name  string
		event string
		code  crest.Code
		field string
	}{
		{"nothing", ``, crest.CodeMalformed, ""},
		{"number", `17`, crest.CodeMalformed, ""},
		{"null", `null`, crest.CodeMalformed, ""},
		{"array", `["video"]`, crest.CodeMalformed, ""},
		{"bare words", `video v`, crest.CodeMalformed, ""},
		{"missing value", `{"type":}`, crest.CodeMalformed, ""},
		{"trailing comma", `{"type":"video","item":"v",}`, crest.CodeMalformed, ""},
		{"two events without a comma", `{"type":"video","item":"v"} {"type":"video","item":"v"}`, crest.CodeMalformed, ""},
		{"unknown escape", `{"type":"video","item":"\x41"}`, crest.CodeMalformed, ""},
		{"short escape", `{"type":"video","item":"\u12"}`, crest.CodeMalformed, ""},
		{"half a surrogate pair", `{"type":"video","item":"\ud83d!"}`, crest.CodeInvalidUTF8, ""},
		{"wrong half of a surrogate pair", `{"type":"video","item":"\ud83d\ud83d"}`, crest.CodeInvalidUTF8, ""},
		{"too deep", `{"type":"video","item":"v","x":` + strings.Repeat("[", 20) + strings.Repeat("]", 20) + `}`, crest.CodeMalformed, ""},
		{"too deep to match", `{"x":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`, crest.CodeMalformed, ""},
		{"empty object", `{}`, crest.CodeMissingField, "type"},
		{"no item", `{"type":"video"}`, crest.CodeMissingField, "item"},
		{"empty item", `{"type":"video","item":""}`, crest.CodeMissingField, "item"},
		{"null item", `{"type":"video","item":null}`, crest.CodeMissingField, "item"},
		{"no item of a type with its own name", `{"type":"article"}`, crest.CodeMissingField, "article_id"},
		{"no type", `{"item":"v"}`, crest.CodeMissingField, "type"},
		{"unknown type", `{"type":"film","item":"v"}`, crest.CodeUnknownType, "type"},
		{"number for an item", `{"type":"video","item":5}`, crest.CodeMalformed, "item"},
		{"object for an item", `{"type":"video","item":{}}`, crest.CodeMalformed, "item"},
		{"item twice", `{"type":"video","item":"v","item":"v"}`, crest.CodeMalformed, "item"},
		{"item twice by two names", `{"type":"article","item":"v","article_id":"v"}`, crest.CodeMalformed, "article_id"},
		{"time by two names", `{"type":"video","item":"v","ts":1796035319,"ts_ms":1796035319123}`, crest.CodeMalformed, "ts_ms"},
		{"time by two names, the other way round", `{"type":"video","item":"v","ts_ms":1796035319123,"ts":1796035319}`, crest.CodeMalformed, "ts"},
		{"time twice", `{"type":"video","item":"v","ts":1796035319,"ts":1796035319}`, crest.CodeMalformed, "ts"},
		{"dimension twice", `{"type":"video","item":"v","region":"eu","dimensions":{"region":"eu"}}`, crest.CodeMalformed, "region"},
		{"item not UTF-8", "{\"type\":\"video\",\"item\":\"a\xff\"}", crest.CodeInvalidUTF8, "item"},
		{"item with a control character", `{"type":"video","item":"a\u0000"}`, crest.CodeControlChar, "item"},
		{"item with a C1 control character", `{"type":"video","item":"a\u0085"}`, crest.CodeControlChar, "item"},
		{"item too long", `{"type":"video","item":"` + strings.Repeat("x", 257) + `"}`, crest.CodeTooLong, "item"},
		{"id of 20 kB", `{"type":"video","item":"v","id":"` + strings.Repeat("x", 20_000) + `"}`, crest.CodeTooLong, "id"},
		{"event of 40 kB", `{"type":"video","item":"v","id":"` + strings.Repeat("x", 40_000) + `"}`, crest.CodeTooLong, ""},
		{"id not UTF-8", "{\"type\":\"video\",\"item\":\"v\",\"id\":\"\xc3\"}", crest.CodeInvalidUTF8, "id"},
		{"number for an id", `{"type":"video","item":"v","id":7}`, crest.CodeMalformed, "id"},
		{"session too long", `{"type":"video","item":"v","session":"` + strings.Repeat("x", 257) + `"}`, crest.CodeTooLong, "session"},
		{"negative weight", `{"type":"video","item":"v","weight":-1}`, crest.CodeOutOfRange, "weight"},
		{"no weight", `{"type":"video","item":"v","weight":0}`, crest.CodeOutOfRange, "weight"},
		{"fraction of a weight", `{"type":"video","item":"v","weight":1.5}`, crest.CodeOutOfRange, "weight"},
		{"too heavy", `{"type":"video","item":"v","weight":1000001}`, crest.CodeOutOfRange, "weight"},
		{"endless weight", `{"type":"video","item":"v","weight":1e999}`, crest.CodeOutOfRange, "weight"},
		{"endless negative weight", `{"type":"video","item":"v","weight":-1e999}`, crest.CodeOutOfRange, "weight"},
		{"weight of 2^64 + 1", `{"type":"video","item":"v","weight":18446744073709551617}`, crest.CodeOutOfRange, "weight"},
		{"weight that is not a number", `{"type":"video","item":"v","weight":NaN}`, crest.CodeMalformed, "weight"},
		{"weight as text", `{"type":"video","item":"v","weight":"1"}`, crest.CodeMalformed, "weight"},
		{"weight with a zero before it", `{"type":"video","item":"v","weight":01}`, crest.CodeMalformed, "weight"},
		{"truth for a weight", `{"type":"video","item":"v","weight":true}`, crest.CodeMalformed, "weight"},
		{"time that is not a number", `{"type":"video","item":"v","ts":NaN}`, crest.CodeMalformed, "ts"},
		{"time that is an endless number", `{"type":"video","item":"v","ts":Inf}`, crest.CodeMalformed, "ts"},
		{"time as text that is no time", `{"type":"video","item":"v","ts":"NaN"}`, crest.CodeMalformed, "ts"},
		{"time without a zone", `{"type":"video","item":"v","ts":"2026-11-30T10:42:00"}`, crest.CodeMalformed, "ts"},
		{"truth for a time", `{"type":"video","item":"v","ts":false}`, crest.CodeMalformed, "ts"},
		{"too old", `{"type":"video","item":"v","ts":"2026-11-27T10:41:59.999Z"}`, crest.CodeTooOld, "ts"},
		{"before the epoch", `{"type":"video","item":"v","ts":-1}`, crest.CodeTooOld, "ts"},
		{"before the universe", `{"type":"video","item":"v","ts":-1e300}`, crest.CodeTooOld, "ts"},
		{"seconds as milliseconds", `{"type":"video","item":"v","ts_ms":1796035319}`, crest.CodeTooOld, "ts"},
		{"too far ahead", `{"type":"video","item":"v","ts":1796035325001}`, crest.CodeTooFarAhead, "ts"},
		{"microseconds", `{"type":"video","item":"v","ts":1796035319123456}`, crest.CodeTooFarAhead, "ts"},
		{"nanoseconds", `{"type":"video","item":"v","ts":1796035319123456789}`, crest.CodeTooFarAhead, "ts"},
		{"after the universe", `{"type":"video","item":"v","ts":1e300}`, crest.CodeTooFarAhead, "ts"},
		{"dimensions as text", `{"type":"video","item":"v","dimensions":"eu"}`, crest.CodeMalformed, "dimensions"},
		{"number for a dimension", `{"type":"video","item":"v","category":1}`, crest.CodeMalformed, "category"},
		{"unlisted value", `{"type":"video","item":"v","region":"mars"}`, crest.CodeUnknownValue, "region"},
		{"value with a separator", `{"type":"video","item":"v","category":"a/b"}`, crest.CodeOutOfRange, "category"},
		{"value too long", `{"type":"video","item":"v","category":"` + strings.Repeat("x", 65) + `"}`, crest.CodeTooLong, "category"},
		{"nothing but a hash sign", `{"type":"hashtag","item":"＃"}`, crest.CodeEmptyAfterNormalization, "item"},
		{"hashtag too long after normalisation", `{"type":"hashtag","item":"` + strings.Repeat("ﷺ", 80) + `"}`, crest.CodeTooLong, "item"},
	}
	good := `{"type":"video","item":"good"}`
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			in, log := newTestIngester(t, testConfig())
			bodies := map[Format]string{
				FormatJSON: "[" + good + "," + test.event + "," + good + "]",
			}
			if test.event != "" {
				bodies[FormatNDJSON] = good + "\n" + test.event + "\n" + good
			}
			for format, body := range bodies {
				log.events = nil
				result, err := in.Ingest(t.Context(), Request{Body: []byte(body), Format: format})
				if err != nil {
					t.Fatal(err)
				}
				if result.Accepted != 2 || result.Rejected != 1 || len(result.Rejections) != 1 || len(log.events) != 2 {
					t.Fatalf("got %+v", result)
				}
				r := result.Rejections[0]
				if r.Index != 1 || r.Reason.Code != test.code || r.Reason.Field != test.field {
					t.Errorf("got index %d: %s %s, want %s of %q", r.Index, r.Reason.Code, r.Reason, test.code, test.field)
				}
				if len(r.Reason.Message) > 400 {
					t.Errorf("a message of %d bytes", len(r.Reason.Message))
				}
			}
		})
	}
}

// TestRefusedRequests gives bodies that can't be used, each of which holds an event that must not be counted.
func TestRefusedRequests(t *testing.T) {
	event := `{"type":"video","item":"v"}`
	many := strings.Repeat(event+",", 1000) + event
	tests := []struct {
		name    string
		format  Format
		body    string
		code    crest.Code
		message string
	}{
		{"empty", FormatJSON, "", crest.CodeEmptyBody, "empty"},
		{"blank", FormatJSON, " \n\t", crest.CodeEmptyBody, "empty"},
		{"byte order mark", FormatJSON, "\ufeff", crest.CodeEmptyBody, "empty"},
		{"no lines", FormatNDJSON, "", crest.CodeEmptyBody, "empty"},
		{"blank lines", FormatNDJSON, "\n\n", crest.CodeEmptyBody, "empty"},
		{"no protobuf", FormatProtobuf, "", crest.CodeEmptyBody, "empty"},
		{"text", FormatJSON, "hello", crest.CodeMalformed, "byte 0"},
		{"number", FormatJSON, " 5", crest.CodeMalformed, "byte 1"},
		{"object cut off", FormatJSON, event[:len(event)-1], crest.CodeMalformed, "byte 0"},
		{"array cut off", FormatJSON, "[" + event, crest.CodeMalformed, "byte 1"},
		{"array cut off after a comma", FormatJSON, "[" + event + ", ", crest.CodeMalformed, "byte 29"},
		{"array cut off in text", FormatJSON, "[" + event + `,{"type":"vid`, crest.CodeMalformed, "byte 29"},
		{"wrong bracket", FormatJSON, "[" + event + `,{"type":"video"]]`, crest.CodeMalformed, "byte 44"},
		{"bracket too many", FormatJSON, "[" + event + "}]", crest.CodeMalformed, "byte 28"},
		{"something after the array", FormatJSON, "[" + event + "] x", crest.CodeMalformed, "byte 30"},
		{"two arrays", FormatJSON, "[" + event + "][" + event + "]", crest.CodeMalformed, "byte 29"},
		{"too many in an array", FormatJSON, "[" + many + "]", crest.CodeTooManyEvents, "more than 1000 events"},
		{"too many lines", FormatNDJSON, strings.ReplaceAll(many, ",{", "\n{"), crest.CodeTooManyEvents, "more than 1000 events"},
		{"too many lines as JSON", FormatJSON, strings.ReplaceAll(many, ",{", "\n{"), crest.CodeTooManyEvents, "more than 1000 events"},
		{"too many messages", FormatProtobuf, strings.Repeat("\x0a\x00", 1001), crest.CodeTooManyEvents, "more than 1000 events"},
		{"message cut off", FormatProtobuf, "\x0a\x00\x0a\x05abc", crest.CodeMalformed, "byte 2"},
		{"tag cut off", FormatProtobuf, "\x0a\x00\xff", crest.CodeMalformed, "byte 2"},
		{"length beyond reason", FormatProtobuf, "\x0a\x00\x0a\xff\xff\xff\xff\xff\xff\xff\xff\x7f", crest.CodeMalformed, "byte 2"},
		{"group without an end", FormatProtobuf, "\x0a\x00\x1b", crest.CodeMalformed, "byte 2"},
		{"JSON as protobuf", FormatProtobuf, event, crest.CodeMalformed, "byte 0"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			in, log := newTestIngester(t, testConfig())
			result, err := in.Ingest(t.Context(), Request{Body: []byte(test.body), Format: test.format})
			if crest.CodeOf(err) != test.code || !strings.Contains(fmt.Sprint(err), test.message) {
				t.Errorf("got %v, want %s with %q", err, test.code, test.message)
			}
			if len(log.events) != 0 || result.Accepted != 0 {
				t.Errorf("counted %d events", len(log.events))
			}
			good, err := in.Ingest(t.Context(), Request{Body: []byte(event)})
			if err != nil || good.Accepted != 1 || good.Rejected != 0 || len(log.events) != 1 {
				t.Errorf("a good request after it: %+v, %v", good, err)
			}
		})
	}
}

func TestEmptyArrayIsNoEvents(t *testing.T) {
	in, log := newTestIngester(t, testConfig())
	result, err := in.Ingest(t.Context(), Request{Body: []byte(" [ ] ")})
	if err != nil || result.Accepted != 0 || result.Rejected != 0 || len(log.durable) != 0 {
		t.Errorf("got %+v, %v", result, err)
	}
}

func TestJSONBodyMayBeLines(t *testing.T) {
	in, log := newTestIngester(t, testConfig())
	body := "{\"type\":\"video\",\"item\":\"a\"}\n\n{\"type\":\"video\"\n{\"type\":\"video\",\"item\":\"b\"}\r\n"
	result, err := in.Ingest(t.Context(), Request{Body: []byte(body)})
	if err != nil {
		t.Fatal(err)
	}
	if result.Accepted != 2 || result.Rejected != 1 || result.Rejections[0].Index != 1 {
		t.Errorf("got %+v", result)
	}
	items := []string{log.events[0].Item, log.events[1].Item}
	if slices.Sort(items); !slices.Equal(items, []string{"a", "b"}) {
		t.Errorf("items %v", items)
	}
}

func TestOnlyTheFirstRejectionsAreListed(t *testing.T) {
	in, _ := newTestIngester(t, testConfig())
	body := strings.Repeat("{}\n", 150) + `{"type":"film","item":"v"}` + "\n" + `{"type":"video","item":"v"}`
	result, err := in.Ingest(t.Context(), Request{Body: []byte(body), Format: FormatNDJSON})
	if err != nil {
		t.Fatal(err)
	}
	if result.Accepted != 1 || result.Rejected != 151 || len(result.Rejections) != MaxRejections {
		t.Errorf("accepted %d, rejected %d, listed %d", result.Accepted, result.Rejected, len(result.Rejections))
	}
	if last := result.Rejections[MaxRejections-1]; last.Index != MaxRejections-1 {
		t.Errorf("last listed has index %d", last.Index)
	}
}

func TestIgnoredFieldsAreNamed(t *testing.T) {
	in, _ := newTestIngester(t, testConfig())
	event := `{"type":"video","item":"v","wieght":2,"dimensions":{"colour":"red"},"article_id":"a","` + strings.Repeat("é", 100) + `":1}`
	body := []byte(event + "\n" + event)
	result, err := in.Ingest(t.Context(), Request{Body: body, Format: FormatNDJSON})
	if err != nil {
		t.Fatal(err)
	}
	clear(body) // what the result says must not alias it
	want := []string{"wieght", "dimensions.colour", strings.Repeat("é", 32) + "…", "article_id"}
	if !slices.Equal(result.Ignored, want) {
		t.Errorf("ignored %q, want %q", result.Ignored, want)
	}
	var many strings.Builder
	many.WriteString(`{"type":"video","item":"v"`)
	for i := range 30 {
		fmt.Fprintf(&many, `,"f%d":1`, i)
	}
	many.WriteString("}")
	result, err = in.Ingest(t.Context(), Request{Body: []byte(many.String())})
	if err != nil || result.Accepted != 1 || len(result.Ignored) != maxIgnored {
		t.Errorf("got %+v, %v", result, err)
	}
}

func TestDefaultType(t *testing.T) {
	in, log := newTestIngester(t, testConfig())
	if _, err := in.Ingest(t.Context(), Request{Body: []byte(`{"article_id":"a1"}`), Type: "article"}); err != nil {
		t.Fatal(err)
	}
	cfg := testConfig()
	cfg.Types = cfg.Types[:1]
	only, onlyLog := newTestIngester(t, cfg)
	if _, err := only.Ingest(t.Context(), Request{Body: []byte(`{"item":"v"}`)}); err != nil {
		t.Fatal(err)
	}
	if log.events[0].Type != "article" || log.events[0].Item != "a1" || onlyLog.events[0].Type != "video" {
		t.Errorf("got %+v and %+v", log.events[0], onlyLog.events[0])
	}
}

func TestSingle(t *testing.T) {
	in, log := newTestIngester(t, testConfig())
	event := `{"type":"video","item":"v"}`
	if _, err := in.Ingest(t.Context(), Request{Body: []byte(event), Single: true}); err != nil {
		t.Fatal(err)
	}
	for _, body := range []string{"[" + event + "," + event + "]", event + "\n" + event} {
		_, err := in.Ingest(t.Context(), Request{Body: []byte(body), Single: true})
		if crest.CodeOf(err) != crest.CodeMalformed || len(log.events) != 1 {
			t.Errorf("%s: %v", body, err)
		}
	}
}

func TestAcknowledgement(t *testing.T) {
	in, log := newTestIngester(t, testConfig())
	for _, ack := range []config.Ack{"", config.AckEnqueued, config.AckLogged} {
		if _, err := in.Ingest(t.Context(), Request{Body: []byte(`{"type":"video","item":"v"}`), Ack: ack}); err != nil {
			t.Fatal(err)
		}
	}
	if want := []bool{true, false, true}; !slices.Equal(log.durable, want) {
		t.Errorf("durable: %v, want %v", log.durable, want)
	}
}

func TestLogErrorsArePassedOn(t *testing.T) {
	in, log := newTestIngester(t, testConfig())
	for _, code := range []crest.Code{crest.CodeBehind, crest.CodeLogUnavailable, crest.CodeShuttingDown} {
		log.err = crest.Errorf(code, "", "no")
		result, err := in.Ingest(t.Context(), Request{Body: []byte(`[{"type":"video","item":"v"},{}]`)})
		if crest.CodeOf(err) != code || result.Accepted != 0 || result.Rejected != 0 {
			t.Errorf("got %+v, %v; want %s", result, err, code)
		}
	}
	log.err = nil
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := in.Ingest(ctx, Request{Body: []byte(`{"type":"video","item":"v"}`)}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestObserver(t *testing.T) {
	var got []string
	cfg := testConfig()
	log := &fakeLog{}
	in, err := New(cfg, log, func() time.Time { return received }, Observer{
		Accepted: func(events, clamped int) { got = append(got, fmt.Sprintf("accepted %d clamped %d", events, clamped)) },
		Rejected: func(code crest.Code, events int) { got = append(got, fmt.Sprintf("rejected %s %d", code, events)) },
		Failed:   func(code crest.Code) { got = append(got, fmt.Sprintf("failed %s", code)) },
	})
	if err != nil {
		t.Fatal(err)
	}
	log.schema = mustSchema(t, cfg)
	body := `[{"type":"video","item":"v"},{},{},{"type":"film","item":"v"},{"type":"video","item":"v","ts":1796035321}]`
	for _, b := range []string{body, "", "[{}]"} {
		_, _ = in.Ingest(t.Context(), Request{Body: []byte(b)})
	}
	want := []string{
		"accepted 2 clamped 1", "rejected missing_field 2", "rejected unknown_type 1",
		"failed empty_body", "rejected missing_field 1",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestConcurrentRequests looks that requests which share memory one after the other don't see each other's events.
func TestConcurrentRequests(t *testing.T) {
	in, log := newTestIngester(t, testConfig())
	const workers, requests, events = 8, 30, 40
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for r := range requests {
				var body strings.Builder
				for e := range events {
					fmt.Fprintf(&body, "{\"type\":\"hashtag\",\"item\":\"#Tag-%d-%d-%d\",\"session\":\"%d\"}\n", w, r, e, e)
				}
				result, err := in.Ingest(t.Context(), Request{Body: []byte(body.String()), Format: FormatNDJSON})
				if err != nil || result.Accepted != events || result.Rejected != 0 {
					t.Errorf("got %+v, %v", result, err)
				}
			}
		})
	}
	wg.Wait()
	seen := map[string]bool{}
	ids := map[crest.EventID]bool{}
	for _, ev := range log.events {
		seen[ev.Item] = true
		ids[ev.ID] = true
		if ev.Item != strings.ToLower(strings.TrimPrefix(ev.Spelling, "#")) {
			t.Fatalf("item %q is spelled %q", ev.Item, ev.Spelling)
		}
	}
	if n := workers * requests * events; len(log.events) != n || len(seen) != n || len(ids) != n {
		t.Errorf("%d events, %d items, %d ids; want %d of each", len(log.events), len(seen), len(ids), n)
	}
}

// TestLargeRequestIsSeveralRecords sends more to one partition than a record should hold.
func TestLargeRequestIsSeveralRecords(t *testing.T) {
	cfg := testConfig()
	cfg.Counting.Partitions = 1
	cfg.Ingest.MaxEvents = 100_000
	in, log := newTestIngester(t, cfg)
	line := `{"type":"video","item":"` + strings.Repeat("x", 256) + `"}` + "\n"
	const n = 40_000
	result, err := in.Ingest(t.Context(), Request{Body: []byte(strings.Repeat(line, n)), Format: FormatNDJSON})
	if err != nil || result.Accepted != n || len(log.events) != n {
		t.Fatalf("accepted %d of %d, logged %d: %v", result.Accepted, n, len(log.events), err)
	}
	if log.records != 3 {
		t.Errorf("%d records, want 3", log.records)
	}
}

func TestNewChecksItsConfiguration(t *testing.T) {
	tests := []struct {
		field  string
		change func(*config.Config)
	}{
		{"types", func(c *config.Config) { c.Types = nil }},
		{"types.video.normalize", func(c *config.Config) { c.Types[0].Normalize = "film" }},
		{"counting.partitions", func(c *config.Config) { c.Counting.Partitions = 0 }},
		{"dimensions", func(c *config.Config) { c.Dimensions = make([]config.Dimension, 5) }},
		{"ingest.max_events", func(c *config.Config) { c.Ingest.MaxEvents = 0 }},
	}
	for _, test := range tests {
		cfg := testConfig()
		test.change(cfg)
		_, err := New(cfg, &fakeLog{}, time.Now, Observer{})
		if e, ok := errors.AsType[*crest.Error](err); !ok || e.Field != test.field {
			t.Errorf("got %v, want an error of %s", err, test.field)
		}
	}
}

func TestTwoTimesExcludeEachOther(t *testing.T) {
	in, _ := newTestIngester(t, testConfig())
	for event, want := range map[string]string{
		`{"type":"video","item":"v","ts":1796035319,"ts_ms":1796035319123}`: "exclude each other",
		`{"type":"video","item":"v","ts":1796035319,"ts":1796035319}`:       "given twice",
	} {
		result, err := in.Ingest(t.Context(), Request{Body: []byte(event)})
		if err != nil || len(result.Rejections) != 1 || !strings.Contains(result.Rejections[0].Reason.Message, want) {
			t.Errorf("%s: got %+v, %v; want a refusal with %q", event, result, err, want)
		}
	}
}
