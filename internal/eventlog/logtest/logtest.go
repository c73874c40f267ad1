// Package logtest proves an implementation of the event log's contract, clause by clause.
package logtest

import (
	"testing"
	"time"

	"crest"
	"crest/internal/eventlog"
)

// Harness is what the suite needs of an implementation.
type Harness struct {
	// Open opens the log kept in a directory, which is empty or was used by a log that has been closed. The suite closes
	// the log.
	Open func(t *testing.T, dir string, o Options) eventlog.Log
	// Trim makes the log forget at least its oldest record and keep at least its newest. Before it the suite appends 4 MiB
	// and more, in small pieces.
	Trim func(t *testing.T, log eventlog.Log)
}

// Options are how a test wants its log.
type Options struct {
	Now             func() time.Time
	MaxPendingBytes int // from which on the log is behind; 0 for any
	// BeforeSync is called before the log makes records durable, on whatever goroutine. It may block, which must hold
	// up nothing but durability, or fail, as a disk does. It may be nil.
	BeforeSync func() error
}

// Run proves the log that the harness opens.
func Run(t *testing.T, h Harness) {
	t.Helper()
	s := suite{h}
	t.Run("ReadsWhatWasAppended", s.order)
	t.Run("CopiesPayloads", s.copies)
	t.Run("ChecksLimits", s.limits)
	t.Run("EmptyAppend", s.emptyAppend)
	t.Run("StampsNeverGoBack", s.stamps)
	t.Run("StampsNeverGoBackWhenReopened", s.stampsReopened)
	t.Run("ReadsFromAnyNext", s.offsets)
	t.Run("OffsetsOutsideTheLog", s.outside)
	t.Run("Trimmed", s.trimmed)
	t.Run("TrimmedUnderAReader", s.trimmedReader)
	t.Run("OnlyDurableRecordsAreRead", s.durable)
	t.Run("DurableAppendWaits", s.durableWaits)
	t.Run("DurableAppendEndsWithItsContext", s.appendContext)
	t.Run("FullQueue", s.full)
	t.Run("FailingDisk", s.failing)
	t.Run("ReadWaits", s.readWaits)
	t.Run("ReadEndsWithItsContext", s.readContext)
	t.Run("IdleWatermark", s.idleWatermark)
	t.Run("WatermarkIsAPromise", s.watermark)
	t.Run("WatermarkBehindTheEnd", s.watermarkBehind)
	t.Run("ManyAppendersAndReaders", s.many)
	t.Run("CloseEndsEverything", s.close)
	t.Run("CloseKeepsWhatIsQueued", s.closeKeeps)
	t.Run("ReaderCloses", s.readerClose)
}

// suite has a method for each clause.
type suite struct{ Harness }

// start is where tests' clocks begin.
var start = time.UnixMilli(1_764_500_000_000) //nolint:gochecknoglobals // a constant, but for Go's rules

// long is a wait that no test sees the end of, unless it fails.
const long = time.Minute

func (s suite) open(t *testing.T, o Options) eventlog.Log {
	t.Helper()
	return s.openDir(t, t.TempDir(), o)
}

func (s suite) openDir(t *testing.T, dir string, o Options) eventlog.Log {
	t.Helper()
	if o.Now == nil {
		o.Now = func() time.Time { return start }
	}
	log := s.Open(t, dir, o)
	t.Cleanup(func() { _ = log.Close() })
	return log
}

func newReader(t *testing.T, log eventlog.Log, from eventlog.Offset) eventlog.Reader {
	t.Helper()
	r, err := log.NewReader(from)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

// add appends one durable record of partition 0.
func add(t *testing.T, log eventlog.Log, payload string) crest.Millis {
	t.Helper()
	received, err := log.Append(t.Context(), one(payload), true)
	if err != nil {
		t.Fatal(err)
	}
	return received
}

func one(payload string) []eventlog.Append {
	return []eventlog.Append{{Payload: []byte(payload)}}
}

// got is a record that a test keeps.
type got struct {
	partition int
	received  crest.Millis
	payload   string
	next      eventlog.Offset // of its batch
}

// readAll reads to the end of the log, checking what holds for any reader.
func readAll(t *testing.T, r eventlog.Reader) []got {
	t.Helper()
	var all []got
	watermark := crest.Millis(0)
	for {
		b, err := r.Read(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, record := range b.Records {
			if record.Received < watermark {
				t.Fatalf("record %d is stamped %d, after the watermark %d", len(all), record.Received, watermark)
			}
			all = append(all, got{record.Partition, record.Received, string(record.Payload), b.Next})
		}
		if b.Watermark < watermark {
			t.Fatalf("watermark went back from %d to %d", watermark, b.Watermark)
		}
		watermark = b.Watermark
		if len(b.Records) == 0 {
			return all
		}
	}
}

func expect(t *testing.T, records []got, payloads ...string) {
	t.Helper()
	if len(records) != len(payloads) {
		t.Fatalf("%d records, want %d", len(records), len(payloads))
	}
	for i, want := range payloads {
		if records[i].payload != want {
			t.Fatalf("record %d is %.40q, want %.40q", i, records[i].payload, want)
		}
	}
}

func expectCode(t *testing.T, err error, code crest.Code) {
	t.Helper()
	if crest.CodeOf(err) != code {
		t.Fatalf("error %v, want code %q", err, code)
	}
}
