// Package pipeline moves events from the log to the lists. It owns every long-lived goroutine that counts:
//
//   - one that reads the log, and drives everything by received time: [Pipeline.Run] itself
//   - one that merges reports into lists and publishes them
//   - one that writes checkpoints
//
// The reading goroutine works in phases, each spread over the processors and awaited before the next: aggregate (a
// goroutine a partition), flush (a goroutine a shard), report (a goroutine a shard). So partitions and shards need no
// lock, and what is counted when depends on the log alone: two pipelines on one log make the same lists.
package pipeline
