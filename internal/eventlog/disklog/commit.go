package disklog

import (
	"errors"
	"fmt"
	"time"

	"crest"
	"crest/internal/eventlog"
)

// commit is what is written and made durable at once.
type commit struct {
	buf     []byte // frames
	records int
	first   crest.Millis  // stamp of the first record
	done    chan struct{} // closed when err is final
	err     error
}

// keepBytes is how large a buffer may be to be kept however little is written.
const keepBytes = 4 << 20

func newCommit(buf []byte) *commit { return &commit{buf: buf[:0], done: make(chan struct{})} }

// run is the writer: it takes what is queued, writes it, and starts again, until the log is closed and the queue empty.
func (l *Log) run() {
	defer close(l.ended)
	for {
		c := l.take()
		if c == nil {
			return
		}
		l.finish(c, l.write(c))
	}
}

// take waits for work; it returns nil when none will come any more.
func (l *Log) take() *commit {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.queue.buf) == 0 {
		if l.closed {
			l.wakeReaders()
			return nil
		}
		l.work.Wait()
	}
	c := l.queue
	l.writing = c
	l.queue = newCommit(l.spare)
	l.spare = nil
	return c
}

// write makes the commit durable as the end of the log, or leaves the log as it was.
func (l *Log) write(c *commit) error {
	seg := l.activeSegment()
	if l.abandoned || seg.size() >= l.cfg.SegmentBytes {
		if err := l.roll(seg, c.first); err != nil {
			return fmt.Errorf("begin segment: %w", err)
		}
		seg = l.activeSegment()
	}
	at := seg.size()
	if _, err := l.active.WriteAt(c.buf, at); err != nil {
		// Usually the disk is full. Cutting off what did get in makes room, and the next append may fit.
		if cut := l.active.Truncate(at); cut != nil {
			l.abandoned = true
		}
		return fmt.Errorf("write %s: %w", seg.path, err)
	}
	start := time.Now()
	if err := l.active.Sync(); err != nil {
		// The system may have dropped the pages and would call the next attempt on them a success. So nothing more
		// goes into this file; where the next one begins tells that this one ends before them.
		l.abandoned = true
		_ = l.active.Truncate(at) // which only saves space
		return fmt.Errorf("sync %s: %w", seg.path, err)
	}
	if f := l.cfg.Observer.Committed; f != nil {
		f(Commit{Bytes: len(c.buf), Sync: time.Since(start)})
	}
	return nil
}

// finish tells everybody what became of a commit.
func (l *Log) finish(c *commit, err error) {
	if err != nil {
		if f := l.cfg.Observer.Lost; f != nil {
			f(c.records, len(c.buf), err)
		}
		c.err = fmt.Errorf("%w: %w", crest.Errorf(crest.CodeLogUnavailable, "", "the event log can't be written"), err)
	}
	l.mu.Lock()
	if l.closed {
		l.err = errors.Join(l.err, c.err)
	}
	l.failing = err != nil
	if err == nil {
		l.last().end += eventlog.Offset(len(c.buf))
	}
	l.writing = nil
	// The buffer is for the queue after the next, unless it grew in a peak that is over.
	l.usual = max(len(c.buf), l.usual-l.usual/1024)
	if cap(c.buf) <= max(keepBytes, 4*l.usual) {
		l.spare = c.buf
	}
	l.wakeReaders()
	l.mu.Unlock()
	c.buf = nil
	close(c.done)
}

func (l *Log) wakeReaders() {
	if l.changed != nil {
		close(l.changed)
		l.changed = nil
	}
}

func (l *Log) activeSegment() *segment {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last()
}

// roll begins the segment after seg; floor is the stamp of its first record.
func (l *Log) roll(seg *segment, floor crest.Millis) error {
	full := l.active
	if err := l.begin(segmentHeader{base: seg.end, floor: floor}); err != nil {
		return err
	}
	_ = full.Close() // all that counts in it is on disk
	return nil
}

// begin makes a new, empty segment the active one. It is on disk before anything relies on it.
func (l *Log) begin(h segmentHeader) error {
	seg := newSegment(l.cfg.Dir, h)
	f, err := l.storage.Create(seg.path)
	if err != nil {
		return err
	}
	if _, err = f.WriteAt(h.encode(), 0); err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = l.storage.SyncDir(l.cfg.Dir)
	}
	if err != nil {
		_ = f.Close() // the next attempt makes it anew
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	// A segment that was abandoned before it had a record has the same place.
	if n := len(l.segments); n > 0 && l.segments[n-1].base == h.base {
		l.segments = l.segments[:n-1]
	}
	l.segments = append(l.segments, seg)
	l.active, l.abandoned = f, false
	return nil
}
