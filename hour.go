package crest

import "time"

// The moments at which the fast and the exact path meet.
const (
	// Slot is what the exact path counts received time in: an hour's count has everything received before a multiple of it.
	Slot = 10 * time.Minute

	// CloseAfter is how long after its end an event hour closes: what is received later is late for it.
	CloseAfter = Slot
)
