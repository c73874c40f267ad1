// Package explain says everything that a node knows of one item on one board: what its counts are built from, how wrong
// they can be, and why it is on a list or not. It holds types alone: counting fills them in, the operator's endpoint sends
// them, and the command shows them.
package explain

import (
	"strconv"
	"time"

	"crest"
)

// Explanation is what is known of an item at one moment.
type Explanation struct {
	Type  string `json:"type"`
	Board string `json:"board"`
	ID    string `json:"id"`              // as it is counted
	Asked string `json:"asked,omitempty"` // as it was asked for, when that is another spelling

	Shard  int `json:"shard"` // the item's, from 0
	Shards int `json:"shards"`

	AsOf  Moment `json:"as_of"` // received time before which everything is in the fast path's figures
	Since Moment `json:"since"` // events received before are not in them; zero when all are

	Windows []Window `json:"windows"` // in the order of the configuration
	Rings   []Ring   `json:"rings"`   // what the windows are built from
	Exact   *Exact   `json:"exact"`   // nil when nothing has been counted again yet, or nothing ever is
}

// Estimate is a count that is never too low, and how much it can be too high. The truth lies in [Lower, Count].
type Estimate struct {
	Count uint64 `json:"count"`
	Error uint64 `json:"error"`
	Lower uint64 `json:"lower"`
}

// Estimated returns the estimate of that count and error.
func Estimated(count, maxError uint64) Estimate {
	return Estimate{Count: count, Error: maxError, Lower: count - min(maxError, count)}
}

// Window is an item's count in one window, and its place on the window's list.
type Window struct {
	Name       string   `json:"window"`
	From       Moment   `json:"from"`  // zero for all time
	AsOf       Moment   `json:"as_of"` // the moment that the estimate is for
	Estimate            // exact hours and estimated ones together
	Exact      uint64   `json:"exact"`       // the part of the count that comes from exactly counted hours
	Late       uint64   `json:"late"`        // the board's weight that came for those hours after they had been counted: any of it can be the item's
	ExactUntil Moment   `json:"exact_until"` // the seam: hours before it are exact, what is after is estimated; zero when all is estimated
	Listing    *Listing `json:"list"`        // nil before the first list
}

// Listing is the current list of a window, as far as it concerns the item.
type Listing struct {
	Version string `json:"version"`
	AsOf    Moment `json:"as_of"`
	Stale   bool   `json:"stale"`
	K       int    `json:"k"`       // entries that the list can have
	Entries int    `json:"entries"` // entries that it has
	Rank    int    `json:"rank"`    // of the item; 0 when it is not on the list
	Count   uint64 `json:"count"`   // of the item on the list; 0 when it is not on it
	Error   uint64 `json:"error"`   // likewise
	Proven  int    `json:"proven"`  // ranks 1 to this are certain
	Last    uint64 `json:"last"`    // count of the list's last entry
	Cutoff  uint64 `json:"cutoff"`  // no item off the list has more
	Removed bool   `json:"removed"` // the item was taken down
}

// Ring is a row of buckets of one width.
type Ring struct {
	Width   Span     `json:"width"`   // of a bucket; zero for the one of all time
	Windows []string `json:"windows"` // that are built from it
	Open    bool     `json:"open"`    // the open hours of all time are estimated from it
	Buckets []Bucket `json:"buckets"` // those held that have any weight, oldest first
}

// Bucket is an item's count in one slice of event time.
type Bucket struct {
	Start    Moment `json:"start"`
	Estimate        // of what is counted in the bucket
	Held     bool   `json:"held"`  // the item has counters of its own here; otherwise its count is what an item without them can have at most
	Exact    bool   `json:"exact"` // the hour that it lies in has been counted exactly
}

// Exact is what the recount found.
type Exact struct {
	First   Moment `json:"first"`    // start of the first hour that has been counted
	Until   Moment `json:"until"`    // end of the last one: the seam
	Since   Moment `json:"since"`    // events received before are in no hour; zero when there can be none
	AllTime uint64 `json:"all_time"` // the item's count over all hours
	Hours   []Hour `json:"hours"`    // the newest, up to 24, oldest first
}

// Hour is an item's exact count in one event hour.
type Hour struct {
	Start      Moment `json:"start"`
	Cut        Moment `json:"cut"` // everything received before is in it
	Count      uint64 `json:"count"`
	Duplicates uint64 `json:"duplicates"` // weight that was dropped as sent before
	Late       uint64 `json:"late"`       // the board's weight received for the hour after the cut, which the next count of it takes in
}

// Moment is a time that JSON gives in RFC 3339, and as null when it is zero.
type Moment crest.Millis

// Time returns the moment as a UTC time.
func (m Moment) Time() time.Time { return crest.Millis(m).Time() }

// MarshalJSON writes the moment.
func (m Moment) MarshalJSON() ([]byte, error) {
	if m == 0 {
		return []byte("null"), nil
	}
	return m.Time().MarshalJSON()
}

// UnmarshalJSON reads what MarshalJSON writes.
func (m *Moment) UnmarshalJSON(data []byte) error {
	*m = 0
	if string(data) == "null" {
		return nil
	}
	var t time.Time
	if err := t.UnmarshalJSON(data); err != nil {
		return err
	}
	*m = Moment(crest.MillisOf(t))
	return nil
}

// Span is a length of time that JSON gives as text, "10s", "1m0s".
type Span time.Duration

// MarshalJSON writes the length.
func (s Span) MarshalJSON() ([]byte, error) {
	return strconv.AppendQuote(nil, time.Duration(s).String()), nil
}

// UnmarshalJSON reads what MarshalJSON writes.
func (s *Span) UnmarshalJSON(data []byte) error {
	text, err := strconv.Unquote(string(data))
	if err != nil {
		return err
	}
	d, err := time.ParseDuration(text)
	*s = Span(d)
	return err
}
