// Package eventlog is the contract of the event log: the durability boundary between ingest and everything that
// counts. It also defines what a record holds ([Encoder], [Decoder]) and which partition an event goes to
// ([Partition]).
//
// Package logtest proves an implementation of the contract; disklog is the one for a single machine.
package eventlog

import (
	"context"
	"time"

	"crest"
)

// The limits of a record.
const (
	MaxRecordBytes = 16 << 20 // payload of one record
	MaxPartition   = 1<<16 - 1
)

// Offset is a position between two records of a log. Zero is the position before the first record that was ever
// appended. Compare offsets and store them; their distance means nothing. They stay the same when a log is reopened.
type Offset int64

// Append is one record to be.
type Append struct {
	Partition int    // 0 to MaxPartition
	Payload   []byte // 1 to MaxRecordBytes
}

// Record is one record as a reader gets it.
type Record struct {
	Partition int
	Received  crest.Millis // when the log took it; never less than that of the record before it
	Next      Offset       // the position after this record
	Payload   []byte       // belongs to the reader: valid, and not to be changed, until its next Read or Close
}

// Batch is a run of consecutive records.
type Batch struct {
	Records []Record // may be empty; valid as long as the payloads are
	Next    Offset   // where reading goes on

	// No record after Next is stamped earlier, so all that came before this moment has been read. The promise holds for
	// as long as the log is open: where the clock is set back between closing and opening, what comes then may be stamped
	// earlier than an idle reader's last watermark, though never earlier than the last record.
	Watermark crest.Millis
}

// Log is an append-only sequence of records, each belonging to a partition. All methods may be called concurrently.
type Log interface {
	// Append adds the records one after the other, stamps them all with one received time, and returns that. Stamps
	// never go back, not even when the clock does or the log is reopened. The payloads are copied before Append returns,
	// so the caller may reuse them at once, whatever the result.
	//
	// With durable, Append returns when the records are on disk, or sure not to be. Without it, Append returns as soon as
	// they are queued, and a crash or a failing disk can still lose them. Either way they are all kept or none of them
	// is, except that a crash may keep only the first few of those that were not known to be durable yet.
	//
	// Errors are a *crest.Error with these codes, or ctx's error if it ends while a durable Append waits; then the
	// records may or may not be kept.
	//   - CodeBehind: too much is waiting to be written. Append does not wait for room; retry later.
	//   - CodeLogUnavailable: writing failed. None of the records is kept. The log goes on; retry later.
	//   - CodeShuttingDown: the log has been closed.
	//   - CodeOutOfRange, CodeTooLong, CodeMissingField: a record or all of them together break a limit; don't retry.
	Append(ctx context.Context, records []Append, durable bool) (crest.Millis, error)

	// NewReader returns a reader that starts at from, which must be a Next of a batch, an end of Range, or 0. It fails
	// with a *TrimmedError when records from there on are no longer kept, and with a *BeyondError when the log ends
	// before from. Readers are independent of each other.
	NewReader(from Offset) (Reader, error)

	// Range returns the position of the oldest record kept and the one after the newest that readers can get.
	Range() (oldest, end Offset)

	// Close writes what is queued, makes readers and appenders return, and gives up the log. Its error tells of a
	// failure to do so. Close again does nothing.
	Close() error
}

// Reader reads a log in order. One goroutine may use it at a time; Close alone may be called from another.
type Reader interface {
	// Read returns the next records, of all partitions in the order of appending. Only records that a crash can't lose
	// any more are returned. When there are none, Read waits for some until wait has passed, then returns an empty
	// batch, whose watermark moves on with the log's clock. Watermarks never go back.
	//
	// Errors are ctx's, a *TrimmedError when retention has overtaken the reader, a *CorruptError when a record is
	// damaged, ErrClosed, or what the operating system reports. The position does not move on an error.
	Read(ctx context.Context, wait time.Duration) (Batch, error)

	// Close frees the reader; its last batch becomes invalid. The log stays open.
	Close() error
}
