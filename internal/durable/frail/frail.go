// Package frail says which operations of a test's disk fail, and what is on it after a loss of power.
package frail

import (
	"math/rand/v2"
	"syscall"
)

// Fault is a way in which a disk fails.
type Fault int

// The ways in which a disk fails.
const (
	Failure   Fault = iota // the operation does nothing, or half of what it should, and fails
	Outage                 // so do it and the next few
	PowerLoss              // so do it and all that come after
)

// String names the fault.
func (f Fault) String() string { return [...]string{"failure", "outage", "power loss"}[f] }

// Plan is when a disk fails. It is for one goroutine at a time.
type Plan struct {
	Rand *rand.Rand
	Dead chan struct{} // closed when the power goes

	failAt int // counted down with each operation
	fault  Fault
	lasts  int // operations of an outage
}

// New returns a plan by which the failAt-th operation, counted from 1, is the first to fail.
func New(r *rand.Rand, failAt int, f Fault) Plan {
	return Plan{Rand: r, Dead: make(chan struct{}), failAt: failAt, fault: f, lasts: 2 + r.IntN(6)}
}

// Operation says whether this one fails.
func (p *Plan) Operation() error {
	p.failAt--
	if p.failAt == 0 && p.fault == PowerLoss {
		close(p.Dead)
	}
	if p.failAt == 0 || p.failAt < 0 && (p.fault == PowerLoss || p.fault == Outage && p.failAt > -p.lasts) {
		return syscall.ENOSPC
	}
	return nil
}

// Survived reports whether no operation has failed yet.
func (p *Plan) Survived() bool { return p.failAt > 0 }

// Mixed returns what may be on disk of a file that was synced as before and holds now.
func (p *Plan) Mixed(before, now []byte) []byte {
	size := min(len(before), len(now))
	size += p.Rand.IntN(max(len(before), len(now)) - size + 1)
	result := make([]byte, size)
	const sector = 64
	for at := 0; at < size; at += sector {
		from := now
		if p.Rand.IntN(3) == 0 {
			from = before
		}
		if at < len(from) {
			copy(result[at:min(at+sector, size)], from[at:])
		}
	}
	return result
}
