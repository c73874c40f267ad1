package httpapi

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"crest"
)

// cacheControl says how long a window's lists may be reused: 10 s, or 30 s for windows longer than an hour, but never
// longer than it takes until there is a newer one. While a cache fetches that, it may serve the old one for three times
// as long, at most 30 s.
func cacheControl(w crest.Window) string {
	longest := 10 * time.Second
	if w.AllTime() || w.Length > time.Hour {
		longest = 30 * time.Second
	}
	age := max(1, int(min(longest, w.Refresh)/time.Second))
	return fmt.Sprintf("public, max-age=%d, stale-while-revalidate=%d", age, min(30, 3*age))
}

// matches reports whether an If-None-Match header has the entity tag, by RFC 9110's weak comparison.
func matches(header []string, etag string) bool {
	for _, line := range header {
		for line != "" {
			line = strings.TrimLeft(line, " \t,")
			if strings.HasPrefix(line, "*") {
				return true
			}
			line = strings.TrimPrefix(line, "W/")
			if strings.HasPrefix(line, etag) {
				return true
			}
			// The next tag begins after this one's closing quote; what is not a tag matches nothing.
			open := strings.IndexByte(line, '"')
			if open < 0 {
				break
			}
			line = line[open+1:]
			end := strings.IndexByte(line, '"')
			if end < 0 {
				break
			}
			line = line[end+1:]
		}
	}
	return false
}

// negotiate returns the content coding that an Accept-Encoding header wants most of those there are: zstd, gzip, or ""
// for identity, which is also the answer to a client that accepts nothing.
func negotiate(header []string) string {
	zstd, gzip, identity, other := -1, -1, -1, -1
	for _, line := range header {
		for line != "" {
			var item string
			item, line, _ = strings.Cut(line, ",")
			name, parameters, _ := strings.Cut(item, ";")
			q := quality(parameters)
			switch name = strings.TrimSpace(name); {
			case strings.EqualFold(name, "zstd"):
				zstd = q
			case strings.EqualFold(name, "gzip"), strings.EqualFold(name, "x-gzip"):
				gzip = q
			case strings.EqualFold(name, "identity"):
				identity = q
			case name == "*":
				other = q
			}
		}
	}
	if zstd < 0 {
		zstd = other
	}
	if gzip < 0 {
		gzip = other
	}
	switch {
	case zstd > 0 && zstd >= gzip && zstd >= identity:
		return "zstd"
	case gzip > 0 && gzip >= identity:
		return "gzip"
	}
	return ""
}

// quality returns a coding's q value in thousandths: 1000 when it has none, and 0 when it can't be read.
func quality(parameters string) int {
	for parameters != "" {
		var p string
		p, parameters, _ = strings.Cut(parameters, ";")
		name, value, _ := strings.Cut(p, "=")
		if !strings.EqualFold(strings.TrimSpace(name), "q") {
			continue
		}
		q, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
		if err != nil || !(q >= 0 && q <= 1) {
			return 0
		}
		return int(q * 1000)
	}
	return 1000
}
