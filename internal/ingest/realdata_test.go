package ingest

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"testing"
	"time"

	"crest"
	"crest/hashtag"
	"crest/internal/config"
)

// TestRealFile posts a real file as it is, and compares with what is known of it (testdata/fight_tags_emoji.SOURCE.txt).
func TestRealFile(t *testing.T) {
	f, err := os.Open("../../testdata/fight_tags_emoji.ndjson.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	unzipped, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(unzipped)
	if err != nil {
		t.Fatal(err)
	}
	cfg := testConfig()
	cfg.Types = []config.Type{{Name: "hashtag", Normalize: "hashtag"}, {Name: "emoji"}}
	cfg.Dimensions = cfg.Dimensions[:1]
	cfg.Ingest.MaxEvents = 50_000
	log := &fakeLog{}
	soonAfter := time.Date(2017, 8, 27, 5, 15, 0, 0, time.UTC)
	in, err := New(cfg, log, func() time.Time { return soonAfter }, Observer{})
	if err != nil {
		t.Fatal(err)
	}
	log.schema = mustSchema(t, cfg)
	result, err := in.Ingest(t.Context(), Request{Body: body})
	if err != nil {
		t.Fatal(err)
	}
	if result.Accepted != 41_187 || result.Rejected != 0 || result.Clamped != 0 || result.Ignored != nil {
		t.Errorf("got %s", describe(result))
	}
	counts := map[string]int{}
	sessions := map[uint64]bool{}
	for _, ev := range log.events {
		counts[ev.Item]++
		sessions[ev.Session] = true
	}
	for item, want := range map[string]int{
		"😂": 7203, "🥊": 1763, "mayweathervmcgregor": 4592, "mcgregor": 2459, "mayweather": 1965, "maymac": 94,
	} {
		if counts[item] != want {
			t.Errorf("%s: %d, want %d", item, counts[item], want)
		}
	}
	if len(sessions) != 11_037 {
		t.Errorf("%d sessions, want 11,037", len(sessions))
	}
}

// TestNastyStrings posts each nasty string as an item and as a tag: it is counted as what it is, or refused for what is
// wrong with it, and no other event suffers.
func TestNastyStrings(t *testing.T) {
	f, err := os.Open("../../testdata/nasty_strings.ndjson")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var body bytes.Buffer
	var want []string
	refused := 0
	for s := bufio.NewScanner(f); s.Scan(); {
		var line struct{ S string }
		if err := json.Unmarshal(s.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		for _, typ := range []string{"video", "hashtag"} {
			event, err := json.Marshal(sample{Type: typ, Item: line.S})
			if err != nil {
				t.Fatal(err)
			}
			body.Write(append(event, '\n'))
			item := line.S
			if typ == "hashtag" {
				item = hashtag.Normalize(item)
			}
			if crest.CheckText("item", line.S, crest.MaxItemBytes) != nil || item == "" || len(item) > crest.MaxItemBytes {
				refused++
				continue
			}
			want = append(want, typ+" "+item)
		}
	}
	cfg := testConfig()
	cfg.Counting.Partitions, cfg.Ingest.MaxEvents = 1, 10_000
	in, log := newTestIngester(t, cfg)
	result, err := in.Ingest(t.Context(), Request{Body: body.Bytes()})
	if err != nil {
		t.Fatal(err)
	}
	if result.Accepted != len(want) || result.Rejected != refused || len(want)+refused != 2*620 {
		t.Errorf("%d accepted and %d rejected, want %d and %d", result.Accepted, result.Rejected, len(want), refused)
	}
	for i, ev := range log.events {
		if got := ev.Type + " " + ev.Item; i < len(want) && got != want[i] {
			t.Fatalf("event %d is %+q, want %+q", i, got, want[i])
		}
		if ev.Spelling == ev.Item {
			t.Errorf("%q is spelled like itself", ev.Item)
		}
	}
}
