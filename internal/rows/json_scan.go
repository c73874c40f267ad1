package rows

import (
	"bytes"
	"encoding/binary"
)

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
