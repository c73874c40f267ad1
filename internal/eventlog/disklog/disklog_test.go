package disklog

import (
	"errors"
	"sync/atomic"
	"testing"

	"crest"
	"crest/internal/eventlog"
	"crest/internal/eventlog/logtest"
)

// gated is the disk with something before each sync of a file.
type gated struct {
	disk
	before func() error
}

type gatedFile struct {
	file
	before func() error
}

func (g gated) Create(path string) (file, error) {
	f, err := g.disk.Create(path)
	return gatedFile{f, g.before}, err
}

func (g gated) Open(path string) (file, int64, error) {
	f, size, err := g.disk.Open(path)
	return gatedFile{f, g.before}, size, err
}

func (f gatedFile) Sync() error {
	if err := f.before(); err != nil {
		return err
	}
	return f.file.Sync()
}

func TestContract(t *testing.T) {
	logtest.Run(t, logtest.Harness{
		Open: func(t *testing.T, dir string, o logtest.Options) eventlog.Log {
			t.Helper()
			cfg := Config{Dir: dir, SegmentBytes: 3 << 19, RetainBytes: 2 << 20, Now: o.Now, MaxPendingBytes: o.MaxPendingBytes}
			st := storage(disk{})
			if o.BeforeSync != nil {
				st = gated{before: o.BeforeSync}
			}
			l, err := open(cfg, st)
			if err != nil {
				t.Fatal(err)
			}
			return l
		},
		Trim: func(t *testing.T, log eventlog.Log) {
			t.Helper()
			if freed, err := log.(*Log).Retain(0); freed == 0 || err != nil {
				t.Fatalf("%d bytes freed, error %v", freed, err)
			}
		},
	})
}

// While the disk fails, nothing is acknowledged as enqueued either.
func TestNothingIsEnqueuedWhileWritingFails(t *testing.T) {
	broken := errors.New("disk is on fire")
	var fails atomic.Bool
	lost := 0
	st := gated{before: func() error {
		if fails.Load() {
			return broken
		}
		return nil
	}}
	l, err := open(Config{Dir: t.TempDir(), Observer: Observer{Lost: func(records, _ int, _ error) { lost += records }}}, st)
	if err != nil {
		t.Fatal(err)
	}
	one := []eventlog.Append{{Payload: []byte("x")}}
	fails.Store(true)
	if _, err := l.Append(t.Context(), one, true); !errors.Is(err, broken) {
		t.Fatal(err)
	}
	if _, err := l.Append(t.Context(), one, false); !errors.Is(err, broken) || crest.CodeOf(err) != crest.CodeLogUnavailable {
		t.Fatal(err)
	}
	fails.Store(false)
	for range 2 { // the first finds out that it works again
		if _, err := l.Append(t.Context(), one, false); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil || lost != 2 {
		t.Fatalf("error %v, %d records lost", err, lost)
	}
}

// Close tells when it could not write what had been enqueued.
func TestCloseTellsOfLoss(t *testing.T) {
	broken := errors.New("disk is on fire")
	entered, fail := make(chan struct{}), make(chan struct{})
	begun := false
	l, err := open(Config{Dir: t.TempDir()}, gated{before: func() error {
		if !begun {
			begun = true // the new segment's header
			return nil
		}
		close(entered)
		<-fail
		return broken
	}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Append(t.Context(), []eventlog.Append{{Payload: []byte("x")}}, false); err != nil {
		t.Fatal(err)
	}
	<-entered
	done := make(chan error)
	go func() { done <- l.Close() }()
	for closed := false; !closed; {
		_, err := l.NewReader(0)
		closed = errors.Is(err, eventlog.ErrClosed)
	}
	close(fail)
	if err := <-done; !errors.Is(err, broken) {
		t.Fatalf("error %v", err)
	}
}
