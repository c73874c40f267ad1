package demo

import (
	"reflect"
	"testing"

	"crest"
	"crest/client"
)

func events(seed uint64, n int) []client.Event {
	t := New(seed, []Type{{Name: "video", Dimensions: []Dimension{{Name: "topic", Values: []string{"a", "b"}}, {Name: "region"}}}, {Name: "hashtag", Hashtags: true}})
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
		if ev.Session == "" {
			t.Fatalf("no session: %+v", ev)
		}
		if ev.ID != "" {
			t.Fatalf("the id is fixed, so a second run would count for nothing: %+v", ev)
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
	tr := New(1, []Type{{Name: "video"}, {Name: "hashtag", Hashtags: true}})
	for _, k := range tr.kinds {
		seen := map[string]bool{}
		for _, it := range k.items {
			if seen[it.id] {
				t.Errorf("%s %q is there twice", k.Name, it.id)
			}
			seen[it.id] = true
			if title, _, ok := tr.Title(k.Name, it.id); ok == k.Hashtags || ok && title == "" {
				t.Errorf("%s %q: title %q, %v", k.Name, it.id, title, ok)
			}
		}
	}
}

func TestDimensionsAreThoseAskedFor(t *testing.T) {
	topics, regions, topicOf := map[string]int{}, map[string]int{}, map[string]string{}
	for _, ev := range events(1, 200) {
		if ev.Type == "hashtag" {
			if ev.Dimensions != nil {
				t.Fatalf("hashtags have no dimensions: %+v", ev)
			}
			continue
		}
		topic := ev.Dimensions["topic"]
		topics[topic]++
		regions[ev.Dimensions["region"]]++
		if before, ok := topicOf[ev.Item]; ok && before != topic {
			t.Fatalf("item %s is of %s and of %s", ev.Item, before, topic)
		}
		topicOf[ev.Item] = topic
		if len(ev.Dimensions) != 2 {
			t.Fatalf("dimensions %v", ev.Dimensions)
		}
	}
	if len(topics) != 2 || topics["a"] == 0 || topics["b"] == 0 || len(regions) != 3 || regions["eu"] == 0 {
		t.Errorf("topics %v, regions %v", topics, regions)
	}
}
