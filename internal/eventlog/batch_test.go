package eventlog

import (
	"bytes"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"crest"
)

var update = flag.Bool("update", false, "write golden files anew")

// everyShape returns events that use every flag, limit and table of the format.
func everyShape() []crest.Event {
	long := strings.Repeat("ä", crest.MaxItemBytes/2)
	return []crest.Event{
		{ID: crest.EventID{1}, Type: "video", Item: "dQw4w9WgXcQ", Time: 1_764_500_000_000, Weight: 1},
		{ID: crest.EventID{2}, Type: "hashtag", Item: "go", Spelling: "#Go", Time: 1_764_499_999_000, Session: 7, Weight: 2},
		{Generated: true, Type: "video", Item: "x", Time: 1_764_500_000_001, Session: 1<<64 - 1, Weight: crest.MaxWeight},
		{ID: crest.EventID{15: 9}, Type: "video", Item: long, Spelling: long, Time: -5, Weight: 1, Dimensions: crest.Dimensions{"sports", "eu"}},
		{Type: "hashtag", Item: "a", Time: maxTime, Weight: 1, Dimensions: crest.Dimensions{1: strings.Repeat("r", crest.MaxDimensionBytes)}},
		{Type: strings.Repeat("t", crest.MaxTypeBytes), Item: "b", Time: -maxTime, Weight: 3},
	}
}

func encode(tb testing.TB, dimensions []string, events []crest.Event) []byte {
	tb.Helper()
	var e Encoder
	e.Reset(dimensions)
	for i := range events {
		if err := e.Add(&events[i]); err != nil {
			tb.Fatalf("event %d: %v", i, err)
		}
	}
	if e.Len() != len(events) {
		tb.Fatalf("encoder counts %d events of %d", e.Len(), len(events))
	}
	return bytes.Clone(e.Bytes())
}

func decode(tb testing.TB, d *Decoder, payload []byte) []crest.Event {
	tb.Helper()
	if err := d.Reset(payload); err != nil {
		tb.Fatal(err)
	}
	var got []crest.Event
	ev := crest.Event{Spelling: "left over", Session: 99, Dimensions: crest.Dimensions{"left", "over", "from", "before"}}
	for d.Next(&ev) {
		got = append(got, ev)
	}
	if d.Err() != nil {
		tb.Fatal(d.Err())
	}
	return got
}

func TestBatchRoundTrip(t *testing.T) {
	dimensions := []string{"category", "region"}
	want := everyShape()
	d := NewDecoder([]string{"hashtag", "video"}, dimensions)
	got := decode(t, d, encode(t, dimensions, want))
	compare(t, got, want)
	if got := decode(t, d, encode(t, dimensions, nil)); len(got) != 0 {
		t.Fatalf("an empty batch gave %d events", len(got))
	}
}

func compare(tb testing.TB, got, want []crest.Event) {
	tb.Helper()
	if len(got) != len(want) {
		tb.Fatalf("%d events, want %d", len(got), len(want))
	}
	for i := range want {
		if got[i] != want[i] {
			tb.Fatalf("event %d:\n got %+v\nwant %+v", i, got[i], want[i])
		}
	}
}

func TestBatchOfManyTypesRoundTrips(t *testing.T) {
	var want []crest.Event // their names do not fit in the headroom
	for i := range 100 {
		want = append(want, crest.Event{Type: fmt.Sprintf("type-%02d", i), Item: "x", Weight: 1, Time: crest.Millis(i)})
	}
	compare(t, decode(t, NewDecoder(nil, nil), encode(t, nil, want)), want)
}

func TestBatchRandomRoundTrip(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	dimensions := []string{"a", "b", "c", "d"}
	types := []string{"video", "hashtag", "article"}
	text := func(limit int) string {
		b := make([]byte, r.IntN(limit+1))
		for i := range b {
			b[i] = byte('a' + r.IntN(26))
		}
		return string(b)
	}
	d := NewDecoder(types, dimensions)
	for range 200 {
		want := make([]crest.Event, r.IntN(50))
		for i := range want {
			e := &want[i]
			for j := range e.ID {
				e.ID[j] = byte(r.Uint32())
			}
			e.Generated = r.IntN(2) == 0
			e.Type = types[r.IntN(len(types))]
			e.Item = text(crest.MaxItemBytes-1) + "x"
			if r.IntN(2) == 0 {
				e.Spelling = text(crest.MaxItemBytes)
			}
			e.Time = crest.Millis(r.Int64N(2*maxTime+1) - maxTime)
			if r.IntN(2) == 0 {
				e.Session = r.Uint64()
			}
			for j := range e.Dimensions {
				if r.IntN(2) == 0 {
					e.Dimensions[j] = text(crest.MaxDimensionBytes)
				}
			}
			e.Weight = 1 + r.Uint32N(crest.MaxWeight)
		}
		compare(t, decode(t, d, encode(t, dimensions, want)), want)
	}
}

func TestDecoderResolvesNames(t *testing.T) {
	events := []crest.Event{
		{Type: "video", Item: "v", Weight: 1, Dimensions: crest.Dimensions{"sports", "eu", "app"}},
		{Type: "podcast", Item: "p", Weight: 1, Dimensions: crest.Dimensions{1: "us"}},
		{Type: "hashtag", Item: "h", Weight: 1},
	}
	payload := encode(t, []string{"category", "region", "client"}, events)
	d := NewDecoder([]string{"hashtag", "video"}, []string{"client", "new", "category"})
	if err := d.Reset(payload); err != nil {
		t.Fatal(err)
	}
	want := []struct {
		typ  int
		name string
		dims crest.Dimensions
	}{
		{1, "video", crest.Dimensions{"app", "", "sports"}},
		{-1, "podcast", crest.Dimensions{}},
		{0, "hashtag", crest.Dimensions{}},
	}
	var ev crest.Event
	for i, w := range want {
		if !d.Next(&ev) {
			t.Fatal(i, d.Err())
		}
		if d.Type() != w.typ || ev.Type != w.name || ev.Dimensions != w.dims {
			t.Errorf("event %d: type %d %q, dimensions %q; want %+v", i, d.Type(), ev.Type, ev.Dimensions, w)
		}
	}
}

func TestEncoderRefusesWhatADecoderWould(t *testing.T) {
	good := crest.Event{Type: "video", Item: "x", Weight: 1}
	bad := map[string]struct {
		change func(*crest.Event)
		code   crest.Code
	}{
		"no item":        {func(e *crest.Event) { e.Item = "" }, crest.CodeMissingField},
		"long item":      {func(e *crest.Event) { e.Item = strings.Repeat("x", crest.MaxItemBytes+1) }, crest.CodeTooLong},
		"long spelling":  {func(e *crest.Event) { e.Spelling = strings.Repeat("x", crest.MaxItemBytes+1) }, crest.CodeTooLong},
		"no weight":      {func(e *crest.Event) { e.Weight = 0 }, crest.CodeOutOfRange},
		"heavy":          {func(e *crest.Event) { e.Weight = crest.MaxWeight + 1 }, crest.CodeOutOfRange},
		"far future":     {func(e *crest.Event) { e.Time = maxTime + 1 }, crest.CodeOutOfRange},
		"far past":       {func(e *crest.Event) { e.Time = -1 << 63 }, crest.CodeOutOfRange},
		"no type":        {func(e *crest.Event) { e.Type = "" }, crest.CodeMissingField},
		"long type":      {func(e *crest.Event) { e.Type = strings.Repeat("x", crest.MaxTypeBytes+1) }, crest.CodeTooLong},
		"long dimension": {func(e *crest.Event) { e.Dimensions[3] = strings.Repeat("x", crest.MaxDimensionBytes+1) }, crest.CodeTooLong},
	}
	for name, c := range bad {
		t.Run(name, func(t *testing.T) {
			var e Encoder
			e.Reset(nil)
			ev := good
			c.change(&ev)
			if err := e.Add(&ev); crest.CodeOf(err) != c.code {
				t.Errorf("error %v, want code %s", err, c.code)
			}
			if err := e.Add(&good); err != nil {
				t.Fatal(err)
			}
			compare(t, decode(t, NewDecoder(nil, nil), e.Bytes()), []crest.Event{good})
		})
	}
}

// Every prefix and every flipped bit gives an error or other events, never a panic.
func TestDecoderOnDamage(t *testing.T) {
	payload := encode(t, []string{"category", "region"}, everyShape())
	d := NewDecoder([]string{"video"}, []string{"region"})
	var ev crest.Event
	for n := range payload {
		if err := d.Reset(payload[:n:n]); err == nil {
			for d.Next(&ev) {
			}
		}
		if !errors.Is(d.Err(), ErrMalformed) {
			t.Fatalf("first %d bytes: error %v", n, d.Err())
		}
	}
	for bit := range len(payload) * 8 {
		damaged := bytes.Clone(payload)
		damaged[bit/8] ^= 1 << (bit % 8)
		if d.Reset(damaged) == nil {
			for d.Next(&ev) {
			}
		}
	}
	if err := d.Reset(append(bytes.Clone(payload), 0)); err == nil {
		for d.Next(&ev) {
		}
		if d.Err() == nil {
			t.Error("a byte after the last event is not noticed")
		}
	}
}

func TestBatchGolden(t *testing.T) {
	dimensions := []string{"category", "region"}
	path := filepath.Join("testdata", "batch-v1.hex")
	if *update {
		if err := os.WriteFile(path, []byte(hex.Dump(encode(t, dimensions, everyShape()))), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got := hex.Dump(encode(t, dimensions, everyShape())); got != string(want) {
		t.Errorf("version 1 of the batch changed; logs written before can't be read any more. Got:\n%s", got)
	}
}

func FuzzDecoder(f *testing.F) {
	dimensions := []string{"category", "region"}
	f.Add(encode(f, dimensions, everyShape()))
	f.Add(encode(f, nil, nil))
	f.Add([]byte{1, 255, 255, 255, 255, 15})
	d := NewDecoder([]string{"hashtag", "video"}, dimensions)
	f.Fuzz(func(t *testing.T, payload []byte) {
		if d.Reset(payload) != nil {
			return
		}
		var e Encoder
		e.Reset(dimensions)
		var ev crest.Event
		n := 0
		for d.Next(&ev) {
			if err := e.Add(&ev); err != nil {
				t.Fatalf("decoded what can't be encoded: %+v: %v", ev, err)
			}
			n++
		}
		if d.Err() == nil {
			again := decode(t, NewDecoder([]string{"hashtag", "video"}, dimensions), e.Bytes())
			if len(again) != n {
				t.Fatalf("%d events became %d", n, len(again))
			}
		}
	})
}

func views(n int) []crest.Event {
	r := rand.New(rand.NewPCG(1, 2))
	events := make([]crest.Event, n)
	for i := range events {
		e := &events[i]
		*e = crest.Event{Type: "video", Item: fmt.Sprintf("%011x", r.Uint64N(1<<44)), Time: 1_764_500_000_000 + crest.Millis(r.IntN(3000)), Session: r.Uint64(), Weight: 1}
		for j := range e.ID {
			e.ID[j] = byte(r.Uint32())
		}
	}
	return events
}

func BenchmarkEncode(b *testing.B) {
	events := views(500)
	var e Encoder
	e.Reset(nil)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if i%500 == 0 {
			e.Bytes()
			e.Reset(nil)
		}
		if err := e.Add(&events[i%500]); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	payload := encode(b, nil, views(500))
	d := NewDecoder([]string{"hashtag", "video"}, nil)
	var ev crest.Event
	b.ReportAllocs()
	b.ReportMetric(float64(len(payload))/500, "B/event")
	for b.Loop() {
		if !d.Next(&ev) {
			if err := d.Reset(payload); err != nil {
				b.Fatal(err)
			}
		}
	}
}
