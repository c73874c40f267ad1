// Package rows reads files of events: NDJSON, CSV or TSV with a header, and plain text lines, compressed with gzip or
// zstd or not at all.
//
// It is built for files of many gigabytes on few cores. A [Reader] cuts a file into blocks of whole records, in order,
// on one goroutine; a [Parser] takes a block apart, and several parsers can work on several blocks at once. Nothing is
// copied: a field points into its block unless it had to be unescaped.
//
// Every input is bounded: a record has at most [MaxRecord] bytes, decompression has a memory limit. A bad record is
// refused by itself, with its line and the reason, and reading goes on behind it.
package rows
