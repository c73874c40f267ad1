// Package window builds sliding windows out of the bucket summaries of package sketch.
//
// A [Ring] holds the newest buckets of one board on one shard. Every weight is added once, to the bucket of its event
// time. Several windows share a ring; each keeps running totals of its buckets, adjusted only for the bucket that
// settles and the one that expires, so a refresh costs the same for 6 buckets and for 360.
//
// # Guarantee
//
// For every item, the truth over the window's buckets lies in [Count - Error, Count]; an item that a [Report] leaves
// out has at most Cutoff. While no bucket had to evict, counts are exact and errors 0.
//
// # Time
//
// Time comes in as a parameter. Add and Advance move the ring forwards, never back. The newest two buckets are open:
// a refresh reads them as they are. Older ones have settled, and a late weight that meets a settled bucket adjusts the
// totals of its windows at once.
//
// # Concurrency
//
// A Ring belongs to one goroutine at a time. It starts none and keeps no clock.
package window
