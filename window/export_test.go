package window

import (
	"math"

	"crest"
)

// Oldest returns the start of the oldest bucket held. Before the ring has been moved it is the end of all time.
func (r *Ring) Oldest() crest.Millis {
	if !r.started {
		return math.MaxInt64
	}
	return crest.Millis(r.oldest() * r.config.Width.Milliseconds())
}
