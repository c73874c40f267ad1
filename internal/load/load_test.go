package load

import (
	"encoding/json"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"crest"
	"crest/proto/eventpb"
)

func TestZipfDrawsWithTheRightShares(t *testing.T) {
	const draws = 300_000
	for _, test := range []struct {
		n uint64
		s float64
	}{{1, 1}, {10, 0}, {1000, 1}, {100_000, 1.05}, {400_000, 0.8}, {100_000, 2}, {50_000, 0}} {
		z, err := NewZipf(test.n, test.s)
		if err != nil {
			t.Fatal(err)
		}
		random := rand.NewPCG(1, 2)
		bounds := []uint64{1, 2, 3, 10, 100, 5_000, 10_000, 1_000_000, math.MaxUint64}
		got := make([]float64, len(bounds))
		want := make([]float64, len(bounds))
		for range draws {
			r := z.Draw(random)
			if r < 1 || r > test.n {
				t.Fatalf("n=%d s=%g drew rank %d", test.n, test.s, r)
			}
			i, _ := slices.BinarySearch(bounds, r)
			got[i]++
		}
		sum := 0.0
		for r := uint64(1); r <= test.n; r++ {
			w := math.Pow(float64(r), -test.s)
			i, _ := slices.BinarySearch(bounds, r)
			want[i] += w
			sum += w
		}
		for i := range bounds {
			expected := want[i] / sum * draws
			if diff := math.Abs(got[i] - expected); diff > 5*math.Sqrt(expected)+0.01*expected+1 {
				t.Errorf("n=%d s=%g, ranks up to %d: drew %.0f, want %.0f", test.n, test.s, bounds[i], got[i], expected)
			}
		}
	}
	for _, bad := range []float64{-1, 11, math.NaN()} {
		if _, err := NewZipf(10, bad); err == nil {
			t.Errorf("s=%g was taken", bad)
		}
	}
}

// decoded is an event as a server would see it.
type decoded struct {
	ID, Type, Item, Session string
	TS                      int64 `json:"ts_ms"`
	Dimensions              map[string]string
}

func TestTemplatesMakeNewEvents(t *testing.T) {
	zipf, err := NewZipf(1000, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, format := range []string{"json", "protobuf"} {
		o := Options{Format: format, Batch: 50, Type: "video", Dimensions: []Dimension{{"region", 3}}}
		a, b := newTemplate(o, zipf, 1), newTemplate(o, zipf, 2)
		now := crest.Millis(1_796_000_000_123)
		ids := map[string]bool{}
		for range 3 {
			for _, template := range []*template{a, b} {
				events := decode(t, format, template.fill(now))
				if len(events) != 50 {
					t.Fatalf("%s: %d events", format, len(events))
				}
				for _, e := range events {
					if ids[e.ID] {
						t.Fatalf("%s: id %s came twice", format, e.ID)
					}
					ids[e.ID] = true
					if e.Type != "video" || e.TS != int64(now) || e.Session == "" || len(e.Item) != 17 || e.Item[0] != 'v' {
						t.Fatalf("%s: event %+v", format, e)
					}
					if r := e.Dimensions["region"]; r != "region1" && r != "region2" && r != "region3" {
						t.Fatalf("%s: region %q", format, r)
					}
				}
			}
		}
	}
}

func decode(t *testing.T, format string, body []byte) []decoded {
	t.Helper()
	var events []decoded
	if format == "json" {
		if err := json.Unmarshal(body, &events); err != nil {
			t.Fatal(err)
		}
		return events
	}
	for len(body) > 0 {
		number, kind, n := protowire.ConsumeTag(body)
		if number != eventpb.BatchEvents || kind != protowire.BytesType {
			t.Fatalf("field %d of kind %d", number, kind)
		}
		message, m := protowire.ConsumeBytes(body[n:])
		body = body[n+m:]
		events = append(events, decodeEvent(t, message))
	}
	return events
}

func decodeEvent(t *testing.T, message []byte) decoded {
	t.Helper()
	e := decoded{Dimensions: map[string]string{}}
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			t.Fatal("broken message")
		}
		message = message[n:]
		if kind == protowire.VarintType {
			v, m := protowire.ConsumeVarint(message)
			e.TS = int64(v)
			message = message[m:]
			continue
		}
		v, m := protowire.ConsumeBytes(message)
		message = message[m:]
		switch number {
		case eventpb.EventUUID:
			e.ID = string(v)
		case eventpb.EventType:
			e.Type = string(v)
		case eventpb.EventItem:
			e.Item = string(v)
		case eventpb.EventSession:
			e.Session = string(v)
		case eventpb.EventDimensions:
			_, _, n := protowire.ConsumeTag(v)
			name, m := protowire.ConsumeBytes(v[n:])
			_, _, k := protowire.ConsumeTag(v[n+m:])
			value, _ := protowire.ConsumeBytes(v[n+m+k:])
			e.Dimensions[string(name)] = string(value)
		default:
			t.Fatalf("field %d", number)
		}
	}
	return e
}

func TestHistogram(t *testing.T) {
	var h histogram
	random := rand.New(rand.NewPCG(3, 4))
	var all []time.Duration
	for range 10_000 {
		d := time.Duration(math.Exp(random.Float64()*16)) * time.Microsecond
		all = append(all, d)
		h.add(d)
	}
	slices.Sort(all)
	for _, p := range []float64{1, 50, 90, 99, 100} {
		want := all[int(float64(len(all))*p/100+0.5)-1]
		got := h.percentile(p)
		if got < want || float64(got) > float64(want)*1.02+float64(time.Microsecond) {
			t.Errorf("p%g is %s, want %s", p, got, want)
		}
	}
	if (&histogram{}).percentile(50) != 0 {
		t.Error("an empty histogram has a median")
	}
}

func TestRunMeasuresWhatTheServerAnswers(t *testing.T) {
	var mu sync.Mutex
	requests := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || len(body) == 0 || r.URL.Path != "/v1/events" || r.URL.RawQuery != "ack=logged" {
			t.Errorf("request %s with %d bytes, %v", r.URL, len(body), err)
		}
		mu.Lock()
		requests++
		third := requests%3 == 0
		mu.Unlock()
		if third {
			w.WriteHeader(http.StatusTooManyRequests)
			_, _ = io.WriteString(w, `{"error":{"code":"behind","message":"later"}}`)
			return
		}
		w.WriteHeader(http.StatusAccepted)
		_, _ = io.WriteString(w, `{"accepted":9,"rejected":1,"clamped":0,"errors":[],"ignored_fields":["dimensions.colour"]}`)
	}))
	defer server.Close()
	report, err := Run(t.Context(), Options{
		URL: server.URL, Rate: 2000, For: 300 * time.Millisecond, Items: 100, Zipf: 1, Format: "json", Batch: 10, Connections: 2,
		Type: "video", Ack: "logged",
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	good := report.Requests - report.Errors["behind"]
	if report.Requests != uint64(requests) || report.Requests == 0 || report.Requests > 60 {
		t.Errorf("%d requests, the server saw %d; 60 were due", report.Requests, requests)
	}
	if report.Acked != good*9 || report.Rejected != good || report.Sent != report.Requests*10 {
		t.Errorf("report %+v does not add up", report)
	}
	if !slices.Equal(report.Ignored, []string{"dimensions.colour"}) {
		t.Errorf("ignored %q", report.Ignored)
	}
	if report.P50 <= 0 || report.P50 > report.Max {
		t.Errorf("latencies: %+v", report)
	}
}

func TestRateIsNotExceeded(t *testing.T) {
	for _, test := range []struct{ rate, batch, want int }{
		{0, 0, 500}, {0, 7, 7}, {100, 0, 5}, {19, 0, 1}, {1, 0, 1}, {5000, 0, 250}, {10_000, 0, 500}, {1_000_000, 0, 500}, {100, 80, 80},
	} {
		o := Options{Rate: test.rate, Batch: test.batch}
		if got := o.batch(); got != test.want {
			t.Errorf("rate %d, batch %d: requests of %d events, want %d", test.rate, test.batch, got, test.want)
		}
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(http.StatusAccepted)
		_, _ = io.WriteString(w, `{"accepted":1,"rejected":0}`)
	}))
	defer server.Close()
	o := Options{URL: server.URL, Rate: 200, For: 200 * time.Millisecond, Items: 9, Format: "protobuf", Connections: 4, Type: "video"}
	if report, err := Run(t.Context(), o, nil); err != nil || report.Sent == 0 || report.Sent > 40 {
		t.Errorf("sent %d of 40 events, %v", report.Sent, err)
	}
	o.Batch = 41
	if err := o.Validate(); crest.CodeOf(err) != crest.CodeOutOfRange {
		t.Errorf("a batch of more than all events: %v", err)
	}
}

func TestNothingAcknowledgedHasNoLatency(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"accepted":0,"rejected":500,"error":{"code":"too_old","message":"is old"}}`)
	}))
	defer server.Close()
	report, err := Run(t.Context(), Options{URL: server.URL, For: 50 * time.Millisecond, Items: 9, Format: "json", Connections: 1}, nil)
	text, _ := json.Marshal(report)
	if err != nil || report.Rejected == 0 || report.Errors["too_old"] == 0 || strings.Contains(string(text), "latency") {
		t.Errorf("%s, %v", text, err)
	}
}

func BenchmarkFill(b *testing.B) {
	zipf, err := NewZipf(5_000_000, 1.05)
	if err != nil {
		b.Fatal(err)
	}
	for _, format := range []string{"protobuf", "json"} {
		b.Run(format, func(b *testing.B) {
			t := newTemplate(Options{Format: format, Batch: 500, Type: "video"}, zipf, 1)
			for b.Loop() {
				t.fill(1_796_000_000_123)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/500, "ns/event")
		})
	}
}
