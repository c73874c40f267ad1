package rows

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"

	"crest"
)

// maxDepth bounds the nesting of values that are passed over.
const maxDepth = 64

// json reads the next line's object. It looks at every byte's place in the grammar, but takes only the wanted fields out.
// Of fields given twice the last counts, as in encoding/json.
func (p *Parser) json() bool {
	line := bytes.TrimSpace(p.cutLine())
	if len(line) == 0 {
		return false
	}
	clear(p.fields)
	s := jsonScanner{data: line}
	if !s.take('{') {
		p.err = crest.Errorf(crest.CodeMalformed, "", "is not a JSON object")
		return true
	}
	for first := true; !s.failed; first = false {
		if first && s.take('}') {
			break
		}
		key := s.str()
		if s.escaped {
			key = p.unescape(key)
		}
		s.expect(':')
		p.jsonField(&s, key)
		if s.take('}') {
			break
		}
		s.expect(',')
	}
	s.space()
	if s.failed || s.at != len(line) {
		p.err = crest.Errorf(crest.CodeMalformed, "", "is not a JSON object: something is wrong at byte %d", s.at+1)
	}
	return true
}

// jsonField reads a value and keeps it if it is wanted.
func (p *Parser) jsonField(s *jsonScanner, key []byte) {
	kind, value := s.value(0)
	for i, name := range p.layout.names {
		if len(key) != len(name) || string(key) != name {
			continue
		}
		switch kind {
		case jsonString:
			if p.fields[i] = value; s.escaped {
				p.fields[i] = p.unescape(value)
			}
		case jsonScalar:
			p.fields[i] = value
		case jsonNull:
			p.fields[i] = nil
		case jsonNested:
			if !s.failed && p.err == nil {
				p.err = crest.Errorf(crest.CodeMalformed, name, "is an object or array where a text or number is wanted")
			}
		}
	}
}

// unescape resolves the escapes of a string. Half a surrogate pair becomes U+FFFD, as in encoding/json.
func (p *Parser) unescape(raw []byte) []byte {
	escape := bytes.IndexByte(raw, '\\')
	if escape < 0 {
		return raw
	}
	start := len(p.block.unescaped)
	out := append(p.block.unescaped, raw[:escape]...)
	for i := escape; i < len(raw); i++ {
		c := raw[i]
		if c != '\\' {
			out = append(out, c)
			continue
		}
		i++ // str has checked that every escape is whole
		switch c = raw[i]; c {
		case 'b':
			c = '\b'
		case 'f':
			c = '\f'
		case 'n':
			c = '\n'
		case 'r':
			c = '\r'
		case 't':
			c = '\t'
		case 'u':
			r := hex4(raw[i+1:])
			i += 4
			if utf16.IsSurrogate(r) {
				pair := rune(utf8.RuneError)
				if i+6 < len(raw) && raw[i+1] == '\\' && raw[i+2] == 'u' {
					pair = utf16.DecodeRune(r, hex4(raw[i+3:]))
				}
				if r = pair; r != utf8.RuneError {
					i += 6
				}
			}
			out = utf8.AppendRune(out, r)
			continue
		}
		out = append(out, c)
	}
	p.block.unescaped = out
	return out[start:len(out):len(out)]
}

// hex4 reads four hex digits, or returns -1.
func hex4(b []byte) rune {
	if len(b) < 4 {
		return -1
	}
	r := rune(0)
	for _, c := range b[:4] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return -1
		}
		r = r<<4 | rune(c)
	}
	return r
}
