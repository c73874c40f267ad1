// Package shard turns the events of the log into the counts of the boards.
//
// An [Aggregator] takes the events of one partition: it drops ids seen before and sums weights per board, item and
// bucket. What it flushes are partials, grouped by the shard that their item lives on. A [Shard] adds each partial once
// to the bucket of every ring of its board, and reports its own top K.
//
// Everything here is pure: time comes with the events, and nothing is read or written. An Aggregator and a Shard each
// belong to one goroutine at a time.
package shard
