package list

import "crest"

// Exact is what has been counted exactly: an unbroken run of whole event hours, de-duplicated. It never changes; a newer
// one takes its place. All methods may be called concurrently.
type Exact interface {
	// Reach says which hours have been counted.
	Reach() Reach

	// Cuts says of the hours from a moment to Until, ascending, up to which received time each was counted. An hour for
	// which no more events can come may be left out.
	Cuts(from crest.Millis) []Cut

	// Base says what is exact of a board over the hours [from, Until); from 0 means from First. A board without events has
	// an empty base. It is quick, apart from the first call for a board.
	Base(board string, from crest.Millis) (*Base, error)

	// Counts reads the exact counts of items over [from, Until), in the order of the ids.
	Counts(board string, from crest.Millis, ids []string) ([]uint64, error)
}

// Reach is how far exact counts go.
type Reach struct {
	First   crest.Millis // start of the first hour counted
	Until   crest.Millis // end of the last one; 0 when there is none
	Since   crest.Millis // events received before are in no hour; 0 when there can be none
	Through crest.Millis // nothing received from then on is in any count: no cut is later
}

// Cut says that an hour's count has everything that was received before a moment, a multiple of ten minutes.
type Cut struct{ Hour, Received crest.Millis }

// Base is the exact part of a board's window.
type Base struct {
	From, Until crest.Millis // From 0 for all time
	Total       uint64
	Duplicates  uint64 // weight dropped as sent before
	Candidates  []Candidate
	Rest        uint64 // no item that is not a candidate has more; 0 when the candidates are all there are
}

// Candidate is an item that is exactly counted often enough to be on a list: by count descending, then id ascending.
type Candidate struct {
	ID    string
	Count uint64
}
