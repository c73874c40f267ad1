package ingest

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"crest"
)

// split returns the elements of a body that begins with an array.
func split(body []byte) ([][]byte, *crest.Error) {
	s := splitter{body: body, pos: contentStart(body)}
	var elements [][]byte
	for more := s.openArray(); more; {
		var element []byte
		var err *crest.Error
		if element, more, err = s.next(); err != nil {
			return nil, err
		}
		elements = append(elements, element)
	}
	return elements, s.finish()
}

// randomJSON returns a JSON value with white space here and there.
func randomJSON(rng *rand.Rand, depth int) string {
	space := func() string { return strings.Repeat(" ", rng.IntN(3)/2) }
	kinds := 6
	if depth > 4 {
		kinds = 4
	}
	switch rng.IntN(kinds) {
	case 0:
		return "null"
	case 1:
		return "-1.5e3"
	case 2, 3:
		b, _ := json.Marshal(strings.Repeat([]string{`a`, `\`, `"`, `]`, `},{`, "é", "\n"}[rng.IntN(7)], rng.IntN(4)))
		return string(b)
	case 4:
		var b strings.Builder
		b.WriteString("[" + space())
		for i := range rng.IntN(4) {
			if i > 0 {
				b.WriteString("," + space())
			}
			b.WriteString(randomJSON(rng, depth+1) + space())
		}
		return b.String() + "]"
	default:
		var b strings.Builder
		b.WriteString("{" + space())
		for i := range rng.IntN(4) {
			if i > 0 {
				b.WriteString("," + space())
			}
			b.WriteString(`"k` + strings.Repeat(`\"`, rng.IntN(3)) + `"` + space() + ":" + space() + randomJSON(rng, depth+1) + space())
		}
		return b.String() + "}"
	}
}

// TestSplitAgreesWithEncodingJSON compares elements, and looks that no array that is cut short passes.
func TestSplitAgreesWithEncodingJSON(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	for range 500 {
		elements := make([]string, rng.IntN(5))
		for i := range elements {
			elements[i] = randomJSON(rng, 0)
		}
		body := []byte(" [" + strings.Join(elements, " ,\n") + "]\n")
		checkSplit(t, body)
		for n := range len(bytes.TrimSpace(body)) {
			cut := body[:n]
			if len(bytes.TrimSpace(cut)) == 0 {
				continue
			}
			if got, err := split(cut); err == nil {
				t.Fatalf("%q is cut off, and split into %q", cut, got)
			}
		}
	}
}

// checkSplit compares the elements of a valid array with those that encoding/json finds.
func checkSplit(t *testing.T, body []byte) {
	t.Helper()
	var want []json.RawMessage
	if err := json.Unmarshal(body, &want); err != nil {
		t.Fatalf("%q: %v", body, err)
	}
	got, err := split(body)
	if err != nil || len(got) != len(want) {
		t.Fatalf("%q: got %d elements, want %d: %v", body, len(got), len(want), err)
	}
	for i := range want {
		if !bytes.Equal(got[i], want[i]) {
			t.Fatalf("%q: element %d is %q, want %q", body, i, got[i], want[i])
		}
	}
}

func TestSplitKeepsWhatIsNotJSONApart(t *testing.T) {
	got, err := split([]byte(`[,a b,{"x":},,"\\",{}{}, ]`))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"", "a b", `{"x":}`, "", `"\\"`, "{}{}", ""}
	for i := range want {
		if i >= len(got) || string(got[i]) != want[i] {
			t.Fatalf("got %q, want %q", got, want)
		}
	}
}

func FuzzSplit(f *testing.F) {
	for _, seed := range []string{`[]`, `[1,2]`, `[{"a":"]\\\""},[[]]]`, `[{]}`, `["`, `[ , ]`, "[\"\\"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		start := contentStart(body)
		if start == len(body) || body[start] != '[' {
			return
		}
		body = body[start:]
		if json.Valid(body) {
			checkSplit(t, body)
			return
		}
		elements, err := split(body)
		if err != nil {
			return
		}
		// What was cut must fit together again.
		if joined := "[" + string(bytes.Join(elements, []byte{','})) + "]"; len(joined) > len(body) {
			t.Fatalf("%q became %q", body, joined)
		}
	})
}
