package archive

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"crest"
	"crest/internal/eventlog"
)

// idle is how long a read of the log waits before requests are looked at and the watermark moves without events.
const idle = 20 * time.Millisecond

// drainTimeout bounds how long a stop waits for what is in the log already.
const drainTimeout = 10 * time.Second

// clockTolerance is how far the log's clock may have gone back over a restart. What it stamps until it has caught up counts
// as received at the archive's watermark.
const clockTolerance = crest.CloseAfter

// feed reads the log, and gives the sink blocks of rows and the commits between them.
type feed struct {
	w       *Writer
	log     eventlog.Log
	out     chan<- step
	failed  <-chan struct{} // closed when the sink has failed
	free    <-chan *block
	decoder *eventlog.Decoder
	types   map[string]string // each name once
	typ     string            // the last one
	event   crest.Event

	state     State // as of the last commit that was sent
	offset    eventlog.Offset
	watermark crest.Millis // of what has been read
	slotEnd   crest.Millis // when the next commit is due, 0 before anything is known
	gap       bool         // records before the next have been lost, or left out
	oldest    crest.Millis // hour that there is something of
	open      map[crest.Millis]*block
	current   *block
}

// step is what the sink does next: write a block, or commit.
type step struct {
	block *block // nil for a commit
	last  bool   // there is no other of its hour before the commit
	state State
}

// errSinkFailed ends a feed whose sink has told its error.
var errSinkFailed = errors.New("writing the archive failed")

// run reads until ctx ends, then what the log holds by then, and sends the last commit.
func (f *feed) run(ctx context.Context) error {
	if err := f.read(ctx, func() bool { return false }); err != nil {
		return err
	}
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
	defer cancel()
	_, end := f.log.Range()
	if f.offset < end {
		if err := f.read(drain, func() bool { return f.offset >= end }); err != nil {
			return err
		}
	}
	return f.commit(f.watermark)
}

// read takes in batches until ctx ends or enough says so.
func (f *feed) read(ctx context.Context, enough func() bool) error {
	var reader eventlog.Reader
	defer func() {
		if reader != nil {
			_ = reader.Close()
		}
	}()
	for !enough() {
		var err error
		var batch eventlog.Batch
		if reader == nil {
			reader, err = f.log.NewReader(f.offset)
		}
		if err == nil {
			batch, err = reader.Read(ctx, idle)
		}
		if ctx.Err() != nil {
			if errors.Is(context.Cause(ctx), errSinkFailed) {
				return errSinkFailed
			}
			return nil
		}
		if err != nil {
			if reader != nil {
				_ = reader.Close()
				reader = nil
			}
			if err := f.skip(err); err != nil {
				return err
			}
			continue
		}
		if err := f.take(batch); err != nil {
			return err
		}
	}
	return nil
}

// skip moves past records that the log has lost, if that is what the error says; otherwise it returns what to do about it.
func (f *feed) skip(err error) error {
	var next eventlog.Offset
	if trimmed, ok := errors.AsType[*eventlog.TrimmedError](err); ok {
		next = trimmed.Oldest
	}
	if corrupt, ok := errors.AsType[*eventlog.CorruptError](err); ok {
		next = corrupt.Resume
	}
	if next > f.offset {
		begins := f.offset == 0 && f.watermark == 0
		f.offset, f.gap = next, true
		if !begins { // an archive that begins later than its log lacks nothing that it had
			f.w.noteSkipped(err)
		}
		return nil
	}
	if beyond, ok := errors.AsType[*eventlog.BeyondError](err); ok {
		return &permanentError{fmt.Errorf("the archive in %s has what the log had up to offset %d, but the log ends at %d: it has lost records, "+
			"or is another log. Put the right log back, or move the archive aside, so that a new one begins with this log: %w",
			f.w.cfg.Dir, beyond.From, beyond.End, err)}
	}
	err = fmt.Errorf("read the event log: %w", err)
	if errors.Is(err, eventlog.ErrClosed) {
		return &permanentError{err}
	}
	return err
}

// take puts a batch's events into blocks, and commits where its records reach the end of a slot.
func (f *feed) take(batch eventlog.Batch) error {
	begins := batch.Watermark
	if len(batch.Records) > 0 {
		begins = batch.Records[0].Received
	}
	if err := f.begin(begins); err != nil {
		return err
	}
	events := 0
	for i := range batch.Records {
		r := &batch.Records[i]
		received := max(r.Received, f.state.Watermark)
		if err := f.reach(received); err != nil {
			return err
		}
		n, err := f.record(r, received)
		if err != nil {
			return err
		}
		events += n
		f.offset, f.watermark = r.Next, received
	}
	f.offset = batch.Next
	if err := f.reach(batch.Watermark); err != nil {
		return err
	}
	f.watermark = max(f.watermark, batch.Watermark)
	if fn := f.w.cfg.Observer.Read; fn != nil && len(batch.Records) > 0 {
		fn(events, len(batch.Records))
	}
	if f.w.wanted(f.log, f.offset) {
		return f.commit(f.watermark)
	}
	return nil
}

// begin notes when what comes next was received, where that matters: at the start and after a gap.
func (f *feed) begin(received crest.Millis) error {
	if received < f.state.Watermark.Add(-clockTolerance) {
		return &permanentError{fmt.Errorf("the archive in %s has what the log received before %s, but the log is at %s: its clock was ahead once, "+
			"or it is another log. Move the archive aside, so that a new one begins with this log",
			f.w.cfg.Dir, f.state.Watermark.Time(), received.Time())}
	}
	if f.slotEnd == 0 {
		f.slotEnd = max(received, f.state.Watermark).Floor(crest.Slot).Add(crest.Slot)
	}
	if f.gap {
		f.gap = false
		f.state.Since = max(received, f.state.Watermark)
	}
	return nil
}

// reach commits when received time has reached the end of the slot. All that was received before has been read.
func (f *feed) reach(received crest.Millis) error {
	if received < f.slotEnd {
		return nil
	}
	f.slotEnd = received.Floor(crest.Slot).Add(crest.Slot)
	return f.commit(received.Floor(crest.Slot))
}

// record puts the events of a record into blocks, and returns how many.
func (f *feed) record(r *eventlog.Record, received crest.Millis) (int, error) {
	n := 0
	err := f.decoder.Reset(r.Payload)
	for err == nil && f.decoder.Next(&f.event) {
		if err := f.add(min(f.event.Time, r.Received), received); err != nil {
			return n, err
		}
		n++
	}
	if err == nil {
		err = f.decoder.Err()
	}
	if err != nil {
		f.w.noteSkipped(fmt.Errorf("partition %d, received %s: %w", r.Partition, r.Received.Time(), err))
	}
	return n, nil
}

// add puts the event into its hour's block.
func (f *feed) add(t, received crest.Millis) error {
	b := f.current
	if b == nil || t < b.hour || t >= b.hour.Add(hourLength) {
		hour := t.Floor(hourLength)
		if hour < f.state.KeptFrom {
			f.w.noteSkipped(fmt.Errorf("an event of %s, received %s, is older than what the archive keeps", t.Time(), received.Time()))
			return nil
		}
		if b = f.open[hour]; b == nil {
			b = f.newBlock(hour)
		}
		f.current = b
	}
	if b.full() {
		if err := f.send(step{block: b}); err != nil {
			return err
		}
		b = f.newBlock(b.hour)
		f.current = b
	}
	f.event.Type = f.intern(f.event.Type)
	b.add(&f.event, len(f.w.cfg.Dimensions), t, received)
	return nil
}

func (f *feed) newBlock(hour crest.Millis) *block {
	var b *block
	select {
	case b = <-f.free:
	default:
		b = newBlock()
	}
	b.reset(hour)
	f.open[hour] = b
	f.oldest = min(f.oldest, hour)
	return b
}

// maxTypes bounds the type names that are kept: a log has a few.
const maxTypes = 1024

// intern returns a type's name in memory that stays.
func (f *feed) intern(name string) string {
	if name != f.typ {
		f.typ = f.lookUp(name)
	}
	return f.typ
}

func (f *feed) lookUp(name string) string {
	if s, ok := f.types[name]; ok {
		return s
	}
	if len(f.types) == maxTypes {
		clear(f.types)
	}
	name = strings.Clone(name)
	f.types[name] = name
	return name
}

// commit has all that was read so far committed.
func (f *feed) commit(watermark crest.Millis) error {
	for _, hour := range slices.Sorted(maps.Keys(f.open)) { // so that a rerun makes the same files
		if err := f.send(step{block: f.open[hour], last: true}); err != nil {
			return err
		}
	}
	clear(f.open)
	f.current = nil
	f.state.Offset = f.offset
	f.state.Watermark = max(f.state.Watermark, watermark)
	f.retain()
	return f.send(step{state: f.state})
}

// retain moves where the archive begins, once there is something to delete.
func (f *feed) retain() {
	if f.w.cfg.Retain == 0 {
		return
	}
	if from := f.state.Watermark.Add(-f.w.cfg.Retain).Floor(hourLength); f.oldest < from {
		f.state.KeptFrom, f.oldest = from, from
	}
}

func (f *feed) send(s step) error {
	select {
	case f.out <- s:
		return nil
	case <-f.failed:
		return errSinkFailed
	}
}
