package disklog

import (
	"testing"

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
			cfg := Config{Dir: dir, SegmentBytes: 128 << 10, RetainBytes: 512 << 10, Now: o.Now, MaxPendingBytes: o.MaxPendingBytes}
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
