package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"crest"
	"crest/internal/config"
	"crest/internal/eventlog"
	"crest/internal/ingest"
	"crest/proto/eventpb"
)

// memoryLog counts the events that are appended to it.
type memoryLog struct {
	mu      sync.Mutex
	err     error
	events  int
	items   []string
	durable bool
}

func (l *memoryLog) Append(_ context.Context, records []eventlog.Append, durable bool) (crest.Millis, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return 0, l.err
	}
	l.durable = durable
	d := eventlog.NewDecoder([]string{"video", "article"}, nil)
	for _, r := range records {
		if err := d.Reset(r.Payload); err != nil {
			return 0, err
		}
		var ev crest.Event
		for d.Next(&ev) {
			l.events++
			l.items = append(l.items, strings.Clone(ev.Type+" "+ev.Item))
		}
	}
	return 0, nil
}

// writeEdge is a write edge over a log in memory. Its limits are small, so that tests can be.
type writeEdge struct {
	mux    *http.ServeMux
	writer *writer
	log    *memoryLog
	failed []error
}

func newWriteEdge(t *testing.T, preset string, changes ...func(*config.Config, *WriteConfig)) *writeEdge {
	t.Helper()
	cfg, err := config.Preset(preset)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Ingest.MaxBody, cfg.Ingest.MaxDecompressed = config.MiB, 4*config.MiB
	e := &writeEdge{mux: http.NewServeMux(), log: &memoryLog{}}
	limits := WriteConfigOf(&cfg)
	limits.Failed = func(err error) { e.failed = append(e.failed, err) }
	for _, change := range changes {
		change(&cfg, &limits)
	}
	in, err := ingest.New(&cfg, e.log, time.Now, ingest.Observer{})
	if err != nil {
		t.Fatal(err)
	}
	e.writer = newWriter(in, limits)
	e.writer.routes(e.mux, limits.ShareType)
	t.Cleanup(func() {
		if used := e.writer.bodies.inFlight.used.Load(); used != 0 {
			t.Errorf("%d bytes are still taken from the budget", used)
		}
	})
	return e
}

// post sends a body; headers are names and values in turn.
func (e *writeEdge) post(path string, body io.Reader, headers ...string) (status int, answer writeAnswer, header http.Header) {
	r := httptest.NewRequest(http.MethodPost, path, body)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	e.mux.ServeHTTP(w, r)
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil {
		answer.Error = &errorJSON{Code: "not JSON", Message: w.Body.String()}
	}
	return w.Code, answer, w.Header()
}

const goodEvent = `{"type":"video","item":"dQw4w9WgXcQ"}`

func gzipped(t *testing.T, r io.Reader) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := gzip.NewWriter(&buf)
	if _, err := io.Copy(w, r); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func zstdCompressed(t *testing.T, r io.Reader, options ...zstd.EOption) []byte {
	t.Helper()
	var buf bytes.Buffer
	w, err := zstd.NewWriter(&buf, options...)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(w, r); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// zeros is a reader of n zero bytes.
func zeros(n int64) io.Reader { return io.LimitReader(zeroReader{}, n) }

type zeroReader struct{}

func (zeroReader) Read(b []byte) (int, error) { clear(b); return len(b), nil }

func TestPostEvents(t *testing.T) {
	batch := eventpb.AppendBatch(nil, []eventpb.Event{{Type: "video", Item: "a"}, {Type: "video", Item: "b"}})
	lines := goodEvent + "\n" + goodEvent + "\n"
	tests := []struct {
		name    string
		body    string
		headers []string
		want    int
	}{
		{"an object", goodEvent, []string{"Content-Type", "application/json"}, 1},
		{"an array", "[" + goodEvent + "," + goodEvent + "]", []string{"Content-Type", "application/json; charset=utf-8"}, 2},
		{"lines", lines, []string{"Content-Type", "application/x-ndjson"}, 2},
		{"lines without a type", lines, nil, 2},
		{"a beacon", goodEvent, []string{"Content-Type", "text/plain;charset=UTF-8"}, 1},
		{"protobuf", string(batch), []string{"Content-Type", "application/x-protobuf"}, 2},
		{"identity", goodEvent, []string{"Content-Encoding", "identity"}, 1},
		{"gzip", string(gzipped(t, strings.NewReader(lines))), []string{"Content-Encoding", "gzip"}, 2},
		{"gzip in capitals", string(gzipped(t, strings.NewReader(lines))), []string{"Content-Encoding", "GZIP"}, 2},
		{"zstd", string(zstdCompressed(t, strings.NewReader(lines))), []string{"Content-Encoding", "zstd"}, 2},
		{"zstd of protobuf", string(zstdCompressed(t, bytes.NewReader(batch))), []string{"Content-Encoding", "zstd", "Content-Type", "application/x-protobuf"}, 2},
		{
			"the largest body", goodEvent + strings.Repeat(" ", 1<<20-len(goodEvent)), nil, 1,
		},
		{
			"the largest decompressed body", string(gzipped(t, strings.NewReader(goodEvent+strings.Repeat(" ", 4<<20-len(goodEvent))))),
			[]string{"Content-Encoding", "gzip"},
			1,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			e := newWriteEdge(t, "views")
			for range 2 {
				// The second time, memory is reused.
				status, answer, _ := e.post("/v1/events", strings.NewReader(test.body), test.headers...)
				if status != http.StatusAccepted || answer.Accepted != test.want || answer.Rejected != 0 || answer.Error != nil {
					t.Fatalf("got %d %+v", status, answer)
				}
			}
			if e.log.events != 2*test.want || !e.log.durable {
				t.Errorf("%d events logged, durable %v", e.log.events, e.log.durable)
			}
		})
	}
}

func TestBadRequestsChangeNothingElse(t *testing.T) {
	compressed := gzipped(t, strings.NewReader(strings.Repeat(goodEvent+"\n", 1000)))
	zstded := zstdCompressed(t, strings.NewReader(strings.Repeat(goodEvent+"\n", 1000)))
	longID := `{"type":"video","item":"v","id":"` + strings.Repeat("x", 10<<20) + `"}`
	million := func() io.Reader {
		return io.MultiReader(strings.NewReader("["+goodEvent), strings.NewReader(strings.Repeat(",{}", 1_000_000)), strings.NewReader("]"))
	}
	tests := []struct {
		name    string
		body    func() io.Reader
		headers []string
		status  int
		code    crest.Code
	}{
		{"empty", func() io.Reader { return http.NoBody }, nil, 400, crest.CodeEmptyBody},
		{"empty gzip", func() io.Reader { return bytes.NewReader(gzipped(t, zeros(0))) }, []string{"Content-Encoding", "gzip"}, 400, crest.CodeEmptyBody},
		{"nothing as gzip", func() io.Reader { return http.NoBody }, []string{"Content-Encoding", "gzip"}, 400, crest.CodeEmptyBody},
		{"truncated gzip", func() io.Reader { return bytes.NewReader(compressed[:len(compressed)/2]) }, []string{"Content-Encoding", "gzip"}, 400, crest.CodeCorruptEncoding},
		{"gzip without its checksum", func() io.Reader { return bytes.NewReader(compressed[:len(compressed)-8]) }, []string{"Content-Encoding", "gzip"}, 400, crest.CodeCorruptEncoding},
		{"not gzip", func() io.Reader { return strings.NewReader(goodEvent) }, []string{"Content-Encoding", "gzip"}, 400, crest.CodeCorruptEncoding},
		{"something after gzip", func() io.Reader { return bytes.NewReader(append(bytes.Clone(compressed), "more"...)) }, []string{"Content-Encoding", "gzip"}, 400, crest.CodeCorruptEncoding},
		{"truncated zstd", func() io.Reader { return bytes.NewReader(zstded[:len(zstded)/2]) }, []string{"Content-Encoding", "zstd"}, 400, crest.CodeCorruptEncoding},
		{"not zstd", func() io.Reader { return strings.NewReader(goodEvent) }, []string{"Content-Encoding", "zstd"}, 400, crest.CodeCorruptEncoding},
		{"unknown encoding", func() io.Reader { return strings.NewReader(goodEvent) }, []string{"Content-Encoding", "br"}, 415, crest.CodeUnsupportedEncoding},
		{"two encodings", func() io.Reader { return strings.NewReader(goodEvent) }, []string{"Content-Encoding", "gzip, gzip"}, 415, crest.CodeUnsupportedEncoding},
		{"unknown type of content", func() io.Reader { return strings.NewReader(goodEvent) }, []string{"Content-Type", "application/xml"}, 415, crest.CodeUnsupportedMedia},
		{"a form, which is curl's default", func() io.Reader { return strings.NewReader(goodEvent) }, []string{"Content-Type", "application/x-www-form-urlencoded"}, 415, crest.CodeUnsupportedMedia},
		{"body too large", func() io.Reader { return strings.NewReader(strings.Repeat(" ", 1<<20) + goodEvent) }, nil, 413, crest.CodeBodyTooLarge},
		{"body too large, size unsaid", func() io.Reader { return io.MultiReader(zeros(2 << 20)) }, nil, 413, crest.CodeBodyTooLarge},
		{"too large when decompressed", func() io.Reader { return bytes.NewReader(gzipped(t, zeros(4<<20+1))) }, []string{"Content-Encoding", "gzip"}, 413, crest.CodeBodyTooLarge},
		{"id of 10 MB", func() io.Reader { return strings.NewReader(longID) }, nil, 413, crest.CodeBodyTooLarge},
		{"id of 1 MB, compressed", func() io.Reader {
			return bytes.NewReader(gzipped(t, strings.NewReader(longID[:1<<20]+`"}`)))
		}, []string{"Content-Encoding", "gzip"}, 400, crest.CodeTooLong},
		{"array of a million events", million, nil, 413, crest.CodeBodyTooLarge},
		{"array of a million events, compressed", func() io.Reader { return bytes.NewReader(gzipped(t, million())) }, []string{"Content-Encoding", "gzip"}, 413, crest.CodeTooManyEvents},
		{"not UTF-8", func() io.Reader { return strings.NewReader("{\"type\":\"video\",\"item\":\"\xff\xfe\"}") }, nil, 400, crest.CodeInvalidUTF8},
		{"NaN for a time", func() io.Reader { return strings.NewReader(`{"type":"video","item":"v","ts":NaN}`) }, nil, 400, crest.CodeMalformed},
		{"negative weight", func() io.Reader { return strings.NewReader(`{"type":"video","item":"v","weight":-5}`) }, nil, 400, crest.CodeOutOfRange},
		{"unknown type", func() io.Reader { return strings.NewReader(`{"type":"film","item":"v"}`) }, nil, 400, crest.CodeUnknownType},
		{"not JSON", func() io.Reader { return strings.NewReader("hello") }, nil, 400, crest.CodeMalformed},
		{"JSON cut off", func() io.Reader { return strings.NewReader("[" + goodEvent + ",") }, nil, 400, crest.CodeMalformed},
		{"protobuf cut off", func() io.Reader { return strings.NewReader("\x0a\x10abc") }, []string{"Content-Type", "application/x-protobuf"}, 400, crest.CodeMalformed},
		{"client that leaves", func() io.Reader { return io.MultiReader(strings.NewReader("["), iotest.ErrReader(io.ErrUnexpectedEOF)) }, nil, 499, crest.CodeClientClosed},
	}
	e := newWriteEdge(t, "views")
	logged := 0
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			status, answer, _ := e.post("/v1/events", test.body(), test.headers...)
			if answer.Error == nil {
				t.Fatalf("got %d %+v, want an error", status, answer)
			}
			if status != test.status || answer.Error.Code != test.code || answer.Accepted != 0 {
				t.Errorf("got %d %+v, want %d %s", status, answer.Error, test.status, test.code)
			}
			if len(answer.Error.Message) > 500 {
				t.Errorf("a message of %d bytes", len(answer.Error.Message))
			}
			if e.log.events != logged {
				t.Errorf("%d events were logged", e.log.events-logged)
			}
			status, answer, _ = e.post("/v1/events", strings.NewReader(goodEvent))
			if logged++; status != http.StatusAccepted || answer.Accepted != 1 || e.log.events != logged {
				t.Errorf("a good request after it: %d %+v", status, answer)
			}
		})
	}
}

// TestBombIsStopped sends 2 GB of zeros, compressed to about 2 MB and less, and looks at the memory that it takes.
func TestBombIsStopped(t *testing.T) {
	// Compressed streams that follow each other are one stream, in both formats.
	const part, parts = 32 << 20, 64
	bombs := map[string][]byte{
		"gzip": bytes.Repeat(gzipped(t, zeros(part)), parts),
		"zstd": bytes.Repeat(zstdCompressed(t, zeros(part), zstd.WithWindowSize(8<<20)), parts),
	}
	e := newWriteEdge(t, "views", func(_ *config.Config, limits *WriteConfig) { limits.MaxBody = 8 << 20 })
	for encoding, bomb := range bombs {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		status, answer, _ := e.post("/v1/events", bytes.NewReader(bomb), "Content-Encoding", encoding)
		runtime.ReadMemStats(&after)
		if status != http.StatusRequestEntityTooLarge || answer.Error.Code != crest.CodeBodyTooLarge {
			t.Errorf("%s of %d bytes: got %d %+v", encoding, len(bomb), status, answer.Error)
		}
		// All that was ever allocated, not only what was held at once: twice the limits, for buffers double, and a window.
		if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 2*(4<<20+4<<20)+16<<20 {
			t.Errorf("%s: %d bytes were allocated", encoding, allocated)
		}
	}
	if status, answer, _ := e.post("/v1/events", strings.NewReader(goodEvent)); status != http.StatusAccepted {
		t.Errorf("a good request after it: %d %+v", status, answer)
	}
}

func TestHugeWindowIsRefused(t *testing.T) {
	e := newWriteEdge(t, "views")
	body := zstdCompressed(t, zeros(64<<20), zstd.WithWindowSize(32<<20))
	status, answer, _ := e.post("/v1/events", bytes.NewReader(body), "Content-Encoding", "zstd")
	if status != http.StatusUnsupportedMediaType || answer.Error.Code != crest.CodeUnsupportedEncoding {
		t.Errorf("got %d %+v", status, answer.Error)
	}
}

func TestOneBadEventOfABatch(t *testing.T) {
	e := newWriteEdge(t, "views")
	body := `[` + goodEvent + `,{"type":"video","item":"v","weight":-1,"ignored":1},` + goodEvent + `]`
	r := httptest.NewRequest(http.MethodPost, "/v1/events", strings.NewReader(body))
	w := httptest.NewRecorder()
	e.mux.ServeHTTP(w, r)
	want := `{"accepted":2,"rejected":1,"clamped":0,"errors":[{"index":1,"code":"out_of_range","field":"weight",` +
		`"message":"is -1; it must be from 1 to 1000000"}]}` + "\n"
	if w.Code != http.StatusAccepted || w.Body.String() != want {
		t.Errorf("got %d %s\nwant %s", w.Code, w.Body, want)
	}
}

func TestAllEventsBad(t *testing.T) {
	e := newWriteEdge(t, "views")
	status, answer, _ := e.post("/v1/events", strings.NewReader(`[{"type":"video"},{}]`))
	if status != http.StatusBadRequest || answer.Rejected != 2 || len(answer.Errors) != 2 || answer.Error == nil ||
		answer.Error.Code != crest.CodeMissingField || answer.Error.Field != "item" {
		t.Errorf("got %d %+v", status, answer)
	}
	want := "none of the 2 events was accepted; what is wrong with the first: item " + answer.Errors[0].Message
	if answer.Error.Message != want {
		t.Errorf("got %q, want %q", answer.Error.Message, want)
	}
	_, answer, _ = e.post("/v1/events", strings.NewReader(`[1,2]`))
	want = "none of the 2 events was accepted; what is wrong with the first: " + answer.Errors[0].Message
	if answer.Error.Message != want || answer.Error.Field != "" {
		t.Errorf("got %q, want %q", answer.Error.Message, want)
	}
}

func TestPostShares(t *testing.T) {
	e := newWriteEdge(t, "shares")
	now := time.Now()
	share := `{"article_id":"a1","category":"sports","region":"eu","ts":` + jsonNumber(now.Unix()) + `}`
	status, answer, _ := e.post("/v1/shares", strings.NewReader(share), "Content-Type", "application/json")
	if status != http.StatusAccepted || answer.Accepted != 1 || answer.Ignored != nil {
		t.Errorf("a share: %d %+v", status, answer)
	}
	if e.log.durable {
		t.Error("the shares preset waited for the disk")
	}
	status, answer, _ = e.post("/v1/shares:batch", strings.NewReader("["+share+`,{"article_id":"a2"}]`))
	if status != http.StatusAccepted || answer.Accepted != 2 {
		t.Errorf("two shares: %d %+v", status, answer)
	}
	status, answer, _ = e.post("/v1/events", strings.NewReader(`{"article_id":"a3"}`))
	if status != http.StatusAccepted || answer.Accepted != 1 {
		t.Errorf("a share as an event: %d %+v", status, answer)
	}
	status, answer, _ = e.post("/v1/shares", strings.NewReader("["+share+","+share+"]"))
	if status != http.StatusBadRequest || answer.Error.Code != crest.CodeMalformed {
		t.Errorf("two shares for one: %d %+v", status, answer)
	}
	status, answer, _ = e.post("/v1/shares", strings.NewReader(`{"category":"sports"}`))
	if status != http.StatusBadRequest || answer.Error.Field != "article_id" {
		t.Errorf("a share of nothing: %d %+v", status, answer)
	}
	one := eventpb.AppendBatch(nil, []eventpb.Event{{Item: "a4"}})
	for _, path := range []string{"/v1/shares", "/v1/shares:batch"} {
		status, answer, _ = e.post(path, bytes.NewReader(one), "Content-Type", "application/x-protobuf")
		if status != http.StatusAccepted || answer.Accepted != 1 {
			t.Errorf("%s in protobuf: %d %+v", path, status, answer)
		}
	}
	if e.log.events != 6 {
		t.Errorf("%d events logged, want 6", e.log.events)
	}
}

func jsonNumber(n int64) string {
	b, _ := json.Marshal(n)
	return string(b)
}

func TestSharesAreOfferedWhereConfigured(t *testing.T) {
	e := newWriteEdge(t, "views")
	r := httptest.NewRequest(http.MethodPost, "/v1/shares", strings.NewReader(`{"article_id":"a1"}`))
	w := httptest.NewRecorder()
	e.mux.ServeHTTP(w, r)
	if w.Code != http.StatusNotFound {
		t.Errorf("got %d", w.Code)
	}
}

func TestAckParameter(t *testing.T) {
	e := newWriteEdge(t, "views")
	if status, _, _ := e.post("/v1/events?ack=enqueued", strings.NewReader(goodEvent)); status != http.StatusAccepted || e.log.durable {
		t.Errorf("ack=enqueued: %d, durable %v", status, e.log.durable)
	}
	if status, _, _ := e.post("/v1/events?ack=logged", strings.NewReader(goodEvent)); status != http.StatusAccepted || !e.log.durable {
		t.Errorf("ack=logged: %d, durable %v", status, e.log.durable)
	}
	for _, query := range []string{"ack=maybe", "ack=", "akc=logged", "ack=logged&x=1", "ack=%zz", "ack=logged&ack=enqueued", "ack=logged&ack=logged"} {
		status, answer, _ := e.post("/v1/events?"+query, strings.NewReader(goodEvent))
		if status != http.StatusBadRequest || answer.Error.Code != crest.CodeInvalidParameter {
			t.Errorf("%s: %d %+v", query, status, answer)
		}
	}
}

func TestLogTrouble(t *testing.T) {
	tests := []struct {
		err    error
		status int
		retry  string
		failed bool
	}{
		{crest.Errorf(crest.CodeBehind, "", "too much is waiting"), 429, "1", false},
		{crest.Errorf(crest.CodeLogUnavailable, "", "no space left"), 503, "1", true},
		{crest.Errorf(crest.CodeShuttingDown, "", "closed"), 503, "1", true},
		{context.Canceled, 499, "", false},
		{errors.New("a bug"), 500, "", true},
	}
	for _, test := range tests {
		e := newWriteEdge(t, "views")
		e.log.err = test.err
		status, answer, header := e.post("/v1/events", strings.NewReader(goodEvent))
		if status != test.status || header.Get("Retry-After") != test.retry || answer.Error == nil {
			t.Errorf("%v: got %d, Retry-After %q, %+v", test.err, status, header.Get("Retry-After"), answer)
		}
		if failed := len(e.failed) == 1; failed != test.failed {
			t.Errorf("%v: the owner was told %v", test.err, e.failed)
		}
	}
}

func TestOnlyPost(t *testing.T) {
	e := newWriteEdge(t, "shares")
	for _, path := range []string{"/v1/events", "/v1/shares", "/v1/shares:batch"} {
		w := httptest.NewRecorder()
		e.mux.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		if w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != "POST" {
			t.Errorf("GET %s: %d, Allow %q", path, w.Code, w.Header().Get("Allow"))
		}
	}
}

// TestBytesInFlight fills the budget with a request that waits in the log.
func TestBytesInFlight(t *testing.T) {
	e := newWriteEdge(t, "views", func(_ *config.Config, limits *WriteConfig) { limits.MaxInFlight = 100 << 10 })
	waiting, proceed := make(chan struct{}), make(chan struct{})
	e.writer.ingester = ingesterFunc(func(context.Context, ingest.Request) (ingest.Result, error) {
		waiting <- struct{}{}
		<-proceed
		return ingest.Result{Accepted: 1}, nil
	})
	first := make(chan int)
	go func() {
		status, _, _ := e.post("/v1/events", strings.NewReader(strings.Repeat(" ", 60<<10)))
		first <- status
	}()
	<-waiting
	status, answer, header := e.post("/v1/events", strings.NewReader(strings.Repeat(" ", 60<<10)))
	if status != http.StatusTooManyRequests || answer.Error.Code != crest.CodeTooManyRequests || header.Get("Retry-After") == "" {
		t.Errorf("got %d %+v", status, answer)
	}
	close(proceed)
	if status := <-first; status != http.StatusAccepted {
		t.Errorf("the request that waited got %d", status)
	}
	go func() { <-waiting }()
	if status, answer, _ := e.post("/v1/events", strings.NewReader(strings.Repeat(" ", 60<<10))); status != http.StatusAccepted {
		t.Errorf("after it: %d %+v", status, answer)
	}
}

type ingesterFunc func(context.Context, ingest.Request) (ingest.Result, error)

func (f ingesterFunc) Ingest(ctx context.Context, req ingest.Request) (ingest.Result, error) {
	return f(ctx, req)
}

// TestPromisesTakeNoMemory: a client that announces a large body has the memory of what it has sent.
func TestPromisesTakeNoMemory(t *testing.T) {
	e := newWriteEdge(t, "views")
	r := httptest.NewRequest(http.MethodPost, "/v1/events", nil)
	r.ContentLength = 1 << 20
	r.Body = io.NopCloser(readerFunc(func([]byte) (int, error) {
		if used := e.writer.bodies.inFlight.used.Load(); used > firstBytes {
			t.Errorf("%d bytes are taken", used)
		}
		return 0, io.ErrUnexpectedEOF
	}))
	e.mux.ServeHTTP(httptest.NewRecorder(), r)
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(b []byte) (int, error) { return f(b) }

func BenchmarkPostShare(b *testing.B) {
	cfg, _ := config.Preset("shares")
	in, err := ingest.New(&cfg, discardLog{}, time.Now, ingest.Observer{})
	if err != nil {
		b.Fatal(err)
	}
	mux := http.NewServeMux()
	WriteRoutes(mux, in, WriteConfigOf(&cfg))
	body := []byte(`{"article_id":"a1","category":"sports","region":"eu"}`)
	r := httptest.NewRequest(http.MethodPost, "/v1/shares", nil)
	r.Header.Set("Content-Type", "application/json")
	r.ContentLength = int64(len(body))
	b.ReportAllocs()
	for b.Loop() {
		r.Body = io.NopCloser(bytes.NewReader(body))
		w := httptest.NewRecorder()
		if mux.ServeHTTP(w, r); w.Code != http.StatusAccepted {
			b.Fatal(w.Body)
		}
	}
}

type discardLog struct{}

func (discardLog) Append(context.Context, []eventlog.Append, bool) (crest.Millis, error) {
	return 0, nil
}
