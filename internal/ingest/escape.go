package ingest

import (
	"bytes"
	"strconv"
	"unicode/utf16"

	"crest"
)

// checkEscapes returns what is wrong with the escapes in JSON text: the parser lets such pass and keeps them as they
// are, which would count an item by a name that it does not have.
func checkEscapes(text []byte) *crest.Error {
	for i := bytes.IndexByte(text, '\\'); i >= 0 && i < len(text); {
		length, err := checkEscape(text, i)
		if err != nil {
			return err
		}
		i += length
		next := bytes.IndexByte(text[i:], '\\')
		if next < 0 {
			return nil
		}
		i += next
	}
	return nil
}

// checkEscape returns the length of the escape at i: 2, 6, or 12 for a surrogate pair.
func checkEscape(text []byte, i int) (int, *crest.Error) {
	if i+1 < len(text) && bytes.IndexByte([]byte(`"\/bfnrt`), text[i+1]) >= 0 {
		return 2, nil
	}
	unit, ok := escapedUnit(text, i)
	if !ok {
		return 0, crest.Errorf(crest.CodeMalformed, "", "the event has an escape at its byte %d that JSON does not know", i)
	}
	if !utf16.IsSurrogate(unit) {
		return 6, nil
	}
	second, ok := escapedUnit(text, i+6)
	if !ok || utf16.DecodeRune(unit, second) == '\uFFFD' {
		return 0, crest.Errorf(crest.CodeInvalidUTF8, "", "the event has half of a surrogate pair at its byte %d", i)
	}
	return 12, nil
}

// escapedUnit returns the UTF-16 code unit that is escaped at i.
func escapedUnit(text []byte, i int) (rune, bool) {
	if i+6 > len(text) || text[i] != '\\' || text[i+1] != 'u' {
		return 0, false
	}
	unit, err := strconv.ParseUint(view(text[i+2:i+6]), 16, 16)
	return rune(unit), err == nil
}
