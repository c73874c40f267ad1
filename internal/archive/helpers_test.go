package archive

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"crest"
	"crest/internal/durable"
	"crest/internal/eventlog"
)

// fakeLog is a log in memory whose clock the test sets. Only what the archive uses of it works.
type fakeLog struct {
	eventlog.Log
	mu      sync.Mutex
	now     crest.Millis
	records []eventlog.Record // Next is the offset after it: offsets count records, times ten
	trimmed int               // records that are gone
	corrupt map[int]int       // record that is damaged: the next that is not
	batch   int               // records of a batch at most
	visible int               // how many records there are for readers
	changed chan struct{}
}

func newFakeLog(now crest.Millis) *fakeLog {
	return &fakeLog{now: now, batch: 7, visible: 1 << 30, corrupt: map[int]int{}, changed: make(chan struct{})}
}

// set moves the clock.
func (l *fakeLog) set(now crest.Millis) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.now = now
	l.wake()
}

func (l *fakeLog) wake() {
	close(l.changed)
	l.changed = make(chan struct{})
}

// add appends a record of events, received now.
func (l *fakeLog) add(dimensions []string, events ...crest.Event) {
	var e eventlog.Encoder
	e.Reset(dimensions)
	for i := range events {
		if err := e.Add(&events[i]); err != nil {
			panic(err)
		}
	}
	l.addPayload(append([]byte(nil), e.Bytes()...))
}

func (l *fakeLog) addPayload(b []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.records = append(l.records, eventlog.Record{Received: l.now, Next: eventlog.Offset(10 * (len(l.records) + 1)), Payload: b})
	l.wake()
}

func (l *fakeLog) Range() (oldest, end eventlog.Offset) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return eventlog.Offset(10 * l.trimmed), eventlog.Offset(10 * l.end())
}

func (l *fakeLog) end() int { return min(len(l.records), l.visible) }

func (l *fakeLog) NewReader(from eventlog.Offset) (eventlog.Reader, error) {
	oldest, end := l.Range()
	if from < oldest {
		return nil, &eventlog.TrimmedError{From: from, Oldest: oldest}
	}
	if from > end {
		return nil, &eventlog.BeyondError{From: from, End: end}
	}
	return &fakeReader{log: l, at: int(from / 10)}, nil
}

type fakeReader struct {
	log *fakeLog
	at  int
}

func (r *fakeReader) Close() error { return nil }

func (r *fakeReader) Read(ctx context.Context, wait time.Duration) (eventlog.Batch, error) {
	for {
		b, changed, err := r.read()
		if err != nil || len(b.Records) > 0 || wait <= 0 {
			return b, err
		}
		select {
		case <-ctx.Done():
			return b, ctx.Err()
		case <-changed:
		case <-time.After(wait):
			wait = 0
		}
	}
}

func (r *fakeReader) read() (eventlog.Batch, chan struct{}, error) {
	l := r.log
	l.mu.Lock()
	defer l.mu.Unlock()
	if r.at < l.trimmed {
		return eventlog.Batch{}, nil, &eventlog.TrimmedError{From: eventlog.Offset(10 * r.at), Oldest: eventlog.Offset(10 * l.trimmed)}
	}
	to := min(l.end(), r.at+l.batch)
	for i := r.at; i < to; i++ {
		if resume, ok := l.corrupt[i]; ok {
			if i == r.at {
				return eventlog.Batch{}, nil, &eventlog.CorruptError{Path: "log", Offset: eventlog.Offset(10 * i), Resume: eventlog.Offset(10 * resume)}
			}
			to = i
		}
	}
	b := eventlog.Batch{Records: l.records[r.at:to], Next: eventlog.Offset(10 * to), Watermark: l.now}
	if to < len(l.records) {
		b.Watermark = l.records[to].Received
	}
	r.at = to
	return b, l.changed, nil
}

// stored is a row as a reader of the archive sees it.
type stored struct {
	row
	hour crest.Millis
}

// readAll returns all rows of a view, by hour and in order, checking what manifests say of them.
func readAll(tb testing.TB, dir string) []stored {
	tb.Helper()
	v, err := Read(dir)
	if err != nil {
		tb.Fatal(err)
	}
	var all []stored
	for _, h := range v.Hours() {
		hour, err := v.Hour(h)
		if err != nil {
			tb.Fatal(err)
		}
		last := crest.Millis(0)
		for _, f := range hour.Files {
			rows := readFile(tb, v, h, f)
			facts := File{Name: f.Name, Bytes: f.Bytes, Checksum: f.Checksum}
			for i, r := range rows {
				if r.Time.Floor(time.Hour) != h || r.Time > r.Received {
					tb.Fatalf("a row of time %d, received %d, is in hour %d", r.Time, r.Received, h)
				}
				if r.Received < last {
					tb.Fatalf("%s: row %d was received before the one before it", v.Path(h, f), i)
				}
				last = r.Received
				if i == 0 {
					facts.Received, facts.Time = Span{r.Received, r.Received}, Span{r.Time, r.Time}
				}
				facts.Rows++
				facts.Received.add(r.Received)
				facts.Time.add(r.Time)
				facts.Weight += uint64(r.Weight)
				all = append(all, stored{r, h})
			}
			if f != facts {
				tb.Fatalf("the manifest says %+v of a file that is %+v", f, facts)
			}
		}
	}
	return all
}

func readFile(tb testing.TB, v *View, hour crest.Millis, f File) []row {
	tb.Helper()
	p, c, err := v.OpenFile(hour, f)
	if err != nil {
		tb.Fatal(err)
	}
	defer c.Close()
	rows := make([]row, f.Rows)
	r := newParquetReader(p, v.State.Dimensions)
	defer r.Close()
	for n := 0; n < len(rows); {
		m, err := r.Read(rows[n:])
		n += m
		if err != nil && (!errors.Is(err, io.EOF) || n < len(rows)) {
			tb.Fatal(err)
		}
	}
	return rows
}

// running is a writer that runs.
type running struct {
	*Writer
	cancel context.CancelFunc
	done   chan error
}

func start(tb testing.TB, cfg Config, log eventlog.Log) *running {
	tb.Helper()
	return startOn(tb, cfg, unsynced{}, log)
}

// unsynced is a disk that leaves out the syncs, which would be most of a test's time.
type unsynced struct{ durable.Disk }

func (unsynced) SyncDir(string) error { return nil }

func (u unsynced) Create(path string) (durable.File, error) {
	f, err := u.Disk.Create(path)
	return unsyncedFile{f}, err
}

type unsyncedFile struct{ durable.File }

func (unsyncedFile) Sync() error { return nil }

func startOn(tb testing.TB, cfg Config, st durable.Files, log eventlog.Log) *running {
	tb.Helper()
	w, err := open(cfg, st)
	if err != nil {
		tb.Fatal(err)
	}
	w.retry = retry{time.Millisecond, time.Millisecond}
	ctx, cancel := context.WithCancel(context.Background())
	r := &running{w, cancel, make(chan error, 1)}
	go func() { r.done <- w.Run(ctx, log) }()
	return r
}

// commit waits until all that the log holds is in the archive.
func (r *running) commit(tb testing.TB) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), 20*time.Second)
	defer cancel()
	if err := r.Commit(ctx); err != nil {
		tb.Fatal(err)
	}
}

// stop ends a writer and returns what Run returned.
func (r *running) stop(tb testing.TB) error {
	tb.Helper()
	r.cancel()
	err := <-r.done
	if err := r.Close(); err != nil {
		tb.Fatal(err)
	}
	return err
}

func (r *running) mustStop(tb testing.TB) {
	tb.Helper()
	if err := r.stop(tb); err != nil {
		tb.Fatal(err)
	}
}

func id(n int) (id crest.EventID) {
	binary.BigEndian.PutUint64(id[8:], uint64(n))
	return id
}

// noon is when most tests begin.
const noon = crest.Millis(1_764_504_000_000) // 2025-11-30T12:00:00Z

const (
	second = crest.Millis(1000)
	minute = 60 * second
	hour   = 60 * minute
)

// readTree returns the contents of all files of a directory.
func readTree(tb testing.TB, dir string) map[string]string {
	tb.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		all[rel] = string(b)
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	return all
}
