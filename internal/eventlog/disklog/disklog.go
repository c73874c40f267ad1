// Package disklog keeps the event log of one machine in a directory of segment files.
//
// All partitions share one file at a time, and appends that come in while a write is under way go to disk together
// with the next one (group commit): the number of fdatasync calls, not of bytes, limits a log. No delay is added to make
// groups larger; under load they get larger by themselves.
//
// A Log has one goroutine, the writer: Open starts it and Close waits for its end. docs/formats/log.md draws the files,
// docs/decisions/002-disk-log.md says why they are so.
package disklog

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"crest"
	"crest/internal/dirlock"
	"crest/internal/eventlog"
)

const lockName = "LOCK" // held by the process that has opened the log

// Log is an [eventlog.Log] in a directory.
type Log struct {
	cfg     Config
	storage storage
	lock    *dirlock.Lock

	mu       sync.Mutex
	work     sync.Cond     // the queue is no longer empty, or the log is closed
	segments []*segment    // oldest first; never empty
	newest   crest.Millis  // the latest stamp given or promised
	queue    *commit       // what the next write takes
	writing  *commit       // what is being written; nil when nothing is
	spare    []byte        // for the queue after the next
	usual    int           // bytes of a large commit of late
	failing  bool          // the last write failed
	changed  chan struct{} // closed when readers can get more; nil while none waits
	closed   bool

	retaining sync.Mutex
	ended     chan struct{} // closed when the writer has ended
	err       error         // what the writer could not write after Close was called

	// The writer's own.
	active    file // the last of segments
	abandoned bool // what is on disk of the active file after its end is not certain: begin another
}

var _ eventlog.Log = (*Log)(nil)

// Open opens the log in a directory, or makes one, and gets it into order after a crash.
func Open(cfg Config) (*Log, error) { return open(cfg, disk{}) }

func open(cfg Config, st storage) (*Log, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg.setDefaults()
	l := &Log{cfg: cfg, storage: st, ended: make(chan struct{})}
	l.work.L = &l.mu
	l.queue = newCommit(nil)
	if err := l.start(); err != nil {
		if l.active != nil {
			_ = l.active.Close()
		}
		if l.lock != nil {
			_ = l.lock.Close()
		}
		return nil, fmt.Errorf("open event log %s: %w", cfg.Dir, err)
	}
	go l.run()
	return l, nil
}

func (l *Log) start() (err error) {
	if err := l.makeDir(); err != nil {
		return err
	}
	if l.lock, err = dirlock.Take(l.cfg.Dir, lockName); err != nil {
		return err
	}
	segments, unfinished, err := listSegments(l.cfg.Dir)
	if err != nil {
		return err
	}
	limit := eventlog.Offset(0)
	if unfinished != nil {
		if err := l.storage.Remove(unfinished.path); err != nil {
			return fmt.Errorf("remove unfinished segment: %w", err)
		}
		limit = unfinished.base
	}
	if len(segments) == 0 {
		return l.begin(segmentHeader{base: limit})
	}
	l.segments = segments
	last := l.last()
	f, size, err := l.storage.Open(last.path)
	if err != nil {
		return err
	}
	l.active = f
	newest, recovery, err := recoverTail(f, size, last, limit)
	if err != nil {
		return fmt.Errorf("recover segment %s: %w", last.path, err)
	}
	l.newest = newest
	if f := l.cfg.Observer.Recovered; f != nil && (recovery.Cut > 0 || recovery.Damaged > 0) {
		f(recovery)
	}
	return l.storage.SyncDir(l.cfg.Dir)
}

func (l *Log) makeDir() error {
	if _, err := os.Stat(l.cfg.Dir); err == nil {
		return nil
	}
	if err := os.MkdirAll(l.cfg.Dir, 0o750); err != nil {
		return err
	}
	return l.storage.SyncDir(filepath.Dir(l.cfg.Dir))
}

// Append is [eventlog.Log.Append]. While writing fails, appends that are not durable wait like those that are, so that
// nothing is accepted into a log that loses it.
func (l *Log) Append(ctx context.Context, records []eventlog.Append, durable bool) (crest.Millis, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if err := l.check(records); err != nil {
		return 0, err
	}
	// Checksums are most of the work of an append, so they are made before taking the lock.
	var space [64]uint32
	sums := space[:0]
	for i := range records {
		sums = append(sums, checksum(records[i].Payload))
	}
	c, received, wait, err := l.enqueue(records, sums)
	if err != nil || len(records) == 0 || !durable && !wait {
		return received, err
	}
	select {
	case <-c.done:
		if c.err != nil {
			return 0, c.err
		}
		return received, nil
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

func (l *Log) check(records []eventlog.Append) error {
	size := 0
	for i, r := range records {
		switch {
		case len(r.Payload) == 0:
			return crest.Errorf(crest.CodeMissingField, "payload", "of record %d is empty", i)
		case len(r.Payload) > eventlog.MaxRecordBytes:
			return crest.Errorf(crest.CodeTooLong, "payload", "of record %d has %d bytes; at most %d are allowed", i, len(r.Payload), eventlog.MaxRecordBytes)
		case r.Partition < 0 || r.Partition > eventlog.MaxPartition:
			return crest.Errorf(crest.CodeOutOfRange, "partition", "of record %d is %d; it must be from 0 to %d", i, r.Partition, eventlog.MaxPartition)
		}
		size += frameHeaderBytes + len(r.Payload)
	}
	if size > l.cfg.MaxPendingBytes {
		return crest.Errorf(crest.CodeTooLong, "records", "have %d bytes together; the log takes at most %d at once", size, l.cfg.MaxPendingBytes)
	}
	return nil
}

// enqueue puts the records into the queue. It returns the commit that they will be part of, and whether the caller
// should wait for it though it doesn't ask for durability.
func (l *Log) enqueue(records []eventlog.Append, sums []uint32) (c *commit, received crest.Millis, wait bool, err error) {
	size := 0
	for i := range records {
		size += frameHeaderBytes + len(records[i].Payload)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, 0, false, crest.Errorf(crest.CodeShuttingDown, "", "the event log is closed")
	}
	if queued := l.queued(); queued+size > l.cfg.MaxPendingBytes {
		return nil, 0, false, crest.Errorf(crest.CodeBehind, "", "the event log has %d bytes waiting to be written; retry later", queued)
	}
	received = l.tick()
	c = l.queue
	if len(records) == 0 {
		return c, received, false, nil
	}
	if len(c.buf) == 0 {
		l.work.Signal()
		c.first = received
	}
	c.records += len(records)
	for i, r := range records {
		h := frameHeader{length: len(r.Payload), partition: r.Partition, received: received, back: int64(len(c.buf)), sum: sums[i]}
		c.buf = append(h.appendTo(c.buf), r.Payload...)
	}
	return c, received, l.failing, nil
}

// tick returns the time for a stamp or a promise about stamps: the clock's, but never less than before.
func (l *Log) tick() crest.Millis {
	l.newest = max(l.newest, crest.MillisOf(l.cfg.Now()))
	return l.newest
}

func (l *Log) queued() int {
	n := len(l.queue.buf)
	if l.writing != nil {
		n += len(l.writing.buf)
	}
	return n
}

// Queued returns the bytes that are waiting to be written or being written.
func (l *Log) Queued() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.queued()
}

// Size returns the bytes of all segments.
func (l *Log) Size() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.size()
}

func (l *Log) size() int64 {
	total := int64(0)
	for _, s := range l.segments {
		total += s.size()
	}
	return total
}

// Range is [eventlog.Log.Range].
func (l *Log) Range() (oldest, end eventlog.Offset) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.segments[0].base, l.last().end
}

func (l *Log) last() *segment { return l.segments[len(l.segments)-1] }

// Close is [eventlog.Log.Close].
func (l *Log) Close() error {
	l.mu.Lock()
	first := !l.closed
	l.closed = true
	l.work.Signal()
	l.mu.Unlock()
	<-l.ended
	if !first {
		return nil
	}
	l.retaining.Lock() // let a Retain that is under way finish before another process may open the log
	defer l.retaining.Unlock()
	return errors.Join(l.err, l.active.Close(), l.lock.Close())
}

// segmentAt returns the index of the segment that holds the record at an offset, or will hold it.
func (l *Log) segmentAt(at eventlog.Offset) int {
	i, found := slices.BinarySearchFunc(l.segments, at, func(s *segment, at eventlog.Offset) int {
		return int(min(max(s.base-at, -1), 1))
	})
	if !found {
		i--
	}
	return i
}
