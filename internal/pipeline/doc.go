// Package pipeline moves events from the log to the lists. It owns every long-lived goroutine that counts:
//
//   - one that reads the log, and drives everything by received time: [Pipeline.Run] itself
//   - one that merges reports into lists and publishes them
//   - one that writes checkpoints
//
// The reading goroutine works in phases, each spread over the processors and awaited before the next: aggregate
// (partition by partition), flush and report (shard by shard). A partition or shard is in the hands of one goroutine at a
// time, so they need no lock, and what is counted when depends on the log alone: two pipelines on one log make lists with
// the same counts.
package pipeline
