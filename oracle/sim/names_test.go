package sim

import (
	"math/rand/v2"
	"testing"

	"crest/hashtag"
)

func TestNamesAndNumbers(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 1)) // seed 5
	for range 5000 {
		item := r.Int32N(10_000_000)
		for _, n := range []naming{codes{}, tags{}} {
			if got, ok := n.item(n.id(item)); !ok || got != item {
				t.Fatalf("%q of %d is %d, %v", n.id(item), item, got, ok)
			}
		}
		for variant := range 6 {
			if got := hashtag.Normalize(tags{}.spelling(item, variant)); got != (tags{}.id(item)) {
				t.Fatalf("%q becomes %q, not %q", tags{}.spelling(item, variant), got, tags{}.id(item))
			}
		}
	}
	for _, bad := range []string{"", "7", "word", "word07", "Word7", "wörd7"} {
		if item, ok := (tags{}).item(bad); ok {
			t.Errorf("%q is taken for item %d", bad, item)
		}
	}
}
