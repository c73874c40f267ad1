package rows

import (
	"bytes"
	"path"
	"strconv"
	"strings"

	"crest"
)

// Format is how a file's records are written.
type Format string

// The formats. Auto goes by the file's name, then by its first line.
const (
	Auto   Format = "auto"
	NDJSON Format = "ndjson" // one JSON object a line
	CSV    Format = "csv"    // RFC 4180 with a header; quoted fields may hold line breaks
	TSV    Format = "tsv"    // the same with tabs
	Text   Format = "text"   // lines, split at white space as awk does
)

// Column is a wanted field of every record. For NDJSON, CSV and TSV the name is that of the field; a number counts the
// columns of CSV, TSV and text from 1. In text, "" and "0" mean the whole line.
type Column struct {
	Name     string
	Required bool // a file without it can't be read; for NDJSON, where every line has its own fields, the caller checks
}

// DefaultItem is what an empty column name means in a format that has names.
const DefaultItem = "item"

func (c Column) name() string {
	if c.Name == "" {
		return DefaultItem
	}
	return c.Name
}

// number returns which column a number means, 0 for the whole line.
func (c Column) number() (n int, ok bool) {
	n, err := strconv.Atoi(c.Name)
	return n, err == nil && n >= 0 && n < 1<<20
}

// detect decides the format of a file by its name without .gz and .zst, then by its first bytes.
func detect(name string, start []byte, columns []Column) Format {
	name = strings.ToLower(name)
	for _, suffix := range []string{".gz", ".zst", ".zstd"} {
		name = strings.TrimSuffix(name, suffix)
	}
	switch path.Ext(name) {
	case ".ndjson", ".jsonl", ".json":
		return NDJSON
	case ".csv":
		return CSV
	case ".tsv":
		return TSV
	case ".txt", ".text", ".log":
		return Text
	}
	line, _, _ := bytes.Cut(start, []byte("\n"))
	line = bytes.TrimSpace(line)
	if bytes.HasPrefix(line, []byte("{")) && bytes.IndexByte(line, '"') > 0 {
		return NDJSON
	}
	for _, f := range []struct {
		format    Format
		delimiter byte
	}{{CSV, ','}, {TSV, '\t'}} {
		if isHeader(line, f.delimiter, columns) {
			return f.format
		}
	}
	return Text
}

// isHeader reports whether a line names the wanted columns.
func isHeader(line []byte, delimiter byte, columns []Column) bool {
	names, _, err := splitRecord(line, delimiter)
	if err != nil || len(names) < 2 {
		return false
	}
	named := false
	for _, c := range columns {
		if _, ok := c.number(); ok {
			continue
		}
		if indexOf(names, c.name()) >= 0 {
			named = true
		} else if c.Required {
			return false
		}
	}
	return named
}

func indexOf(names [][]byte, name string) int {
	for i, n := range names {
		if string(n) == name {
			return i
		}
	}
	return -1
}

// layout says where the wanted columns are in each record. It doesn't change once made.
type layout struct {
	format    Format
	delimiter byte
	names     []string // NDJSON: of the wanted columns
	width     int      // CSV and TSV: columns of the header
	at        []int    // wanted column to index in the record; -1 absent; text: 0 the whole line, n field n
	wanted    []int    // record index to wanted column + 1, for records that are walked from the left; 0 unwanted
	wholeLine bool     // text of one column, the line
}

// plainLayout is for formats without a header.
func plainLayout(format Format, columns []Column, name string) (*layout, error) {
	l := &layout{format: format, at: make([]int, len(columns))}
	for i, c := range columns {
		if format == NDJSON {
			l.names = append(l.names, c.name())
			continue
		}
		n, ok := c.number()
		switch {
		case c.Name == "":
			n = 0
		case !ok && c.Required:
			return nil, crest.Errorf(crest.CodeMissingField, c.Name, "%s is read as plain text, whose columns have numbers (1 is the first), not names; "+
				"if it has a header or is JSON, say so with --input csv or --input ndjson", name)
		case !ok:
			n = -1
		}
		l.at[i] = n
	}
	l.wholeLine = format == Text && len(columns) == 1 && l.at[0] == 0
	l.want()
	return l, nil
}

// headerLayout finds the wanted columns in a header.
func headerLayout(format Format, delimiter byte, header [][]byte, columns []Column, name string) (*layout, error) {
	l := &layout{format: format, delimiter: delimiter, width: len(header), at: make([]int, len(columns))}
	for i, c := range columns {
		l.at[i] = indexOf(header, c.name())
		if n, ok := c.number(); ok && l.at[i] < 0 && n >= 1 && n <= len(header) {
			l.at[i] = n - 1
		}
		if l.at[i] < 0 && c.Required {
			hint := ""
			if c.Name == "" {
				hint = "; name one with --item"
			}
			return nil, crest.Errorf(crest.CodeMissingField, c.name(), "is no column of %s; its header has %s%s",
				name, bytes.Join(header, []byte(", ")), hint)
		}
	}
	l.want()
	return l, nil
}

// want fills the way back from a record's index to a wanted column. Two wanted columns may share an index: the
// second is copied from the first.
func (l *layout) want() {
	for i, at := range l.at {
		if at < 0 {
			continue
		}
		for len(l.wanted) <= at {
			l.wanted = append(l.wanted, 0)
		}
		if l.wanted[at] == 0 {
			l.wanted[at] = i + 1
		}
	}
}
