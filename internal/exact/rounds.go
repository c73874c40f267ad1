package exact

import (
	"context"
	"sync"

	"crest"
)

// Recounter counts hours in rounds. Methods may be called concurrently; rounds take turns, also with those of other
// processes on the same directory.
type Recounter struct {
	config Config

	mu     sync.Mutex
	forced map[crest.Millis]bool
	verify bool // the next round is to verify the checksums of what lists need
}

// NewRecounter touches nothing on disk yet.
func NewRecounter(config Config) (*Recounter, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	config.setDefaults()
	return &Recounter{config: config, forced: map[crest.Millis]bool{}, verify: true}, nil
}

// Force has the next rounds count the hours that begin in [from, to) again, even if nothing of them has changed.
func (r *Recounter) Force(from, to crest.Millis) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for h := from.Floor(hourLength); h < to; h = h.Add(hourLength) {
		if h >= from {
			r.forced[h] = true
		}
	}
}

// Verify has the next round read all files that lists need and repair those that are damaged, as the first round does.
func (r *Recounter) Verify() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.verify = true
}

// Result is what a round did.
type Result struct {
	Counted  []HourResult // in the order in which they were counted
	Repaired []string     // files that were damaged or missing and are whole again
	Problems []Problem    // what could not be counted, and why
	First    crest.Millis // start of the first hour counted
	Until    crest.Millis // end of the last one of the unbroken run; 0 when there is none
	Done     bool         // nothing else is due until the archive goes on; otherwise call again
	Next     crest.Millis // the hour that is to be counted next; 0 when the archive has none yet
	Closes   crest.Millis // received time at which it closes
}

// HourResult is one hour's count.
type HourResult struct {
	Hour       crest.Millis
	Cut        crest.Millis // everything received before is in the count
	Reason     Reason
	Rows       int64  // of the archive, received before the cut
	Weight     uint64 // counted, of all types
	Duplicates uint64 // weight dropped as sent before
	Late       uint64 // of the weight counted, received after the hour's end
	Items      int64  // of all types
	Boards     int
	Bytes      int64 // of the hour's files
	Same       bool  // counted again with the same result
}

// Reason says why an hour was counted.
type Reason string

// The reasons for counting an hour.
const (
	ReasonClosed  Reason = "closed"  // for the first time
	ReasonLate    Reason = "late"    // events came after it had been counted
	ReasonForced  Reason = "forced"  // somebody asked for it
	ReasonDamaged Reason = "damaged" // its counts were damaged or missing
	ReasonEarlier Reason = "earlier" // an event came for an hour before the first one
	ReasonBoards  Reason = "boards"  // the configuration has other boards now
)

// Round does one step of what is due by the archive's state: the next closed hour, and with it hours that have to be counted
// again; then totals, candidates and the manifest. Interrupted anywhere, it has either happened or not. While another
// recounter is at work it waits, until ctx ends. Nothing that it meets in the archive or the counts is an error as long as the round
// can go on without: see Result.Problems.
func (r *Recounter) Round(ctx context.Context) (Result, error) {
	return Result{}, crest.Errorf(crest.CodeInternal, "", "not implemented")
}
