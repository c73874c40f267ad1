package disklog

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"crest"
	"crest/internal/eventlog"
)

func mustOpen(tb testing.TB, cfg Config) *Log {
	tb.Helper()
	l, err := Open(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { l.Close() })
	return l
}

// add appends a durable record for each payload, all in one commit.
func add(tb testing.TB, l *Log, payloads ...string) {
	tb.Helper()
	var records []eventlog.Append
	for _, p := range payloads {
		records = append(records, eventlog.Append{Partition: len(p) % 7, Payload: []byte(p)})
	}
	if _, err := l.Append(tb.Context(), records, true); err != nil {
		tb.Fatal(err)
	}
}

// readFrom reads to the end, goes on after damage, and returns the payloads and how often it met damage.
func readFrom(tb testing.TB, l *Log, from eventlog.Offset) (payloads []string, damaged int) {
	tb.Helper()
	stamp := crest.Millis(0)
	for {
		r, err := l.NewReader(from)
		if err != nil {
			tb.Fatal(err)
		}
		for err == nil {
			var b eventlog.Batch
			if b, err = r.Read(tb.Context(), 0); err != nil {
				break
			}
			for _, record := range b.Records {
				if record.Partition != len(record.Payload)%7 {
					tb.Fatalf("%q came from partition %d", record.Payload, record.Partition)
				}
				if record.Received < stamp {
					tb.Fatalf("stamp %d after %d", record.Received, stamp)
				}
				stamp = record.Received
				payloads = append(payloads, string(record.Payload))
			}
			if len(b.Records) == 0 {
				r.Close()
				return payloads, damaged
			}
			from = b.Next
		}
		r.Close()
		corrupt, ok := errors.AsType[*eventlog.CorruptError](err)
		if !ok {
			tb.Fatal(err)
		}
		if corrupt.Offset != from || corrupt.Resume <= from {
			tb.Fatalf("at %d: %v", from, err)
		}
		from = corrupt.Resume
		damaged++
	}
}

func same(tb testing.TB, what string, got, want []string) {
	tb.Helper()
	if len(got) != len(want) {
		tb.Fatalf("%s: %d records, want %d: %.200q", what, len(got), len(want), got)
	}
	for i := range want {
		if got[i] != want[i] {
			tb.Fatalf("%s: record %d is %.40q, want %.40q", what, i, got[i], want[i])
		}
	}
}

// numbered returns n payloads of about the given size.
func numbered(from, n, size int) []string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf("%0*d", size+i%3, from+i))
	}
	return all
}

func fixedClock() time.Time { return time.UnixMilli(1_764_500_000_000) }

// segmentFiles returns the paths of a directory's segments in order.
func segmentFiles(tb testing.TB, dir string) []string {
	tb.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*"+segmentSuffix))
	if err != nil || len(paths) == 0 {
		tb.Fatalf("segments %v, error %v", paths, err)
	}
	return paths
}

func readFile(tb testing.TB, path string) []byte {
	tb.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

func writeFile(tb testing.TB, path string, b []byte) {
	tb.Helper()
	if err := os.WriteFile(path, b, 0o600); err != nil {
		tb.Fatal(err)
	}
}
