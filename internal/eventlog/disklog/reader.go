package disklog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"time"

	"crest"
	"crest/internal/eventlog"
)

// readBytes is how much is read at once. Larger records are read whole.
const readBytes = 1 << 20

// reader is an [eventlog.Reader].
type reader struct {
	log   *Log
	done  chan struct{} // closed by Close
	close sync.Once

	busy      sync.Mutex // held while reading, so that Close doesn't pull the file away
	next      eventlog.Offset
	watermark crest.Millis
	seg       *segment // that file belongs to
	file      *os.File
	buf       []byte
	records   []eventlog.Record
}

// NewReader is [eventlog.Log.NewReader].
func (l *Log) NewReader(from eventlog.Offset) (eventlog.Reader, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch oldest, end := l.segments[0].base, l.last().end; {
	case l.closed:
		return nil, eventlog.ErrClosed
	case from < oldest:
		return nil, &eventlog.TrimmedError{From: from, Oldest: oldest}
	case from > end:
		return nil, &eventlog.BeyondError{From: from, End: end}
	}
	return &reader{log: l, next: from, done: make(chan struct{})}, nil
}

// view is what the log has for a reader at one moment.
type view struct {
	seg       *segment
	size      int             // bytes of the segment that can be read
	last      bool            // nothing can be read after them
	watermark crest.Millis    // when all has been read
	changed   <-chan struct{} // closed when there may be more
}

// look returns what there is to read at an offset.
func (l *Log) look(at eventlog.Offset) (view, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return view{}, eventlog.ErrClosed
	}
	if oldest := l.segments[0].base; at < oldest {
		return view{}, &eventlog.TrimmedError{From: at, Oldest: oldest}
	}
	i := l.segmentAt(at)
	seg := l.segments[i]
	v := view{seg: seg, size: int(seg.end - at), last: i == len(l.segments)-1}
	switch {
	case l.writing != nil:
		v.watermark = l.writing.first
	case len(l.queue.buf) > 0:
		v.watermark = l.queue.first
	default:
		v.watermark = l.tick()
	}
	if v.size == 0 {
		if l.changed == nil {
			l.changed = make(chan struct{})
		}
		v.changed = l.changed
	}
	return v, nil
}

// Read is [eventlog.Reader.Read].
func (r *reader) Read(ctx context.Context, wait time.Duration) (eventlog.Batch, error) {
	r.busy.Lock()
	defer r.busy.Unlock()
	var timer <-chan time.Time // started when it is certain that there is something to wait for
	for {
		select {
		case <-r.done:
			return eventlog.Batch{}, eventlog.ErrClosed
		default:
		}
		if err := ctx.Err(); err != nil {
			return eventlog.Batch{}, err
		}
		v, err := r.log.look(r.next)
		if err != nil {
			return eventlog.Batch{}, err
		}
		if v.size > 0 {
			b, err := r.read(v)
			if errors.Is(err, fs.ErrNotExist) && r.trimmed() {
				continue // the segment has been deleted since; look says so
			}
			return b, err
		}
		if wait <= 0 {
			return r.batch(nil, r.next, v.watermark), nil
		}
		if timer == nil {
			t := time.NewTimer(wait)
			defer t.Stop()
			timer = t.C
		}
		select {
		case <-v.changed:
		case <-timer:
			wait = 0
		case <-ctx.Done():
		case <-r.done:
		}
	}
}

func (r *reader) trimmed() bool {
	oldest, _ := r.log.Range()
	return r.next < oldest
}

func (r *reader) batch(records []eventlog.Record, next eventlog.Offset, watermark crest.Millis) eventlog.Batch {
	r.next = next
	r.watermark = max(r.watermark, watermark)
	return eventlog.Batch{Records: records, Next: next, Watermark: r.watermark}
}

// read returns the next records of the segment, at least one.
func (r *reader) read(v view) (eventlog.Batch, error) {
	if err := r.open(v.seg); err != nil {
		return eventlog.Batch{}, err
	}
	if err := r.fill(v, min(v.size, readBytes)); err != nil {
		return eventlog.Batch{}, err
	}
	h, ok := parseFrameHeader(r.buf)
	if !ok || frameHeaderBytes+h.length > v.size {
		return eventlog.Batch{}, r.corrupt(v, 0, "no intact record begins here")
	}
	if frame := frameHeaderBytes + h.length; frame > len(r.buf) {
		if err := r.fill(v, frame); err != nil {
			return eventlog.Batch{}, err
		}
	}
	return r.parse(v)
}

// parse returns the whole frames of the buffer, of which the first is known to be whole.
func (r *reader) parse(v view) (eventlog.Batch, error) {
	r.records = r.records[:0]
	at := 0
	newest := crest.Millis(0)
	for at < len(r.buf) {
		h, ok := parseFrameHeader(r.buf[at:])
		from := at + frameHeaderBytes
		if ok && from+h.length <= len(r.buf) {
			payload := r.buf[from : from+h.length : from+h.length]
			if checksum(payload) == h.sum {
				at = from + h.length
				r.records = append(r.records, eventlog.Record{
					Partition: h.partition, Received: h.received, Next: r.next + eventlog.Offset(at), Payload: payload,
				})
				newest = h.received
				continue
			}
		}
		if at == 0 {
			return eventlog.Batch{}, r.corrupt(v, at, "its checksum is wrong")
		}
		break // the frame goes on beyond the buffer, or is damaged; the next Read tells
	}
	if at == v.size && v.last {
		newest = v.watermark
	}
	return r.batch(r.records, r.next+eventlog.Offset(at), newest), nil
}

// fill reads n bytes from the reader's position on.
func (r *reader) fill(v view, n int) error {
	if cap(r.buf) < n {
		r.buf = make([]byte, max(n, min(2*cap(r.buf), readBytes)))
	}
	r.buf = r.buf[:n]
	read, err := r.file.ReadAt(r.buf, v.seg.position(r.next))
	if read == n {
		return nil
	}
	if !errors.Is(err, io.EOF) {
		return fmt.Errorf("read segment: %w", err)
	}
	if read < frameHeaderBytes {
		return r.corrupt(v, 0, "the file ends early")
	}
	r.buf = r.buf[:read]
	return nil
}

// corrupt describes the damage of the frame that begins at a place of the buffer, and looks for where it ends.
func (r *reader) corrupt(v view, at int, reason string) error {
	begin := v.seg.position(r.next)
	s := scanner{r: r.file, end: begin + int64(v.size)}
	resume, err := s.after(begin + int64(at))
	if err != nil {
		resume = s.end // what is to be searched can't be read
	}
	return &eventlog.CorruptError{
		Path:   v.seg.path,
		Offset: r.next + eventlog.Offset(at),
		Resume: r.next + eventlog.Offset(resume-begin),
		Reason: reason,
	}
}

// open makes the file of a segment the one that is read.
func (r *reader) open(seg *segment) error {
	if r.seg == seg {
		return nil
	}
	f, err := os.Open(seg.path)
	if err != nil {
		return fmt.Errorf("open segment: %w", err)
	}
	r.closeFile()
	r.seg, r.file = seg, f
	return nil
}

func (r *reader) closeFile() {
	if r.file != nil {
		_ = r.file.Close() // it was only read
	}
	r.seg, r.file = nil, nil
}

// Close is [eventlog.Reader.Close].
func (r *reader) Close() error {
	r.close.Do(func() { close(r.done) })
	r.busy.Lock()
	defer r.busy.Unlock()
	r.closeFile()
	r.buf, r.records = nil, nil
	return nil
}
