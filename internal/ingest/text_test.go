package ingest

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"crest"
)

func TestPrintableASCII(t *testing.T) {
	for length := range 20 {
		for position := range length {
			for c := range 256 {
				b := []byte(strings.Repeat("~", length))
				b[position] = byte(c)
				if got, want := isPrintableASCII(string(b)), 0x20 <= c && c <= 0x7e; got != want {
					t.Fatalf("%q: %v", b, got)
				}
			}
		}
	}
}

func TestCheckTextIsTheVocabularys(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	for range 10_000 {
		b := make([]byte, rng.IntN(24))
		for i := range b {
			b[i] = byte(0x20 + rng.IntN(0x5f))
			if rng.IntN(30) == 0 {
				b[i] = byte(rng.Uint32())
			}
		}
		got, want := checkText("f", string(b), 20), crest.CheckText("f", string(b), 20)
		if (got == nil) != (want == nil) || got != nil && *got != *want {
			t.Fatalf("%q: got %v, want %v", b, got, want)
		}
	}
}

func TestClip(t *testing.T) {
	for _, test := range []struct{ s, want string }{
		{"", ""},
		{"abcd", "abcd"},
		{"abcde", "abcd…"},
		{"abcé", "abc…"},
		{"éé", "éé"},
		{"ééé", "éé…"},
		{"\x80\x80\x80\x80\x80\x80", "…"},
	} {
		if got := clip(test.s, 4); got != test.want {
			t.Errorf("%q: got %q, want %q", test.s, got, test.want)
		}
	}
}

func TestNumbers(t *testing.T) {
	valid := map[string]float64{
		"0": 0, "-0": 0, "7": 7, "123456789012345": 123456789012345, "-12": -12, "1.5": 1.5, "0.25": 0.25, "2e3": 2000, "2E+3": 2000,
		"2.5e-1": 0.25, "1e999": math.MaxFloat64, "-1e999": -math.MaxFloat64, "9007199254740993": 9007199254740992,
	}
	for s, want := range valid {
		whole, isWhole, value, ok := parseNumber(s)
		if !ok || value != want || isWhole && float64(whole) != want {
			t.Errorf("%s: got %d, %v, %v, %v", s, whole, isWhole, value, ok)
		}
		if !json.Valid([]byte(s)) {
			t.Errorf("%s is no number in JSON", s)
		}
	}
	for _, s := range []string{
		"", "-", "+1", "01", "-01", "1.", ".5", "1e", "1e+", "0x10", "1_000", "NaN", "nan", "inf", "-Infinity", "1 ", "1.5.2", "--1", "1e5e5", "٣",
	} {
		if _, _, _, ok := parseNumber(s); ok {
			t.Errorf("%q passes for a number", s)
		}
		if json.Valid([]byte(s)) && strings.TrimSpace(s) == s {
			t.Errorf("%q is a number in JSON", s)
		}
	}
}

// TestEscapesAgreeWithEncodingJSON writes text in random escapes, right and wrong ones.
func TestEscapesAgreeWithEncodingJSON(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	parts := []string{
		`a`, `é`, `\n`, `\t`, `\"`, `\\`, `\/`, `\b`, `\f`, `\r`, `\u0041`, `\u00E9`, `\ud83d\ude02`, `\uD83D\uDE02`, `\ud83d`, `\ude02`,
		`\x`, `\u12`, `\u12G4`, `\'`, `u0041`,
	}
	for range 20_000 {
		var b strings.Builder
		b.WriteString(`{"item":"`)
		for range rng.IntN(5) {
			b.WriteString(parts[rng.IntN(len(parts))])
		}
		b.WriteString(`"}`)
		text := []byte(b.String())
		var want struct{ Item string }
		err := json.Unmarshal(text, &want)
		// encoding/json puts U+FFFD for half a surrogate pair, of which there is none in the parts.
		bad := err != nil || strings.ContainsRune(want.Item, utf8.RuneError)

		batch := newBatch(&schema{partitions: 1})
		reason := batch.parseEvent(text)
		if (reason != nil) != bad {
			t.Fatalf("%s: got %v, encoding/json %q, %v", text, reason, want.Item, err)
		}
		if reason == nil && batch.fields.item != want.Item {
			t.Fatalf("%s: got %q, want %q", text, batch.fields.item, want.Item)
		}
	}
}
