package hashtag

import (
	"unicode/utf8"

	"golang.org/x/text/cases"
)

// foldGrowth is the most bytes that one byte becomes: U+0390, of 2 bytes, folds to 3 runes of 2 bytes each.
const foldGrowth = 3

// appendFolded appends the full case folding of src to dst.
func appendFolded(dst, src []byte) []byte {
	if need := foldGrowth * len(src); cap(dst) < need {
		dst = make([]byte, 0, need)
	}
	// With all of the source and room for all of the result there is nothing that could fail.
	n, _, _ := cases.Fold().Transform(dst[:cap(dst)], src, true)
	dst = dst[:n]
	foldCherokee(dst)
	return dst
}

// foldCherokee puts right, in place, what package cases makes of Cherokee: it swaps capitals and small letters, where
// CaseFolding.txt folds the small ones to the capitals, which came first. Both take three bytes.
func foldCherokee(text []byte) {
	const lead, leadAlso = 0xEA, 0xE1 // the first bytes of U+AB70 to U+ABBF and of U+13F8 to U+13FD
	for i := 0; i+2 < len(text); i++ {
		if text[i] != lead && text[i] != leadAlso {
			continue
		}
		switch r, _ := utf8.DecodeRune(text[i:]); {
		case 0xAB70 <= r && r <= 0xABBF:
			utf8.EncodeRune(text[i:i+3], r-0xAB70+0x13A0)
		case 0x13F8 <= r && r <= 0x13FD:
			utf8.EncodeRune(text[i:i+3], r-8)
		}
	}
}
