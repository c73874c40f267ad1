package hashtag

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestNormalize(t *testing.T) {
	tests := []struct{ name, tag, want string }{
		{"nothing", "", ""},
		{"only the prefix", "#", ""},
		{"only a fullwidth prefix", "＃", ""},
		{"plain", "mcgregor", "mcgregor"},
		{"prefix and capitals", "#McGregor", "mcgregor"},
		{"fullwidth prefix", "＃McGregor", "mcgregor"},
		{"fullwidth letters", "#ＭｃＧregor", "mcgregor"},
		{"one prefix, not two", "##tag", "#tag"},
		{"a prefix of each kind", "#＃tag", "#tag"},
		{"prefix inside", "a#b", "a#b"},
		{"white space stays", " #Tag ", " #tag "},
		{"sharp s in full", "#Straße", "strasse"},
		{"capital sharp s", "#STRAẞE", "strasse"},
		{"final sigma", "#ΟΔΟΣ", "οδοσ"},
		{"Turkish dotted I keeps its dot", "#İstanbul", "i\u0307stanbul"},
		{"Turkish dotless i stays", "#ısı", "ısı"},
		{"ligature", "#ﬁne", "fine"},
		{"accents stay", "#RÉSUMÉ", "résumé"},
		{"accents composed", "#re\u0301sume\u0301", "résumé"},
		{"no accent is another word", "#resume", "resume"},
		{"look-alikes stay apart", "#\u0430bc", "\u0430bc"},
		{"Cherokee folds to its capitals", "#Ꭰꭰ\u13f8", "ᎠᎠ\u13f0"},
		{"halfwidth kana", "#ｶﾞｯﾂ", "ガッツ"},
		{"Hangul composed", "#\u1112\u1161\u11ab", "한"},
		{"Persian non-joiner stays", "#می\u200cخواهم", "می\u200cخواهم"},
		{"emoji", "😂", "😂"},
		{"emoji family keeps its joiners", "👩\u200d👩\u200d👧", "👩\u200d👩\u200d👧"},
		{"emoji variation stays", "❤\ufe0f", "❤\ufe0f"},
		{"skin tone stays", "👍🏽", "👍🏽"},
		{"flag", "🇮🇪", "🇮🇪"},
		{"keycap emoji keeps its base", "#\ufe0f\u20e3", "#\ufe0f\u20e3"},
		{"keycap without variation", "#\u20e3", "#\u20e3"},
		{"tag of a keycap emoji", "##\ufe0f\u20e3", "#\ufe0f\u20e3"},
		{"not UTF-8", "#A\xffé", "a\xffé"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := Normalize(test.tag); got != test.want {
				t.Errorf("Normalize(%+q) = %+q, want %+q", test.tag, got, test.want)
			}
		})
	}
}

type fixtureLine struct {
	S, Type, Item, Normal string
	Count                 int
}

func readFixture(t *testing.T, name string) []fixtureLine {
	t.Helper()
	f, err := os.Open("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var lines []fixtureLine
	for s := bufio.NewScanner(f); s.Scan(); {
		var line fixtureLine
		if err := json.Unmarshal(s.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line)
	}
	return lines
}

func TestNastyStringsAsAnotherImplementationHasThem(t *testing.T) {
	lines := readFixture(t, "nasty_strings.ndjson")
	if len(lines) != 620 {
		t.Fatalf("%d strings, want 620", len(lines))
	}
	for _, line := range lines {
		if got := Normalize(line.S); got != line.Normal {
			t.Errorf("Normalize(%+q) = %+q, want %+q", line.S, got, line.Normal)
		}
		checkProperties(t, line.S)
	}
}

func TestRealTags(t *testing.T) {
	counts := map[string]int{}
	spellings := map[string]int{}
	emoji := map[string]bool{}
	for _, line := range readFixture(t, "fight_tags_emoji.ndjson") {
		normal := Normalize(line.Item)
		if normal != line.Normal {
			t.Errorf("Normalize(%+q) = %+q, want %+q", line.Item, normal, line.Normal)
		}
		checkProperties(t, line.Item)
		switch line.Type {
		case "hashtag":
			counts[normal] += line.Count
			spellings[normal]++
		case "emoji":
			emoji[normal] = true
		}
	}
	if len(counts) != 953 {
		t.Errorf("%d tags after normalisation, want 953", len(counts))
	}
	if len(emoji) != 677 {
		t.Errorf("%d emoji after normalisation, want all 677 still apart", len(emoji))
	}
	if n := spellings["mayweathervmcgregor"]; n != 10 {
		t.Errorf("mayweathervmcgregor has %d spellings, want 10", n)
	}
	tags := make([]string, 0, len(counts))
	for tag := range counts {
		tags = append(tags, tag)
	}
	slices.SortFunc(tags, func(a, b string) int { return cmp.Or(counts[b]-counts[a], strings.Compare(a, b)) })
	want := []struct {
		tag   string
		count int
	}{
		{"mayweathervmcgregor", 4592},
		{"mcgregor", 2459},
		{"mayweather", 1965},
		{"mayweathermcgregor", 1437},
		{"mayweathervsmcgregor", 1242},
		{"floydmayweather", 146},
		{"tmt", 134},
		{"boxing", 110},
		{"moneyfightxfox", 99},
		{"maymac", 94},
	}
	for i, w := range want {
		if tags[i] != w.tag || counts[tags[i]] != w.count {
			t.Errorf("rank %d is %s %d, want %s %d", i+1, tags[i], counts[tags[i]], w.tag, w.count)
		}
	}
}

// TestVersion fails when the normal form of any character changes: by a change here or by newer Unicode tables, which
// come with newer Go releases. Then Version has to be raised, and this digest replaced.
func TestVersion(t *testing.T) {
	digest := sha256.New()
	var normalizer Normalizer
	var buf []byte
	for r := rune(0); r <= utf8.MaxRune; r++ {
		if !utf8.ValidRune(r) {
			continue
		}
		buf = normalizer.Append(buf[:0], "x"+string(r))
		digest.Write(buf)
	}
	const want = "539c29286f5e246394c018c71c2035cb3fc98bcfbfbf42b08e6f9cae35f3da91"
	if got := hex.EncodeToString(digest.Sum(nil)); Version != 1 || got != want {
		t.Errorf("version %d has digest %s, want version 1 with %s", Version, got, want)
	}
}

// checkProperties checks what holds for every string.
func checkProperties(t *testing.T, s string) {
	t.Helper()
	normal := Normalize(s)
	if appended := new(Normalizer).Append([]byte("x"), s); string(appended) != "x"+normal {
		t.Errorf("Append gives %+q for %+q, Normalize %+q", appended[1:], s, normal)
	}
	if strings.HasPrefix(normal, "#") {
		return
	}
	if again := Normalize(normal); again != normal {
		t.Errorf("normal form of %+q is %+q, and the normal form of that %+q", s, normal, again)
	}
	if prefixed := Normalize("#" + normal); prefixed != normal && normal != "" && !keycapFollows(normal) {
		t.Errorf("normal form of %+q is %+q, but with a prefix %+q", s, normal, prefixed)
	}
}

func keycapFollows(s string) bool {
	return strings.HasPrefix(s, "\ufe0f") || strings.HasPrefix(s, "\u20e3")
}

func TestNormalizerDoesNotAllocate(t *testing.T) {
	var n Normalizer
	buf := make([]byte, 0, 256)
	for _, tag := range []string{"#McGregor", "😂", "#Straße", "#МОСКВА"} {
		buf = n.Append(buf[:0], tag)
		if allocs := testing.AllocsPerRun(100, func() { buf = n.Append(buf[:0], tag) }); allocs != 0 {
			t.Errorf("%v allocations for %s", allocs, tag)
		}
	}
	if allocs := testing.AllocsPerRun(100, func() { _ = Normalize("#mcgregor") }); allocs != 0 {
		t.Errorf("Normalize of a lower-case tag allocates %v times", allocs)
	}
}

func FuzzNormalize(f *testing.F) {
	for _, seed := range []string{"#McGregor", "＃Straße", "#\ufe0f\u20e3", "α\u0345\u0301", "\uab70", "ﷺ", "\xff#", "ΐ"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) { checkProperties(t, s) })
}

func BenchmarkNormalizer(b *testing.B) {
	for _, tag := range []string{"#mcgregor", "#McGregor", "😂", "#Straße", "#МОСКВА", "#مرحبا"} {
		b.Run(tag, func(b *testing.B) {
			var n Normalizer
			var buf []byte
			b.ReportAllocs()
			for b.Loop() {
				buf = n.Append(buf[:0], tag)
			}
		})
	}
}

func BenchmarkNormalize(b *testing.B) {
	for _, tag := range []string{"mcgregor", "#McGregor", "😂"} {
		b.Run(tag, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_ = Normalize(tag)
			}
		})
	}
}
