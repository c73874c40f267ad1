package bench

import (
	"fmt"
	"math"

	"crest/sketch"
)

// classics are the structures that textbooks begin with, as package sketch has them.
func classics() []Contender {
	return []Contender{
		{Name: "Count-Min, plain", Certifies: true, New: newCountMin(false)},
		{Name: "Count-Min, conservative", Certifies: true, New: newCountMin(true)},
		{Name: "Space-Saving", Certifies: true, New: newSpaceSaving},
	}
}

// listedBytes is what the classics take for a key that they list: the heap's item and room to append, the key, and its
// part of the table.
const listedBytes = 48*5/4 + 16 + 16

const (
	countMinRows  = 5
	countMinCell  = 4
	countMinDelta = 0.007 // gives five rows
)

func newCountMin(conservative bool) func(budget, k int) (Counter, error) {
	return func(budget, k int) (Counter, error) {
		width := (budget - k*listedBytes) / countMinRows / countMinCell
		if width < 3 {
			return nil, fmt.Errorf("Count-Min: %d bytes are too few", budget)
		}
		c, err := sketch.NewCountMin(sketch.CountMinConfig{
			Epsilon: math.E / float64(width), Delta: countMinDelta, Conservative: conservative, List: k,
		})
		return single{c}, err
	}
}

func newSpaceSaving(budget, _ int) (Counter, error) {
	s, err := sketch.NewSpaceSaving(budget / listedBytes)
	return single{s}, err
}
