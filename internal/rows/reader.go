package rows

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"crest"
)

// MaxRecord is the longest record that is read, in bytes, its line break included. Longer ones are refused.
const MaxRecord = 1 << 20

// maxHeader is the longest header of a CSV file, in bytes.
const maxHeader = 64 << 10

// Block is a run of whole records. It may be used again once nothing refers to its fields any more.
type Block struct {
	data      []byte
	firstLine int64  // of the file, from 1
	tooLong   bool   // data holds only the start of a record that is longer than MaxRecord
	unescaped []byte // fields that could not stay as they were written
}

// Reader cuts one file into blocks. One goroutine at a time may use it.
type Reader struct {
	in     *Input
	from   *bufio.Reader
	layout *layout
	rest   []byte // the start of the next block, already read
	line   int64  // of rest
	first  []byte // line of an NDJSON file
	skip   bool   // the line that is being read is too long: drop it up to its end
	ended  bool
}

// NewReader begins to read a file. It reads ahead as far as the header.
func NewReader(in *Input, format Format, columns []Column) (*Reader, error) {
	content, err := in.decompressed()
	if err != nil {
		return nil, err
	}
	r := &Reader{in: in, from: bufio.NewReaderSize(content, maxHeader), line: 1}
	start, err := r.from.Peek(maxHeader)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read %s: %w", in.Name, err)
	}
	if bytes.HasPrefix(start, []byte("\xef\xbb\xbf")) {
		if _, err := r.from.Discard(3); err != nil {
			return nil, fmt.Errorf("read %s: %w", in.Name, err)
		}
		start = start[3:]
	}
	if format == Auto || format == "" {
		format = detect(in.Name, start, columns)
	}
	if format == NDJSON && bytes.HasPrefix(bytes.TrimSpace(start), []byte("[")) {
		return nil, crest.Errorf(crest.CodeMalformed, "", "%s is one JSON array; make it one object a line, such as with: jq -c '.[]'", in.Name)
	}
	if format == NDJSON {
		line, _, _ := bytes.Cut(start, []byte("\n"))
		r.first = bytes.Clone(line)
	}
	switch format {
	case NDJSON, Text:
		r.layout, err = plainLayout(format, columns, in.Name)
	case CSV, TSV:
		err = r.readHeader(format, start, columns)
	default:
		err = crest.Errorf(crest.CodeUnknownValue, "", "unknown format %q; valid are ndjson, csv, tsv and text", format)
	}
	if err != nil {
		return nil, err
	}
	return r, nil
}

// FirstFields returns the names of the fields of an NDJSON file's first line, for messages; nil when they can't be told.
func (r *Reader) FirstFields() []string {
	fields := map[string]json.RawMessage{}
	if json.Unmarshal(r.first, &fields) != nil {
		return nil
	}
	return slices.Sorted(maps.Keys(fields))
}

// Has reports whether the file has the wanted column of that index. For NDJSON any line can.
func (r *Reader) Has(column int) bool { return r.layout.format == NDJSON || r.layout.at[column] >= 0 }

func (r *Reader) readHeader(format Format, start []byte, columns []Column) error {
	delimiter := byte(',')
	if format == TSV {
		delimiter = '\t'
	}
	for len(start) > 0 && (start[0] == '\n' || bytes.HasPrefix(start, []byte("\r\n"))) {
		blank := bytes.IndexByte(start, '\n') + 1
		if _, err := r.from.Discard(blank); err != nil {
			return fmt.Errorf("read %s: %w", r.in.Name, err)
		}
		start = start[blank:]
		r.line++
	}
	if len(start) == 0 { // an empty file has no columns, and no records that would miss them
		r.layout = &layout{format: format, delimiter: delimiter, at: slices.Repeat([]int{-1}, len(columns))}
		return nil
	}
	header, size, err := splitRecord(start, delimiter)
	if err != nil {
		return crest.Errorf(crest.CodeMalformed, "", "the header of %s %v", r.in.Name, err)
	}
	if size == maxHeader {
		return crest.Errorf(crest.CodeTooLong, "", "the header of %s is longer than %d bytes; is it really %s?", r.in.Name, maxHeader, format)
	}
	r.layout, err = headerLayout(format, delimiter, header, columns, r.in.Name)
	if err != nil {
		return err
	}
	r.line += int64(bytes.Count(start[:size], []byte("\n")))
	_, err = r.from.Discard(size)
	return err
}

// Next fills the block with the next whole records, about a megabyte of them. It returns io.EOF behind the last.
func (r *Reader) Next(b *Block) error {
	if cap(b.data) < MaxRecord {
		b.data = make([]byte, 0, MaxRecord)
	}
	b.unescaped = b.unescaped[:0]
	b.tooLong = false
	for {
		b.data = append(b.data[:0], r.rest...)
		b.firstLine = r.line
		if err := r.fill(b); err != nil {
			return err
		}
		if len(b.data) == 0 {
			return io.EOF
		}
		if r.skip {
			r.skipLine(b)
			continue
		}
		end := r.lastEnd(b)
		if b.tooLong {
			r.rest = r.rest[:0]
			r.skip = true
			return nil
		}
		r.rest = append(r.rest[:0], b.data[end:]...)
		b.data = b.data[:end]
		r.line += int64(bytes.Count(b.data, []byte("\n")))
		return nil
	}
}

func (r *Reader) fill(b *Block) error {
	if r.ended {
		return nil
	}
	n, err := io.ReadFull(r.from, b.data[len(b.data):MaxRecord])
	b.data = b.data[:len(b.data)+n]
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		r.ended = true
		return nil
	}
	if err != nil {
		if crest.CodeOf(err) != crest.CodeInternal {
			return err
		}
		return fmt.Errorf("read %s: %w", r.in.Name, err)
	}
	return nil
}

// skipLine drops what is left of a line that is too long.
func (r *Reader) skipLine(b *Block) {
	end := bytes.IndexByte(b.data, '\n')
	if end < 0 {
		r.rest = r.rest[:0]
		return
	}
	r.rest = append(r.rest[:0], b.data[end+1:]...)
	r.line++
	r.skip = false
}

// lastEnd returns where the last whole record of the block ends. A block without any holds a record that is too long,
// or a quote that is never closed: then only its first line is given up.
func (r *Reader) lastEnd(b *Block) int {
	if r.ended && len(b.data) < MaxRecord {
		return len(b.data)
	}
	end := bytes.LastIndexByte(b.data, '\n') + 1
	if r.layout.delimiter != 0 {
		end = lastRecordEnd(b.data, r.layout.delimiter)
		if end == 0 {
			end = bytes.IndexByte(b.data, '\n') + 1
		}
	}
	if end == 0 {
		b.tooLong = !r.ended || len(b.data) > MaxRecord
		end = len(b.data)
	}
	return end
}
