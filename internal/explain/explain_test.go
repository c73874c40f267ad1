package explain

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"
)

func TestExplanationSurvivesJSON(t *testing.T) {
	const hour = 3_600_000
	noon := Moment(1_796_040_000_000)
	want := Explanation{
		Type: "hashtag", Board: "hashtag", ID: "foobar", Asked: "#FooBar", Shard: 3, Shards: 64, AsOf: noon, Since: noon - 30*hour,
		Windows: []Window{{
			Name: "24h", From: noon - 24*hour, AsOf: noon, Estimate: Estimated(120, 20), Exact: 90, Late: 1, ExactUntil: noon - hour,
			Listing: &Listing{Version: "v", AsOf: noon, K: 10, Entries: 10, Rank: 2, Count: 119, Error: 20, Proven: 1, Last: 50, Cutoff: 49},
		}},
		Rings: []Ring{{
			Width: Span(time.Minute), Windows: []string{"1h"}, Open: true,
			Buckets: []Bucket{{Start: noon - 60_000, Estimate: Estimated(5, 9), Held: true, Exact: true}},
		}},
		Exact: &Exact{First: noon - 48*hour, Until: noon - hour, AllTime: 90, Hours: []Hour{{Start: noon - 2*hour, Cut: noon - hour + 600_000, Count: 90, Duplicates: 2, Late: 1}}},
	}
	text, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got Explanation
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("came back as\n%+v\nnot\n%+v\nfrom %s", got, want, text)
	}
	if lower := got.Rings[0].Buckets[0].Lower; lower != 0 {
		t.Errorf("an error above the count leaves %d at least", lower)
	}
}

func TestZeroMomentIsNull(t *testing.T) {
	text, err := json.Marshal(struct{ At Moment }{})
	if err != nil || string(text) != `{"At":null}` {
		t.Errorf("%s, %v", text, err)
	}
	at := Moment(5)
	if err := json.Unmarshal([]byte("null"), &at); err != nil || at != 0 {
		t.Errorf("null became %d, %v", at, err)
	}
	for _, bad := range []string{`"yesterday"`, `7`} {
		if err := json.Unmarshal([]byte(bad), &at); err == nil {
			t.Errorf("%s became a moment", bad)
		}
	}
	var s Span
	for _, bad := range []string{`"long"`, `7`} {
		if err := json.Unmarshal([]byte(bad), &s); err == nil {
			t.Errorf("%s became a length of time", bad)
		}
	}
}
