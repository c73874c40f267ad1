package ingest

import (
	"bytes"

	"crest"
)

// splitter cuts a JSON array into its elements without parsing them, so that each can be parsed, and refused, by
// itself. It minds strings and brackets only: whatever else is between two commas is an element.
type splitter struct {
	body []byte
	pos  int // of what has not been looked at
}

// matchedDepth is how deep brackets are matched with each other. Deeper ones are only counted; parsing refuses them.
const matchedDepth = 64

// openArray skips the bracket at which the array begins. It returns false when the array is empty.
func (s *splitter) openArray() bool {
	s.pos++
	s.skipSpace()
	if s.pos < len(s.body) && s.body[s.pos] == ']' {
		s.pos++
		return false
	}
	return true
}

// next returns the next element, without the white space around it, and whether another follows. An element may be
// empty. An error says that the rest can't be cut into elements.
func (s *splitter) next() (element []byte, more bool, err *crest.Error) {
	start := s.pos
	end, err := s.elementEnd()
	if err != nil {
		return nil, false, err
	}
	s.pos = end + 1
	return trimSpace(s.body[start:end]), s.body[end] == ',', nil
}

// finish returns an error if anything follows the array.
func (s *splitter) finish() *crest.Error {
	s.skipSpace()
	if s.pos < len(s.body) {
		return crest.Errorf(crest.CodeMalformed, "", "something follows the array at byte %d; nothing was counted", s.pos)
	}
	return nil
}

func (s *splitter) skipSpace() {
	for s.pos < len(s.body) && isSpace(s.body[s.pos]) {
		s.pos++
	}
}

// elementEnd returns the position of the comma or bracket behind the element that begins at s.pos.
func (s *splitter) elementEnd() (int, *crest.Error) {
	depth, objects := 0, uint64(0) // bit d of objects: what depth d opened is an object
	for i := s.pos; i < len(s.body); i++ {
		switch c := s.body[i]; c {
		case '"':
			end := stringEnd(s.body, i)
			if end < 0 {
				return 0, s.cutOff()
			}
			i = end
		case '{', '[':
			if depth < matchedDepth {
				objects &^= 1 << depth
				if c == '{' {
					objects |= 1 << depth
				}
			}
			depth++
		case '}', ']':
			if depth == 0 && c == ']' {
				return i, nil
			}
			depth--
			if depth < 0 || depth < matchedDepth && (objects>>depth&1 == 1) != (c == '}') {
				return 0, crest.Errorf(crest.CodeMalformed, "", "the bracket %q at byte %d closes nothing; nothing was counted", c, i)
			}
		case ',':
			if depth == 0 {
				return i, nil
			}
		}
	}
	return 0, s.cutOff()
}

func (s *splitter) cutOff() *crest.Error {
	return crest.Errorf(crest.CodeMalformed, "", "the body is cut off: what begins at byte %d does not end; nothing was counted", s.pos)
}

// stringEnd returns the position of the quote that ends the string that begins at start, or -1.
func stringEnd(body []byte, start int) int {
	i := start + 1
	for {
		n := bytes.IndexByte(body[i:], '"')
		if n < 0 {
			return -1
		}
		i += n
		escapes := 0
		for body[i-1-escapes] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return i
		}
		i++
	}
}

// objectEnd returns the position behind the object that begins at start, or -1 when it does not end.
func objectEnd(body []byte, start int) int {
	depth := 0
	for i := start; i < len(body); i++ {
		switch body[i] {
		case '"':
			if i = stringEnd(body, i); i < 0 {
				return -1
			}
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return -1
}

// isSpace reports whether c is white space in JSON.
func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

func trimSpace(b []byte) []byte {
	for len(b) > 0 && isSpace(b[0]) {
		b = b[1:]
	}
	for len(b) > 0 && isSpace(b[len(b)-1]) {
		b = b[:len(b)-1]
	}
	return b
}
