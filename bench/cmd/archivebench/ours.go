package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"crest/internal/archive"
	"crest/internal/eventlog"
)

// writeArchive has the archive's writer read the records and commit, and returns the size of its files.
func writeArchive(ctx context.Context, s *stream, dir string) (size int64, err error) {
	if err := os.RemoveAll(dir); err != nil {
		return 0, fmt.Errorf("remove the last archive: %w", err)
	}
	w, err := archive.Open(archive.Config{
		Dir: dir, Dimensions: s.dimensions, FileRows: 1 << 30, FileBytes: 1 << 40, // one file, as the bare writer makes
		Observer: archive.Observer{Committed: func(c archive.Commit) { size += c.Bytes }},
	})
	if err != nil {
		return 0, err
	}
	defer w.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx, readyLog{records: s.records}) }()
	if err := w.Commit(ctx); err != nil {
		return 0, err
	}
	cancel()
	if err := <-done; err != nil {
		return 0, err
	}
	return size, nil
}

// readyLog is a log whose records lie in memory. It has of a log what the archive uses.
type readyLog struct {
	eventlog.Log

	records []eventlog.Record
}

func (l readyLog) Range() (oldest, end eventlog.Offset) { return 0, eventlog.Offset(len(l.records)) }

func (l readyLog) NewReader(from eventlog.Offset) (eventlog.Reader, error) {
	return &readyReader{records: l.records[from:], next: from}, nil
}

type readyReader struct {
	records []eventlog.Record
	next    eventlog.Offset
}

// readRecords is about how many records of 500 events a megabyte has, which the disk log reads at once.
const readRecords = 50

func (r *readyReader) Read(ctx context.Context, wait time.Duration) (eventlog.Batch, error) {
	if len(r.records) == 0 {
		select {
		case <-ctx.Done():
			return eventlog.Batch{}, ctx.Err()
		case <-time.After(wait):
		}
		return eventlog.Batch{Next: r.next, Watermark: base.Add(9 * time.Minute)}, nil
	}
	n := min(len(r.records), readRecords)
	b := eventlog.Batch{Records: r.records[:n], Next: r.next + eventlog.Offset(n), Watermark: r.records[n-1].Received}
	r.records, r.next = r.records[n:], b.Next
	return b, nil
}

func (r *readyReader) Close() error { return nil }
