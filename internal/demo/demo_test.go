package demo

import (
	"reflect"
	"testing"

	"crest"
	"crest/client"
)

func events(seed uint64, n int) []client.Event {
	t := New(seed, []string{"video", "hashtag"}, map[string]bool{"hashtag": true}, map[string]bool{"video": true})
	var all []client.Event
	for i := range 60 {
		all = append(all, t.Events(n, crest.Millis(1_700_000_000_000+1000*i))...)
	}
	return all
}

func TestTrafficDependsOnSeedAndTimeAlone(t *testing.T) {
	a, b := events(1, 50), events(1, 50)
	if !reflect.DeepEqual(a, b) {
		t.Fatal("the same seed gave other events")
	}
	if c := events(2, 50); reflect.DeepEqual(c[0], a[0]) {
		t.Fatal("another seed gave the same event")
	}
}

func TestTrafficIsSkewedAndEveryEventIsValid(t *testing.T) {
	counts := map[string]int{}
	for _, ev := range events(1, 1000) {
		if err := crest.CheckText("item", ev.Item, crest.MaxItemBytes); err != nil {
			t.Fatal(err)
		}
		if ev.ID == "" || ev.Session == "" {
			t.Fatalf("no id or session: %+v", ev)
		}
		counts[ev.Type+"/"+ev.Item]++
	}
	most := 0
	for _, n := range counts {
		most = max(most, n)
	}
	if len(counts) < 500 || most < 60_000/100 {
		t.Fatalf("%d items, the most frequent %d times of 60000", len(counts), most)
	}
}

func TestItemsHaveTitlesAndDistinctNames(t *testing.T) {
	tr := New(1, []string{"video", "hashtag"}, map[string]bool{"hashtag": true}, nil)
	for _, k := range tr.kinds {
		seen := map[string]bool{}
		for _, it := range k.items {
			if seen[it.id] {
				t.Errorf("%s %q is there twice", k.typ, it.id)
			}
			seen[it.id] = true
			if title, _, ok := tr.Title(k.typ, it.id); ok == k.spell || ok && title == "" {
				t.Errorf("%s %q: title %q, %v", k.typ, it.id, title, ok)
			}
		}
	}
}
