package rows

import (
	"bytes"
	"encoding/binary"
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

type jsonKind int

const (
	jsonString jsonKind = iota
	jsonScalar          // number, true, false
	jsonNull
	jsonNested // object, array
)

// jsonScanner walks over one JSON value. After a mistake failed stays true and at is where it was seen.
type jsonScanner struct {
	data    []byte
	at      int
	failed  bool
	escaped bool // the last string may have escapes
}

func (s *jsonScanner) space() {
	for s.at < len(s.data) {
		switch s.data[s.at] {
		case ' ', '\t', '\r', '\n':
			s.at++
		default:
			return
		}
	}
}

// take moves over c if it comes next.
func (s *jsonScanner) take(c byte) bool {
	s.space()
	if s.failed || s.at >= len(s.data) || s.data[s.at] != c {
		return false
	}
	s.at++
	return true
}

func (s *jsonScanner) expect(c byte) {
	if !s.take(c) {
		s.failed = true
	}
}

// str reads a string and returns what is between its quotes.
func (s *jsonScanner) str() []byte {
	if !s.take('"') {
		s.failed = true
		return nil
	}
	start := s.at
	// Most names and values are short and plain: for them a loop costs less than the calls below.
	for i, c := range s.data[start:min(start+shortText, len(s.data))] {
		if c == '"' {
			s.at = start + i + 1
			s.escaped = false
			return s.data[start : start+i]
		}
		if c == '\\' || c < ' ' {
			break
		}
	}
	s.escaped = true
	for {
		n := bytes.IndexByte(s.data[s.at:], '"')
		if n < 0 {
			s.failed = true
			return nil
		}
		s.at += n + 1
		raw := s.data[start : s.at-1]
		if len(raw) > 0 && raw[len(raw)-1] == '\\' && oddBackslashes(raw) {
			continue
		}
		if !s.checkText(raw) {
			s.failed = true
			return nil
		}
		return raw
	}
}

// shortText is up to how many bytes a string is looked through one by one.
const shortText = 16

func oddBackslashes(raw []byte) bool {
	return (len(raw)-len(bytes.TrimRight(raw, `\`)))%2 == 1
}

// checkText reports whether a string has no raw control characters and no unknown escapes.
func (s *jsonScanner) checkText(raw []byte) bool {
	i := plainText(raw)
	for ; i < len(raw); i++ {
		if raw[i] < ' ' {
			return false
		}
		if raw[i] != '\\' {
			continue
		}
		i++
		switch raw[i] {
		case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		case 'u':
			if hex4(raw[i+1:]) < 0 {
				return false
			}
			i += 4
		default:
			return false
		}
	}
	return true
}

// plainText returns how many bytes at the start of raw surely are neither control characters nor backslashes. It looks
// at eight bytes at once: subtracting from each sets its top bit if it was smaller.
func plainText(raw []byte) int {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	i := 0
	for ; i+8 <= len(raw); i += 8 {
		word := binary.LittleEndian.Uint64(raw[i:])
		controls := (word - ' '*ones) &^ word
		other := word ^ '\\'*ones
		backslashes := (other - ones) &^ other
		if (controls|backslashes)&tops != 0 {
			break
		}
	}
	return i
}

// value reads any value. For a string it returns what is between the quotes, for a scalar its text.
func (s *jsonScanner) value(depth int) (jsonKind, []byte) {
	s.space()
	if s.failed || s.at >= len(s.data) || depth > maxDepth {
		s.failed = true
		return jsonNull, nil
	}
	switch c := s.data[s.at]; c {
	case '"':
		return jsonString, s.str()
	case '{', '[':
		s.at++
		s.nested(c, depth)
		return jsonNested, nil
	case 't':
		return jsonScalar, s.literal("true")
	case 'f':
		return jsonScalar, s.literal("false")
	case 'n':
		return jsonNull, s.literal("null")
	default:
		return jsonScalar, s.number()
	}
}

func (s *jsonScanner) nested(open byte, depth int) {
	closing := open + 2 // '{' and '}', '[' and ']' are two apart
	if s.take(closing) {
		return
	}
	for !s.failed {
		if open == '{' {
			s.str()
			s.expect(':')
		}
		s.value(depth + 1)
		if s.take(closing) {
			return
		}
		s.expect(',')
	}
}

func (s *jsonScanner) literal(text string) []byte {
	if !bytes.HasPrefix(s.data[s.at:], []byte(text)) {
		s.failed = true
		return nil
	}
	s.at += len(text)
	return s.data[s.at-len(text) : s.at]
}

// number reads a number as the JSON grammar has it: no plus, no leading zeros, digits on both sides of the point.
func (s *jsonScanner) number() []byte {
	start := s.at
	s.skip('-')
	if !s.skip('0') {
		s.digits()
	}
	if s.skip('.') {
		s.digits()
	}
	if s.skip('e') || s.skip('E') {
		if !s.skip('+') {
			s.skip('-')
		}
		s.digits()
	}
	return s.data[start:s.at]
}

func (s *jsonScanner) skip(c byte) bool {
	if s.at < len(s.data) && s.data[s.at] == c {
		s.at++
		return true
	}
	return false
}

func (s *jsonScanner) digits() {
	start := s.at
	for s.at < len(s.data) && s.data[s.at] >= '0' && s.data[s.at] <= '9' {
		s.at++
	}
	if s.at == start {
		s.failed = true
	}
}
