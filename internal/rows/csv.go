package rows

import (
	"bytes"

	"crest"
)

// csv reads the next record. Most lines have no quote and are cut at their delimiters in place.
func (p *Parser) csv() bool {
	record, quoted := p.cutRecord()
	if p.err != nil {
		return true
	}
	if len(record) == 0 {
		return false
	}
	clear(p.fields)
	if quoted {
		p.quoted(record)
	} else {
		p.plain(record)
	}
	if p.err == nil {
		p.share()
	}
	return true
}

// cutRecord takes the next record off the data, without its line break, and says whether it has a quote.
func (p *Parser) cutRecord() (record []byte, quoted bool) {
	end, quoted, closed := recordEnd(p.data, p.layout.delimiter)
	record, p.data = p.data[:end], p.data[end:]
	if quoted {
		p.next += int64(bytes.Count(record, []byte("\n")))
	} else {
		p.next++
	}
	if !closed {
		p.err = crest.Errorf(crest.CodeMalformed, "", "has a quote that is never closed")
		return nil, true
	}
	return trimBreak(record), quoted
}

func trimBreak(record []byte) []byte {
	record = bytes.TrimSuffix(record, []byte("\n"))
	return bytes.TrimSuffix(record, []byte("\r"))
}

func (p *Parser) plain(record []byte) {
	delimiter := []byte{p.layout.delimiter}
	if n := bytes.Count(record, delimiter) + 1; n != p.layout.width {
		p.err = p.wrongWidth(n)
		return
	}
	for _, column := range p.layout.wanted {
		end := bytes.IndexByte(record, p.layout.delimiter)
		field := record
		if end >= 0 {
			field, record = record[:end:end], record[end+1:]
		}
		if column > 0 {
			p.fields[column-1] = field
		}
	}
}

func (p *Parser) wrongWidth(n int) error {
	return crest.Errorf(crest.CodeMalformed, "", "has %d columns where the header has %d", n, p.layout.width)
}

func (p *Parser) quoted(record []byte) {
	n := 0
	for more := true; more; n++ {
		var field []byte
		field, record, more, p.err = cutField(record, p.layout.delimiter)
		if p.err != nil {
			return
		}
		if n < len(p.layout.wanted) && p.layout.wanted[n] > 0 {
			p.fields[p.layout.wanted[n]-1] = p.unquote(field)
		}
	}
	if n != p.layout.width {
		p.err = p.wrongWidth(n)
	}
}

// unquote takes the quotes off a field, doubled quotes and the carriage returns of line breaks inside.
func (p *Parser) unquote(field []byte) []byte {
	if len(field) == 0 || field[0] != '"' {
		return field
	}
	field, p.block.unescaped = unquote(field, p.block.unescaped)
	return field
}

// unquote returns the content of a quoted field, in place if it can be, otherwise appended to scratch.
func unquote(field, scratch []byte) (content, grown []byte) {
	content = field[1 : len(field)-1]
	if bytes.IndexByte(content, '"') < 0 && !bytes.Contains(content, []byte("\r\n")) {
		return content, scratch
	}
	start := len(scratch)
	for i := 0; i < len(content); i++ {
		c := content[i]
		if c == '\r' && i+1 < len(content) && content[i+1] == '\n' {
			continue
		}
		scratch = append(scratch, c)
		if c == '"' {
			i++ // the second of two
		}
	}
	return scratch[start:len(scratch):len(scratch)], scratch
}

// cutField takes the first field off a record, with its quotes.
func cutField(record []byte, delimiter byte) (field, rest []byte, more bool, err error) {
	var end int
	if len(record) > 0 && record[0] == '"' {
		closing := closingQuote(record, 1)
		if closing < 0 {
			return nil, nil, false, crest.Errorf(crest.CodeMalformed, "", "has a quote that is never closed")
		}
		end = closing + 1
		if end < len(record) && record[end] != delimiter {
			return nil, nil, false, crest.Errorf(crest.CodeMalformed, "", "has text behind a quoted field; quotes inside one are doubled")
		}
	} else {
		end = bytes.IndexByte(record, delimiter)
		if end < 0 {
			end = len(record)
		}
		if bytes.IndexByte(record[:end], '"') >= 0 {
			return nil, nil, false, crest.Errorf(crest.CodeMalformed, "", "has a quote inside a field without quotes")
		}
	}
	if end == len(record) {
		return record, nil, false, nil
	}
	return record[:end:end], record[end+1:], true, nil
}

// splitRecord takes the first record of data apart and returns its length with the line break.
func splitRecord(data []byte, delimiter byte) (fields [][]byte, size int, err error) {
	size, _, closed := recordEnd(data, delimiter)
	if !closed {
		return nil, size, crest.Errorf(crest.CodeMalformed, "", "has a quote that is never closed")
	}
	record := trimBreak(data[:size])
	for more := true; more; {
		var field []byte
		field, record, more, err = cutField(record, delimiter)
		if err != nil {
			return nil, size, err
		}
		if len(field) > 0 && field[0] == '"' {
			field, _ = unquote(field, nil)
		}
		fields = append(fields, bytes.Clone(field))
	}
	return fields, size, nil
}

// recordEnd returns where the first record of data ends, behind its line break. When it opens a quote that is not
// closed, that is the end of its first line.
func recordEnd(data []byte, delimiter byte) (end int, quoted, closed bool) {
	for at := 0; ; {
		end = len(data)
		if n := bytes.IndexByte(data[at:], '\n'); n >= 0 {
			end = at + n + 1
		}
		quote := bytes.IndexByte(data[at:end], '"')
		if quote < 0 {
			return end, quoted, true
		}
		quoted = true
		quote += at
		at = quote + 1
		if quote == 0 || data[quote-1] == delimiter {
			closing := closingQuote(data, at)
			if closing < 0 {
				if n := bytes.IndexByte(data, '\n'); n >= 0 {
					return n + 1, true, false
				}
				return len(data), true, false
			}
			at = closing + 1
		}
	}
}

// lastRecordEnd returns where the last whole record of data ends, 0 when there is none.
func lastRecordEnd(data []byte, delimiter byte) int {
	end := 0
	for at := 0; ; {
		stop := len(data)
		quote := bytes.IndexByte(data[at:], '"')
		if quote >= 0 {
			stop = at + quote
		}
		if n := bytes.LastIndexByte(data[at:stop], '\n'); n >= 0 {
			end = at + n + 1
		}
		if quote < 0 {
			return end
		}
		at = stop + 1
		if stop == 0 || data[stop-1] == delimiter || data[stop-1] == '\n' {
			closing := closingQuote(data, at)
			if closing < 0 {
				return end
			}
			at = closing + 1
		}
	}
}

// closingQuote returns the position of the first quote from start on that is not doubled, or -1.
func closingQuote(data []byte, start int) int {
	for {
		n := bytes.IndexByte(data[start:], '"')
		if n < 0 {
			return -1
		}
		start += n
		if start+1 == len(data) || data[start+1] != '"' {
			return start
		}
		start += 2
	}
}
