package rows

import (
	"bytes"

	"crest"
)

// Parser takes blocks of one reader apart, record by record. It belongs to one goroutine; several parsers of one
// reader may run at once.
type Parser struct {
	layout *layout
	block  *Block
	data   []byte // of the block, from the next record on
	next   int64  // line of the next record
	line   int64
	fields [][]byte
	err    error
}

// Parser returns a new parser for the reader's blocks.
func (r *Reader) Parser() *Parser {
	return &Parser{layout: r.layout, fields: make([][]byte, len(r.layout.at))}
}

// Load begins with a block.
func (p *Parser) Load(b *Block) {
	p.block, p.data, p.next = b, b.data, b.firstLine
}

// Next moves to the next record, if there is one. Blank lines of NDJSON, CSV and TSV are passed over.
func (p *Parser) Next() bool {
	p.err = nil
	if len(p.data) == 0 {
		return false
	}
	if p.block.tooLong {
		p.line, p.data = p.next, nil
		p.err = crest.Errorf(crest.CodeTooLong, "", "is longer than %d bytes", MaxRecord)
		return true
	}
	for len(p.data) > 0 {
		p.line = p.next
		found := true
		switch p.layout.format {
		case Text:
			p.text()
		case NDJSON:
			found = p.json()
		default:
			found = p.csv()
		}
		if found {
			return true
		}
	}
	return false
}

// Line returns the line on which the record begins, from 1.
func (p *Parser) Line() int64 { return p.line }

// Err returns why the record can't be used, or nil.
func (p *Parser) Err() error { return p.err }

// Field returns the wanted column of that index: nil when the record has none. It holds as long as the block does.
func (p *Parser) Field(column int) []byte { return p.fields[column] }

// cutLine takes the next line off the data, without its line break.
func (p *Parser) cutLine() []byte {
	line := p.data
	if end := bytes.IndexByte(line, '\n'); end >= 0 {
		line, p.data = line[:end], line[end+1:]
	} else {
		p.data = nil
	}
	p.next++
	if n := len(line); n > 0 && line[n-1] == '\r' {
		line = line[:n-1]
	}
	return line
}

func (p *Parser) text() {
	line := p.cutLine()
	if p.layout.wholeLine {
		p.fields[0] = line
		return
	}
	clear(p.fields)
	if len(p.layout.wanted) > 0 && p.layout.wanted[0] > 0 {
		p.fields[p.layout.wanted[0]-1] = line
	}
	start := 0
	for n := 1; n < len(p.layout.wanted); n++ {
		for start < len(line) && (line[start] == ' ' || line[start] == '\t') {
			start++
		}
		if start == len(line) {
			break
		}
		end := start
		for end < len(line) && line[end] != ' ' && line[end] != '\t' {
			end++
		}
		if column := p.layout.wanted[n]; column > 0 {
			p.fields[column-1] = line[start:end]
		}
		start = end
	}
	p.share()
}

// share fills the wanted columns that are the same field as an earlier one.
func (p *Parser) share() {
	for i, at := range p.layout.at {
		if at >= 0 {
			if first := p.layout.wanted[at] - 1; first != i {
				p.fields[i] = p.fields[first]
			}
		}
	}
}
