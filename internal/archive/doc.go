// Package archive keeps every event of the log in Parquet files by event hour, for whoever counts exactly: a [Writer] follows
// the log at its own offset, a [View] is what another process, or this one, reads of it.
//
// Rows of an hour, over its files in order, are in the order of the log. The state, the manifests and the files change in
// commits: at every multiple of [crest.Slot] of received time, when a writer is asked to, and when it ends. What a commit has
// not finished is never seen and is written again after a crash, so each record of the log is in the archive once.
//
// docs/formats/archive.md draws the files.
package archive
