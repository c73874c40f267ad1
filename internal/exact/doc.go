// Package exact counts event hours again from the archive, each row of an id once, and keeps what it counted: per hour, as
// totals of the long windows and of all time, and as candidates for their lists.
//
// A [Recounter] writes, in rounds: one more closed hour, hours with late events, then totals, candidates and, as the moment at
// which all of it counts, the manifest. A [Snapshot] is what one manifest refers to, read only; a recounter may go on
// beside it, in this process or another.
//
// Nothing here depends on a clock or on chance: the same archive gives the same bytes, whatever was interrupted on the way.
// docs/formats/exact.md draws the files.
package exact
