package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"crest"
)

// Bytes is a number of bytes, written in YAML and flags as "64MiB", "1GiB" or a plain number.
type Bytes int64

// Binary multiples.
const (
	KiB Bytes = 1 << 10
	MiB Bytes = 1 << 20
	GiB Bytes = 1 << 30
	TiB Bytes = 1 << 40
)

// ParseBytes reads a size: a number that is not negative, with a unit or without. KiB, MiB, GiB and TiB (also K, M, G, T)
// count in 1,024s; kB, MB, GB and TB in 1,000s. Case doesn't matter.
func ParseBytes(s string) (Bytes, error) {
	text, unit := cutUnit(strings.ToLower(strings.TrimSpace(s)))
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && n >= 0 && n <= math.MaxInt64/int64(unit) {
		return Bytes(n) * unit, nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || !(f >= 0) || f*float64(unit) >= math.MaxInt64 {
		return 0, crest.Errorf(crest.CodeMalformed, "", "%q is not a size; write 64MiB, 1.5GiB or a number of bytes", s)
	}
	return Bytes(f * float64(unit)), nil
}

// cutUnit tries long units before short ones, so that "mb" is not taken for a number of "b".
func cutUnit(text string) (number string, unit Bytes) {
	for _, u := range []struct {
		suffix string
		bytes  Bytes
	}{
		{"kib", KiB},
		{"mib", MiB},
		{"gib", GiB},
		{"tib", TiB},
		{"kb", 1e3},
		{"mb", 1e6},
		{"gb", 1e9},
		{"tb", 1e12},
		{"k", KiB},
		{"m", MiB},
		{"g", GiB},
		{"t", TiB},
		{"b", 1},
	} {
		if number, ok := strings.CutSuffix(text, u.suffix); ok {
			return strings.TrimSpace(number), u.bytes
		}
	}
	return text, 1
}

// UnmarshalText reads what ParseBytes reads.
func (b *Bytes) UnmarshalText(text []byte) error {
	n, err := ParseBytes(string(text))
	if err != nil {
		return err
	}
	*b = n
	return nil
}

// String returns the size in the largest binary unit below it, to one decimal place: "64MiB", "5.2MiB".
func (b Bytes) String() string {
	for _, u := range []struct {
		name  string
		bytes Bytes
	}{{"TiB", TiB}, {"GiB", GiB}, {"MiB", MiB}, {"KiB", KiB}} {
		if b >= u.bytes {
			return strings.TrimSuffix(fmt.Sprintf("%.1f", float64(b)/float64(u.bytes)), ".0") + u.name
		}
	}
	return fmt.Sprintf("%dB", int64(b))
}
