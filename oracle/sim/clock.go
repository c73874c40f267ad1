package sim

import (
	"sync"
	"time"

	"crest"
)

// Clock is the time of a simulation. It moves when it is told to.
type Clock struct {
	mu      sync.Mutex
	now     crest.Millis
	changed chan struct{}
}

// NewClock returns a clock that stands at a moment.
func NewClock(now crest.Millis) *Clock { return &Clock{now: now, changed: make(chan struct{})} }

// Now is what takes the place of time.Now.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now.Time()
}

// Set moves the clock forwards and wakes those who wait for that.
func (c *Clock) Set(now crest.Millis) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now <= c.now {
		return
	}
	c.now = now
	close(c.changed)
	c.changed = make(chan struct{})
}

// next returns a channel that is closed when the clock moves, and where it stands.
func (c *Clock) next() (<-chan struct{}, crest.Millis) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.changed, c.now
}
