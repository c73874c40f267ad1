package main

import (
	"strings"
	"time"

	"crest"
	"crest/internal/rows"
)

// The forms of moments that flags of the exact path take, beside those of rows.ParseTime. All are UTC.
const (
	formHour   = "2006-01-02T15"
	formMinute = "2006-01-02T15:04"
)

// parseMoment reads a moment that a flag gives: RFC 3339, an hour or a minute of UTC, or a number of seconds or
// milliseconds since 1970.
func parseMoment(flag, text string) (crest.Millis, error) {
	for _, form := range []string{formHour, formMinute} {
		if t, err := time.ParseInLocation(form, strings.TrimSuffix(text, "Z"), time.UTC); err == nil {
			return crest.MillisOf(t), nil
		}
	}
	m, err := rows.ParseTime([]byte(text))
	if err != nil {
		return 0, usagef("--%s %s: is no time; write an hour of UTC, such as 2026-11-30T09, or RFC 3339, such as 2026-11-30T09:00:00Z", flag, text)
	}
	return m, nil
}

// parseHour reads the start of an event hour that a flag gives.
func parseHour(flag, text string) (crest.Millis, error) {
	m, err := parseMoment(flag, text)
	if err != nil {
		return 0, err
	}
	if m.Floor(time.Hour) != m {
		return 0, usagef("--%s %s: is not at the full hour; hours of UTC are counted, such as %s", flag, text, m.Time().Format(formHour))
	}
	return m, nil
}

// span is the hours that flags name: [from, to). A zero end is open.
type span struct{ from, to crest.Millis }

// has reports whether an hour is one of them.
func (w span) has(hour crest.Millis) bool { return hour >= w.from && (w.to == 0 || hour < w.to) }

// parseSpan reads --hour, or --from and --to, of which either may be missing.
func parseSpan(hour, from, to string) (s span, err error) {
	if hour != "" {
		if from != "" || to != "" {
			return s, usagef("--hour can't be combined with --from and --to; choose one hour or a range")
		}
		if s.from, err = parseHour("hour", hour); err != nil {
			return s, err
		}
		return span{s.from, s.from.Add(time.Hour)}, nil
	}
	if from != "" {
		if s.from, err = parseHour("from", from); err != nil {
			return s, err
		}
	}
	if to != "" {
		if s.to, err = parseHour("to", to); err != nil {
			return s, err
		}
	}
	if from != "" && to != "" && s.from >= s.to {
		return s, usagef("--from %s is not before --to %s, which is the first hour that is left out", from, to)
	}
	return s, nil
}

// hourName writes an hour as flags take it.
func hourName(m crest.Millis) string { return m.Time().Format(formHour) }
