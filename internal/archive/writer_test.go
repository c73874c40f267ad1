package archive

import (
	"slices"
	"testing"

	"crest"
)

func TestRowsAreTheEvents(t *testing.T) {
	for _, dimensions := range [][]string{nil, {"category"}, {"category", "region", "device", "app"}} {
		log := newFakeLog(noon)
		dir := t.TempDir()
		w := start(t, Config{Dir: dir, Dimensions: dimensions}, log)
		values := crest.Dimensions{"sports", "", "tv", "a"}
		for i := range values {
			if i >= len(dimensions) {
				values[i] = ""
			}
		}
		events := []crest.Event{
			{ID: id(1), Type: "video", Item: "a", Time: noon - 5*minute, Session: 7, Weight: 3},
			{ID: id(2), Type: "hashtag", Item: "käse", Spelling: "KÄSE", Time: noon + 3*second, Weight: 1, Generated: true, Dimensions: values},
			{ID: id(3), Type: "video", Item: "b", Time: noon - 70*hour, Weight: crest.MaxWeight},
		}
		log.add(dimensions, events...)
		w.commit(t)
		w.mustStop(t)
		got := readAll(t, dir)
		if len(got) != 3 {
			t.Fatalf("%d rows", len(got))
		}
		slices.SortFunc(got, func(a, b stored) int { return slices.Compare(a.ID[:], b.ID[:]) })
		for i, ev := range events {
			g := got[i]
			if g.ID != ev.ID || g.Type != ev.Type || g.Item != ev.Item || g.Spelling != ev.Spelling || g.Time != min(ev.Time, noon) || g.Received != noon ||
				g.Session != ev.Session || g.Weight != ev.Weight || g.Generated != ev.Generated ||
				g.Dimensions != valuesOf(ev.Dimensions) {
				t.Errorf("row %+v of event %+v", g, ev)
			}
		}
	}
}
