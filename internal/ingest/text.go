package ingest

import (
	"strconv"
	"unicode/utf8"
	"unsafe"

	"crest"
)

// view returns b as a string without copying it. The string is valid until b changes, which the caller sees to: it is
// how events get from a body to an encoder without an allocation each.
func view(b []byte) string {
	return unsafe.String(unsafe.SliceData(b), len(b)) //nolint:gosec // the comment says how long it is valid
}

// checkText is [crest.CheckText], quicker for printable ASCII, which most text is.
func checkText(field, s string, limit int) *crest.Error {
	if s == "" || len(s) > limit || !isPrintableASCII(s) {
		return crest.CheckText(field, s, limit)
	}
	return nil
}

// isPrintableASCII reports whether all bytes are from 0x20 to 0x7e. It looks at eight bytes at a time.
func isPrintableASCII(s string) bool {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	i := 0
	for ; i+8 <= len(s); i += 8 {
		x := load64(s, i)
		// The high bit of a byte is set by being high, and carried or borrowed into from above 0x7e or below 0x20. A
		// borrow from the byte below can only be taken for one more byte that is wrong.
		if (x|(x+ones)|(x-0x20*ones))&highs != 0 {
			return false
		}
	}
	for ; i < len(s); i++ {
		if s[i] < 0x20 || s[i] > 0x7e {
			return false
		}
	}
	return true
}

// load64 is written so that the compiler makes one load of it.
func load64(s string, i int) uint64 {
	s = s[i : i+8]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// quote quotes text from a stranger for a message: not all of it, and nothing that could upset a terminal.
func quote(s string) string { return strconv.Quote(clip(s, 64)) }

// clip returns at most limit bytes of s, without cutting a character.
func clip(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit] + "…"
}
