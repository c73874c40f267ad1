package rows

import (
	"math"
	"strconv"
	"time"

	"crest"
)

// ParseTime reads a moment: RFC 3339 with a zone, or a number since the Unix epoch whose size tells its unit. Below 1e11
// (the year 5138) it counts seconds, which may have a fraction; below 1e14 milliseconds; below 1e17 microseconds; and
// nanoseconds from there on. Anything finer than a millisecond is cut off.
func ParseTime(text []byte) (crest.Millis, error) {
	if n, ok := ParseUint(text); ok {
		return numberTime(n), nil
	}
	s := string(text)
	if len(text) > 0 && (text[0] == '-' || text[0] >= '0' && text[0] <= '9') {
		if f, err := strconv.ParseFloat(s, 64); err == nil && math.Abs(f) < 1e11 {
			return crest.Millis(math.Floor(f * 1000)), nil
		}
	}
	if len(s) > 10 && s[10] == ' ' {
		s = s[:10] + "T" + s[11:]
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return 0, crest.Errorf(crest.CodeMalformed, "", "%s is no time; write RFC 3339 with a zone, such as 2026-11-30T10:42:00Z, "+
			"or seconds or milliseconds since 1970", quote(text))
	}
	return crest.MillisOf(t), nil
}

func numberTime(n uint64) crest.Millis {
	switch {
	case n < 1e11:
		return crest.Millis(n * 1000)
	case n < 1e14:
		return crest.Millis(n)
	case n < 1e17:
		return crest.Millis(n / 1000)
	}
	return crest.Millis(n / 1_000_000)
}

// ParseUint reads a number of decimal digits that fits 64 bits.
func ParseUint(text []byte) (n uint64, ok bool) {
	if len(text) == 0 || len(text) > 19 { // 19 digits always fit
		return 0, false
	}
	for _, c := range text {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + uint64(c-'0')
	}
	return n, true
}

// quote shows the start of a field in a message.
func quote(text []byte) string {
	const most = 40
	if len(text) > most {
		return strconv.Quote(string(text[:most])) + "…"
	}
	return strconv.Quote(string(text))
}
