package exact

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"crest"
	"crest/internal/archive"
	"crest/internal/dirlock"
	"crest/internal/durable"
)

// Recounter counts hours in rounds. Methods may be called concurrently; rounds take turns, also with those of other
// processes on the same directory.
type Recounter struct {
	config  Config
	storage durable.Files

	mu     sync.Mutex
	forced map[crest.Millis]bool
	verify bool            // the next round is to verify the checksums of what lists need
	asked  int             // how often Verify was called
	told   map[string]bool // problems that there are

	turn   sync.Mutex         // of rounds: held together with the directory's lock
	failed map[string]failure // what could not be counted, by what it was to be counted from
}

// NewRecounter touches nothing on disk yet.
func NewRecounter(config Config) (*Recounter, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	config.setDefaults()
	return &Recounter{
		config: config, storage: durable.Disk{}, forced: map[crest.Millis]bool{}, verify: true,
		failed: map[string]failure{},
	}, nil
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

// Verify has the next round read all files that lists need and repair those that are damaged, as the first round does. It
// also tries again what could not be counted.
func (r *Recounter) Verify() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.verify = true
	r.asked++
}

// Result is what a round did.
type Result struct {
	Counted  []HourResult // in the order in which they were counted
	Repaired []string     // files that were damaged or missing and are whole again
	Problems []Problem    // what could not be counted, and why
	First    crest.Millis // start of the first hour counted
	Until    crest.Millis // end of the last one of the unbroken run; 0 when there is none
	Done     bool         // nothing was due, or nothing of it could be done: call again when the archive has gone on
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
	Items      int64  // over all boards
	Boards     int
	Bytes      int64 // of the hour's files
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
// recounter is at work it waits, until ctx ends. Damage is an error only when a round can't go on around it: what it is and what
// it keeps from being counted is in Result.Problems.
func (r *Recounter) Round(ctx context.Context) (Result, error) {
	if err := os.MkdirAll(r.config.Dir, durable.DirMode); err != nil {
		return Result{}, fmt.Errorf("recount: %w", err)
	}
	lock, err := dirlock.Wait(ctx, r.config.Dir, lockName, func(holder string) {
		if f := r.config.Observer.Waiting; f != nil {
			f(holder)
		}
	})
	if err != nil {
		return Result{}, fmt.Errorf("lock the exact counts: %w", err)
	}
	defer func() { _ = lock.Close() }()
	r.turn.Lock()
	defer r.turn.Unlock()
	r.mu.Lock()
	verify, asked := r.verify, r.asked
	r.mu.Unlock()
	r.forgetFailed(verify)
	for try := 1; ; try++ {
		x, err := r.begin(ctx)
		if err == nil {
			err = x.run(ctx)
		}
		switch {
		case err == nil:
			r.end(x, asked)
			return x.result, nil
		case !errors.Is(err, archive.ErrReplaced) || try == readTries:
			return Result{}, fmt.Errorf("recount: %w", err)
		}
	}
}

// end takes note of what need not be done again. Asked is how often Verify had been called when the round began.
func (r *Recounter) end(x *round, asked int) {
	r.mu.Lock()
	r.verify = r.asked != asked
	for _, c := range x.result.Counted {
		delete(r.forced, c.Hour)
	}
	told := map[string]bool{}
	var news []Problem
	for _, p := range x.result.Problems {
		delete(r.forced, p.Hour)
		if text := p.Error(); !told[text] {
			told[text] = true
			if !r.told[text] {
				news = append(news, p)
			}
		}
	}
	r.told = told
	r.mu.Unlock()
	if f := r.config.Observer.Problem; f != nil {
		for _, p := range news {
			f(p)
		}
	}
}
