package ingest

import (
	"math"
	"strconv"
	"time"

	"crest"
)

// secondsBelow separates times in seconds from times in milliseconds: as seconds it is the year 5138, as milliseconds
// it is in 1973, and events are never that far from now.
const secondsBelow = 1e11

// farAway is a number of milliseconds that is out of every event's range, and far from overflowing.
const farAway = 1e15

// parseNumber reads a JSON number. When it is whole and small enough, whole has it exactly.
func parseNumber(s string) (whole int64, isWhole bool, value float64, ok bool) {
	if n, ok := parseDigits(s); ok {
		return n, true, float64(n), true
	}
	if !isNumber(s) {
		return 0, false, 0, false
	}
	value, err := strconv.ParseFloat(s, 64)
	if err != nil {
		// It is too large for a float64: so large that its value doesn't matter.
		value = math.Copysign(math.MaxFloat64, value)
	}
	if value == math.Trunc(value) && math.Abs(value) <= 1<<53 {
		return int64(value), true, value, true
	}
	return 0, false, value, true
}

// parseDigits reads what nearly all numbers are: up to 15 digits.
func parseDigits(s string) (n int64, ok bool) {
	if s == "" || len(s) > 15 || s[0] == '0' && len(s) > 1 {
		return 0, false
	}
	for i := range len(s) {
		d := s[i] - '0'
		if d > 9 {
			return 0, false
		}
		n = n*10 + int64(d)
	}
	return n, true
}

// isNumber reports whether s is a number in JSON's grammar, which strconv's is wider than.
func isNumber(s string) bool {
	digits := func() bool {
		n := 0
		for n < len(s) && '0' <= s[n] && s[n] <= '9' {
			n++
		}
		s = s[n:]
		return n > 0
	}
	if s != "" && s[0] == '-' {
		s = s[1:]
	}
	if len(s) > 1 && s[0] == '0' && '0' <= s[1] && s[1] <= '9' || !digits() {
		return false
	}
	if s != "" && s[0] == '.' {
		if s = s[1:]; !digits() {
			return false
		}
	}
	if s != "" && (s[0] == 'e' || s[0] == 'E') {
		s = s[1:]
		if s != "" && (s[0] == '+' || s[0] == '-') {
			s = s[1:]
		}
		if !digits() {
			return false
		}
	}
	return s == ""
}

// parseWeight reads a weight: a whole number, 3.0 included.
func parseWeight(s string) (uint32, *crest.Error) {
	whole, isWhole, _, ok := parseNumber(s)
	switch {
	case !ok:
		return 0, crest.Errorf(crest.CodeMalformed, "weight", "is %s, which is not a number in JSON", quote(s))
	case !isWhole:
		return 0, crest.Errorf(crest.CodeOutOfRange, "weight", "is %s; it must be a whole number from 1 to %d", quote(s), crest.MaxWeight)
	}
	return checkWeight(whole)
}

// parseTime reads a time as a number, of seconds or of milliseconds, whichever is near, or always of milliseconds.
func parseTime(field, s string, millis bool) (crest.Millis, *crest.Error) {
	whole, isWhole, value, ok := parseNumber(s)
	if !ok {
		return 0, crest.Errorf(crest.CodeMalformed, field, "is %s, which is not a number in JSON", quote(s))
	}
	if !millis && math.Abs(value) < secondsBelow {
		whole, value = whole*1000, value*1000
	}
	if !isWhole {
		// Rounded, because a fraction of seconds is rarely a float64 times 1000.
		whole = int64(math.Round(max(-farAway, min(value, farAway))))
	}
	return crest.Millis(whole), nil
}

// parseMoment reads a time as text.
func parseMoment(field, s string) (crest.Millis, *crest.Error) {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return 0, crest.Errorf(crest.CodeMalformed, field,
			"is %s, which is neither a time like 2026-11-30T10:42:00Z nor a number of seconds or milliseconds", quote(s))
	}
	return crest.MillisOf(t), nil
}
