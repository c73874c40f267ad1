// Package hashtag brings the spellings of one hashtag to one form, so that they are counted together.
//
// The normal form of a tag is its Unicode NFKC form, case folded in full, in NFKC again, less one leading "#"
// ("#Straße" and "＃STRASSE" are both "strasse"). Nothing else is taken away or merged:
//
//   - accents stay: "résumé" and "resume" are different words;
//   - look-alikes stay apart: a Cyrillic "а" is not a Latin "a";
//   - zero-width joiners, non-joiners and variation selectors stay: they hold emoji together and make words in Persian
//     and other languages;
//   - the "#" of the keycap emoji "#️⃣" stays: it is not a prefix;
//   - a second "#" stays, and so does white space.
//
// The definitions are those of Unicode Standard Annex 15 and of the full (C + F) mappings of CaseFolding.txt, without
// the Turkic ones.
package hashtag

import (
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Version names the normal form. It changes whenever any tag's normal form does, newer Unicode tables included, because
// counts of different versions can't be added up.
const Version = 1

// Normalize returns the normal form of a tag. It is empty when the tag is nothing but a "#". A normal form is its own
// normal form, unless it begins with another "#". Bytes that are not UTF-8 stay as they are. It may be called
// concurrently; it allocates only when the tag has to change or is not ASCII.
func Normalize(s string) string {
	if rest, ok := normalASCII(s); ok {
		return rest
	}
	var n Normalizer
	var stack [64]byte
	return string(n.Append(stack[:0], s))
}

// A Normalizer is [Normalize] for many tags: it keeps its buffers, so that it doesn't allocate. The zero value is ready.
// It must not be used by two goroutines at once.
type Normalizer struct {
	composed, folded []byte
}

// Append appends the normal form of a tag to dst.
func (n *Normalizer) Append(dst []byte, s string) []byte {
	if isASCII(s) {
		if s != "" && s[0] == '#' {
			s = s[1:]
		}
		return appendLower(dst, s)
	}
	n.composed = norm.NFKC.AppendString(n.composed[:0], s)
	n.folded = appendFolded(n.folded[:0], n.composed)
	start := len(dst)
	dst = norm.NFKC.Append(dst, n.folded...)
	if hasPrefix(dst[start:]) {
		dst = append(dst[:start], dst[start+1:]...)
	}
	return dst
}

// normalASCII returns the normal form of a tag that is ASCII without capitals.
func normalASCII(s string) (string, bool) {
	for i := range len(s) {
		if c := s[i]; c >= utf8.RuneSelf || 'A' <= c && c <= 'Z' {
			return "", false
		}
	}
	if s != "" && s[0] == '#' {
		s = s[1:]
	}
	return s, true
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

func appendLower(dst []byte, s string) []byte {
	for i := range len(s) {
		c := s[i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		dst = append(dst, c)
	}
	return dst
}

// hasPrefix reports whether a "#" leads the tag, rather than being the base of a keycap emoji.
func hasPrefix(tag []byte) bool {
	const (
		variationSelector16 = '\uFE0F'
		enclosingKeycap     = '\u20E3'
	)
	if len(tag) == 0 || tag[0] != '#' {
		return false
	}
	next, _ := utf8.DecodeRune(tag[1:])
	return next != variationSelector16 && next != enclosingKeycap
}
