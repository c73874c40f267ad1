package crest

import "time"

// Window is a length of time that ends now. It slides and never resets. It is built from buckets, so it covers the
// newest Length/Bucket buckets, the one being filled included: its reach grows within a bucket from Length - Bucket
// to Length. On a bucket's boundary it covers exactly Length.
type Window struct {
	Name    string
	Length  time.Duration // 0 means all time
	Bucket  time.Duration // width of its buckets; 0 for all time
	Refresh time.Duration // how often a new list is made
}

// AllTime reports whether the window never forgets.
func (w Window) AllTime() bool { return w.Length == 0 }

// Buckets returns how many buckets the window is built from.
func (w Window) Buckets() int {
	if w.AllTime() {
		return 1
	}
	return int(w.Length / w.Bucket)
}

// From returns the start of the window that ends at asOf. The zero moment means that all time has no start.
func (w Window) From(asOf Millis) Millis {
	if w.AllTime() {
		return 0
	}
	newest := (asOf - 1).Floor(w.Bucket)
	return newest.Add(w.Bucket - w.Length)
}

// StaleAfter returns the age of as_of from which a list of this window counts as stale: two refreshes, and at least
// two minutes.
func (w Window) StaleAfter() time.Duration {
	return max(2*time.Minute, 2*w.Refresh)
}
