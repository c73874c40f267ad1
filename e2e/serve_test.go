package e2e

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"crest"
	"crest/proto/eventpb"
)

// share is one event as the tests make it, and as JSON takes it.
type share struct {
	ID       string `json:"id,omitempty"`
	Type     string `json:"type"`
	Item     string `json:"item"`
	TS       int64  `json:"ts"`
	Weight   uint64 `json:"weight,omitempty"`
	Session  string `json:"session,omitempty"`
	Category string `json:"category,omitempty"`
	Region   string `json:"region,omitempty"`
}

// shares makes events of articles with few favourites, all of now.
func shares(random *rand.Rand, prefix string, n int) []share {
	zipf := rand.NewZipf(random, 1.2, 2, 400)
	events := make([]share, n)
	for i := range events {
		events[i] = share{
			ID: fmt.Sprintf("%s-%d", prefix, i), Type: "article", Item: fmt.Sprintf("art-%d", zipf.Uint64()),
			TS: time.Now().UnixMilli(), Weight: 1 + random.Uint64N(3), Session: fmt.Sprintf("session-%d", random.IntN(50)),
			Category: []string{"", "sports", "science"}[random.IntN(3)], Region: []string{"", "eu", "us"}[random.IntN(3)],
		}
	}
	return events
}

// exact counts the events for which wanted holds, and returns the first k items by count, then id, and the total.
func exact(events []share, k int, wanted func(share) bool) (top []crest.Entry, total uint64) {
	counts := map[string]uint64{}
	for _, e := range events {
		if wanted(e) {
			counts[e.Item] += e.Weight
			total += e.Weight
		}
	}
	for _, id := range slices.Sorted(maps.Keys(counts)) {
		top = append(top, crest.Entry{ID: id, Count: counts[id]})
	}
	slices.SortStableFunc(top, func(a, b crest.Entry) int { return int(b.Count) - int(a.Count) })
	return top[:min(k, len(top))], total
}

// compare checks a list, entry by entry, against the exact one.
func compare(t *testing.T, what string, got crest.List, want []crest.Entry) {
	t.Helper()
	if len(got.Top) != len(want) {
		t.Fatalf("%s has %d entries, want %d", what, len(got.Top), len(want))
	}
	for i, e := range got.Top {
		if e.ID != want[i].ID || e.Count != want[i].Count || e.Error != 0 || e.Rank != i+1 {
			t.Fatalf("%s, rank %d: %s %d (error %d), want %s %d", what, i+1, e.ID, e.Count, e.Error, want[i].ID, want[i].Count)
		}
	}
}

func asJSON(t *testing.T, v any) []byte {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func asLines(t *testing.T, events []share) []byte {
	t.Helper()
	var b bytes.Buffer
	for _, e := range events {
		b.Write(asJSON(t, e))
		b.WriteByte('\n')
	}
	return b.Bytes()
}

func asProtobuf(events []share) []byte {
	batch := make([]eventpb.Event, len(events))
	for i, e := range events {
		batch[i] = eventpb.Event{ID: e.ID, Type: e.Type, Item: e.Item, TimeMillis: e.TS, Session: e.Session, Weight: e.Weight}
		for _, d := range []eventpb.Dimension{{Name: "category", Value: e.Category}, {Name: "region", Value: e.Region}} {
			if d.Value != "" {
				batch[i].Dimensions = append(batch[i].Dimensions, d)
			}
		}
	}
	return eventpb.AppendBatch(nil, batch)
}

func gzipped(t *testing.T, raw []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write(raw)
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func zstdOf(t *testing.T, raw []byte) []byte {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return w.EncodeAll(raw, nil)
}

// Whatever form events come in, the lists are the exact ones, and a batch sent twice counts once.
func TestPostedEventsAreListedExactly(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 7))
	n := serveSettings(t, t.TempDir())
	events := shares(random, "form", 6000)
	for i, form := range []struct {
		name    string
		body    []byte
		headers []string
	}{
		{"array", asJSON(t, events[:1000]), []string{"Content-Type", "application/json"}},
		{"lines", asLines(t, events[1000:2000]), []string{"Content-Type", "application/x-ndjson"}},
		{"protobuf", asProtobuf(events[2000:3000]), []string{"Content-Type", "application/x-protobuf"}},
		{"gzip", gzipped(t, asJSON(t, events[3000:4000])), []string{"Content-Type", "application/json", "Content-Encoding", "gzip"}},
		{"zstd", zstdOf(t, asProtobuf(events[4000:5000])), []string{"Content-Type", "application/x-protobuf", "Content-Encoding", "zstd"}},
		{"untold", asLines(t, events[5000:]), nil},
	} {
		for range 2 {
			a := n.mustPost("/v1/events", bytes.NewReader(form.body), form.headers...)
			if got := a.accepted(t); a.status != http.StatusAccepted || got.Accepted != 1000 || got.Rejected != 0 {
				t.Fatalf("form %d, %s: %d %s", i, form.name, a.status, a.body)
			}
		}
	}
	for _, c := range []struct {
		query  string
		wanted func(share) bool
	}{
		{"", func(share) bool { return true }},
		{"&category=sports", func(e share) bool { return e.Category == "sports" }},
		{"&region=eu", func(e share) bool { return e.Region == "eu" }},
		{"&category=science&region=us", func(e share) bool { return e.Category == "science" && e.Region == "us" }},
	} {
		want, total := exact(events, 100, c.wanted)
		for _, window := range []string{"5m", "all"} {
			query := "type=article&window=" + window + "&k=100" + c.query
			l := n.listOf(query, total)
			compare(t, query, l, want)
			if l.IDField != "article_id" || l.Stale || l.Proven < 1 {
				t.Errorf("%s: id field %q, stale %t, proven %d", query, l.IDField, l.Stale, l.Proven)
			}
			if c.query == "" && l.Duplicates != total {
				t.Errorf("%s: %d duplicates, want %d", query, l.Duplicates, total)
			}
		}
	}
}

func TestSharesAPI(t *testing.T) {
	n := serveSettings(t, t.TempDir())
	now := time.Now().Unix() // this API speaks seconds
	for range 3 {
		a := n.mustPost("/v1/shares", strings.NewReader(fmt.Sprintf(`{"article_id":"one","category":"sports","region":"eu","ts":%d}`, now)))
		if a.status != http.StatusAccepted {
			t.Fatalf("share: %d %s", a.status, a.body)
		}
	}
	a := n.mustPost("/v1/shares:batch", strings.NewReader(fmt.Sprintf(`[{"article_id":"two","ts":%d},{"article_id":"two"}]`, now)))
	if got := a.accepted(t); a.status != http.StatusAccepted || got.Accepted != 2 {
		t.Fatalf("batch: %d %s", a.status, a.body)
	}
	compare(t, "article", n.listOf("type=article&window=5m&k=10", 5), []crest.Entry{{ID: "one", Count: 3}, {ID: "two", Count: 2}})
	compare(t, "sports in eu", n.listOf("type=article&window=5m&k=10&category=sports&region=eu", 3), []crest.Entry{{ID: "one", Count: 3}})
}

// Bad input of every kind gets a clear code and changes nothing else.
func TestBadInputIsRefusedAlone(t *testing.T) {
	n := serveSettings(t, t.TempDir())
	good := `{"type":"hashtag","item":"#Good"}`
	zeros := gzipped(t, bytes.Repeat([]byte(" "), 64<<20))
	for _, c := range []struct {
		name, path string
		body       []byte
		headers    []string
		status     int
		code       crest.Code
	}{
		{"empty", "/v1/events", nil, nil, 400, crest.CodeEmptyBody},
		{"truncated gzip", "/v1/events", gzipped(t, []byte(good))[:20], []string{"Content-Encoding", "gzip"}, 400, crest.CodeCorruptEncoding},
		{"bomb", "/v1/events", zeros, []string{"Content-Encoding", "gzip"}, 413, crest.CodeBodyTooLarge},
		{"unknown coding", "/v1/events", []byte(good), []string{"Content-Encoding", "br"}, 415, crest.CodeUnsupportedEncoding},
		{"unknown media", "/v1/events", []byte(good), []string{"Content-Type", "image/png"}, 415, crest.CodeUnsupportedMedia},
		{"not JSON", "/v1/events", []byte(`{"type":`), nil, 400, crest.CodeMalformed},
		{"broken protobuf", "/v1/events", []byte{0x0a, 0xff, 0x01}, []string{"Content-Type", "application/x-protobuf"}, 400, crest.CodeMalformed},
		{"invalid UTF-8", "/v1/events", []byte("{\"type\":\"hashtag\",\"item\":\"a\xffb\"}"), nil, 400, crest.CodeInvalidUTF8},
		{"10 MB id", "/v1/events", []byte(`{"type":"hashtag","item":"` + strings.Repeat("x", 10<<20) + `"}`), nil, 413, crest.CodeBodyTooLarge},
		{"1 MB id", "/v1/events", []byte(`{"type":"hashtag","item":"` + strings.Repeat("x", 1<<20) + `"}`), nil, 400, crest.CodeTooLong},
		{"NaN time", "/v1/events", []byte(`{"type":"hashtag","item":"a","ts":NaN}`), nil, 400, crest.CodeMalformed},
		{"negative weight", "/v1/events", []byte(`{"type":"hashtag","item":"a","weight":-1}`), nil, 400, crest.CodeOutOfRange},
		{"unknown type", "/v1/events", []byte(`{"type":"video","item":"a"}`), nil, 404, crest.CodeUnknownType},
		{"old", "/v1/events", []byte(`{"type":"hashtag","item":"a","ts":1000000000000}`), nil, 400, crest.CodeTooOld},
		{"control character", "/v1/events", []byte(`{"type":"hashtag","item":"a\u0000"}`), nil, 400, crest.CodeControlChar},
		{"a million events", "/v1/events", []byte("[" + strings.Repeat("{},", 1_000_000) + "{}]"), nil, 413, crest.CodeTooManyEvents},
		{"share without an article", "/v1/shares", []byte(`{"region":"eu"}`), nil, 400, crest.CodeMissingField},
	} {
		a := n.mustPost(c.path, bytes.NewReader(c.body), c.headers...)
		got := a.accepted(t)
		code := got.Error.Code
		if len(got.Errors) > 0 {
			code = got.Errors[0].Code
		}
		if (a.status != c.status && a.status != http.StatusBadRequest) || code != c.code || got.Accepted != 0 {
			t.Errorf("%s: %d %q %.200s, want %d %q", c.name, a.status, code, a.body, c.status, c.code)
		}
	}
	for path, want := range map[string]crest.Code{
		"/v1/top?type=video": crest.CodeUnknownType, "/v1/top?window=3h": crest.CodeUnknownWindow,
		"/v1/top?k=101": crest.CodeInvalidK, "/v1/top?k=-1": crest.CodeInvalidK, "/v1/top?colour=red": crest.CodeInvalidParameter,
		"/v1/top?category=never-seen": crest.CodeUnknownBoard, "/v1/nothing": crest.CodeNotFound,
	} {
		if a := n.get(path); a.status < 400 || a.status > 499 || a.accepted(t).Error.Code != want {
			t.Errorf("GET %s: %d %s, want %q", path, a.status, a.body, want)
		}
	}
	// One bad event among good ones takes nobody with it.
	a := n.mustPost("/v1/events", strings.NewReader(`[`+good+`,{"type":"hashtag","item":""},`+good+`]`))
	if got := a.accepted(t); a.status != http.StatusAccepted || got.Accepted != 2 || got.Rejected != 1 || got.Errors[0].Index != 1 {
		t.Errorf("mixed batch: %d %s", a.status, a.body)
	}
	l := n.listOf("type=hashtag&window=all&k=10", 2)
	compare(t, "hashtags", l, []crest.Entry{{ID: "good", Count: 2}})
	if l.Top[0].Title != "#Good" {
		t.Errorf("the hashtag is shown as %q, want its most used spelling", l.Top[0].Title)
	}
}

// Killed again and again under load, a node loses nothing it has acknowledged and counts nothing twice, though its
// producers send again, with the same ids, whatever they got no answer for.
func TestKilledNodeCountsEveryEventOnce(t *testing.T) {
	data := t.TempDir()
	n := serveSettings(t, data)
	const producers, size, kills = 3, 40, 4
	var current atomic.Pointer[node]
	current.Store(n)
	var acknowledged atomic.Int64
	var enough atomic.Bool
	var all [producers][]share
	var working sync.WaitGroup
	for p := range producers {
		working.Go(func() {
			random := rand.New(rand.NewPCG(11, uint64(p)))
			for b := 0; !enough.Load(); b++ {
				batch := shares(random, fmt.Sprintf("kill-%d-%d", p, b), size)
				all[p] = append(all[p], batch...)
				for body := asJSON(t, batch); ; {
					a, err := current.Load().post("/v1/events?ack=logged", bytes.NewReader(body))
					if err == nil && a.status == http.StatusAccepted {
						break
					}
					time.Sleep(20 * time.Millisecond) // until the node is back
				}
				acknowledged.Add(size)
			}
		})
	}
	random := rand.New(rand.NewPCG(13, 13))
	for range kills {
		before := acknowledged.Load()
		eventually(t, "producers get on", func() bool { return acknowledged.Load() > before+10*size })
		eventually(t, "a list is written", func() bool {
			_, err := os.Stat(filepath.Join(data, "lists", "article", "all", "current"))
			return err == nil
		})
		time.Sleep(time.Duration(random.IntN(2500)) * time.Millisecond) // before, in or after a checkpoint
		n.kill()
		n = serveSettings(t, data)
		if l := n.list("type=article&window=all&k=100"); len(l.Top) == 0 {
			t.Error("there was a list before the kill, and none right after the start")
		}
		current.Store(n)
	}
	enough.Store(true)
	working.Wait()
	events := slices.Concat(all[:]...)
	t.Logf("%d events over %d kills", len(events), kills)
	want, total := exact(events, 100, func(share) bool { return true })
	for _, window := range []string{"5m", "all"} {
		compare(t, window, n.listOf("type=article&window="+window+"&k=100", total), want)
	}
	n.kill()
	n = serveSettings(t, data)
	compare(t, "after the last kill", n.listOf("type=article&window=all&k=100", total), want)
}

func TestTermEndsCleanly(t *testing.T) {
	data := t.TempDir()
	n := serveSettings(t, data)
	events := shares(rand.New(rand.NewPCG(3, 3)), "term", 500)
	if a := n.mustPost("/v1/events?ack=enqueued", bytes.NewReader(asJSON(t, events))); a.status != http.StatusAccepted {
		t.Fatalf("post: %d %s", a.status, a.body)
	}
	if err := n.stop(); err != nil {
		t.Fatalf("crest ended with %v\n%s", err, n.output)
	}
	if strings.Contains(n.output.String(), "ERROR") || strings.Contains(n.output.String(), "panic") {
		t.Errorf("crest complained while it ended:\n%s", n.output)
	}
	n = serveSettings(t, data)
	want, total := exact(events, 100, func(share) bool { return true })
	compare(t, "after a clean end", n.listOf("type=article&window=all&k=100", total), want)
}

// The first minute of a newcomer: crest serve --demo, and a page with lists that move.
func TestDemoIsAliveOnThePage(t *testing.T) {
	n := serve(t, t.TempDir(), "--demo", "--preset", "views")
	b := open(t, n.URL, desktop)
	b.until(`list.querySelectorAll(".row:not(.bones)").length === 10`)
	b.shows("#types button", "Video|Hashtag")
	b.shows("#windows button", "1 min|1 hour|24 hours|All time")
	b.shows("#size-choice button", "10|100|1,000")
	first := b.text("#version")
	b.until(`version.textContent !== ` + quote(first))
	b.until(`[...document.querySelectorAll(".move-glyph")].some((e) => /[▲▼]|new/.test(e.textContent))`)
	b.visit(n.URL + "/?type=hashtag&window=1m&k=100")
	b.until(`list.querySelectorAll(".row:not(.bones)").length > 10`)
	// All time gets a list every minute. Until the first, the page says so.
	b.visit(n.URL + "/?type=video&window=all")
	b.until(`list.querySelectorAll(".row:not(.bones)").length === 10 || document.getElementById("quiet-text").textContent.includes("within a minute")`)
	if policy := n.get("/").header.Get("Content-Security-Policy"); !strings.Contains(policy, "default-src 'self'") {
		t.Errorf("the page is served with the policy %q", policy)
	}
}

func TestSharesPresetOnThePage(t *testing.T) {
	n := serve(t, t.TempDir(), "--demo", "--preset", "shares")
	b := open(t, n.URL, phone)
	b.until(`list.querySelectorAll(".row:not(.bones)").length === 10`)
	b.shows("#types button", "Article")
	b.shows("#windows button", "5 min|1 hour|24 hours")
	b.until(`document.querySelectorAll("select").length === 2`)
	eventually(t, "a share posted is on its list", func() bool {
		a := n.mustPost("/v1/shares", strings.NewReader(`{"article_id":"ours","category":"e2e"}`))
		if a.status != http.StatusAccepted {
			t.Fatalf("share: %d %s", a.status, a.body)
		}
		return n.get("/v1/top?category=e2e").status == http.StatusOK
	})
	b.visit(n.URL + "/?category=e2e")
	b.shows(".id, .title", "ours")
	b.until(`[...document.querySelectorAll("select")].map((s) => s.value).join() === "e2e,"`)
}
