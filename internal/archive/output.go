package archive

import (
	"fmt"
	"io"
	"path/filepath"

	"github.com/parquet-go/parquet-go"
	"github.com/zeebo/xxh3"

	"crest"
	"crest/internal/durable"
)

// output is a file that is being written, under its name with durable.AsideSuffix.
type output struct {
	hour    crest.Millis
	path    string // that it will have
	facts   File   // of what has been written; complete when finished
	file    durable.File
	parquet *parquet.GenericWriter[row]
	sum     *xxh3.Hasher
	used    uint64 // when a block was last written to it, in the sink's count of blocks
}

// create begins a file. The writer is one that has finished its last, or nil.
func (s *sink) create(hour crest.Millis, name string, pq *parquet.GenericWriter[row]) (*output, error) {
	o := &output{hour: hour, path: filepath.Join(hourDir(s.dir, hour), name), facts: File{Name: name}, sum: xxh3.New()}
	f, err := s.storage.Create(o.path + durable.AsideSuffix)
	if err != nil {
		return nil, fmt.Errorf("begin archive file: %w", err)
	}
	o.file = f
	if pq == nil {
		pq = newParquetWriter(o, s.w.cfg.Dimensions)
	} else {
		pq.Reset(o)
	}
	o.parquet = pq
	return o, nil
}

// Write takes what the Parquet writer has finished.
func (o *output) Write(b []byte) (int, error) {
	n, err := o.file.Write(b)
	_, _ = o.sum.Write(b[:n])
	o.facts.Bytes += int64(n)
	return n, err
}

var _ io.Writer = (*output)(nil)

// note takes in the facts of rows that come after those before.
func (o *output) note(rows int64, received, time Span, weight uint64) {
	if o.facts.Rows == 0 {
		o.facts.Received.First, o.facts.Time = received.First, time
	}
	o.facts.Rows += rows
	o.facts.Received.Last = received.Last
	o.facts.Time.add(time.First)
	o.facts.Time.add(time.Last)
	o.facts.Weight += weight
}

func (o *output) write(rows []row) error {
	if _, err := o.parquet.Write(rows); err != nil {
		return fmt.Errorf("write archive file %s: %w", o.path, err)
	}
	return nil
}

// finish completes the file and makes it durable. It still has the name that nobody reads.
func (o *output) finish() error {
	if err := o.parquet.Close(); err != nil {
		_ = o.file.Close()
		return fmt.Errorf("write archive file %s: %w", o.path, err)
	}
	if err := o.file.Sync(); err != nil {
		_ = o.file.Close()
		return fmt.Errorf("sync archive file: %w", err)
	}
	if err := o.file.Close(); err != nil {
		return fmt.Errorf("close archive file: %w", err)
	}
	o.facts.Checksum = checksumText(o.sum.Sum128())
	return nil
}
