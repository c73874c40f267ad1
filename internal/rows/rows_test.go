package rows

import (
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"crest"
)

// record is a row as a test sees it.
type record struct {
	line   int64
	fields []string // "<nil>" for a field that the record doesn't have
	err    string
}

// readAll reads content as a file of that name, with wanted columns.
func readAll(tb testing.TB, name string, content []byte, format Format, columns ...string) ([]record, error) {
	tb.Helper()
	wanted := make([]Column, len(columns))
	for i, c := range columns {
		wanted[i] = Column{Name: c, Required: true}
	}
	r, err := NewReader(&Input{Name: name, From: bytes.NewReader(content)}, format, wanted)
	if err != nil {
		return nil, err
	}
	p := r.Parser()
	var all []record
	for {
		var b Block // a new one each time, so that fields of earlier ones stay
		if err := r.Next(&b); err != nil {
			if errors.Is(err, io.EOF) {
				return all, nil
			}
			return all, err
		}
		p.Load(&b)
		for p.Next() {
			rec := record{line: p.Line()}
			if p.Err() != nil {
				rec.err = p.Err().Error()
			} else {
				for i := range columns {
					if f := p.Field(i); f == nil {
						rec.fields = append(rec.fields, "<nil>")
					} else {
						rec.fields = append(rec.fields, string(f))
					}
				}
			}
			all = append(all, rec)
		}
	}
}

func show(records []record) string {
	var b strings.Builder
	for _, r := range records {
		if r.err != "" {
			fmt.Fprintf(&b, "%d: ! %s\n", r.line, r.err)
			continue
		}
		fmt.Fprintf(&b, "%d: %q\n", r.line, r.fields)
	}
	return b.String()
}

func TestFormats(t *testing.T) {
	for _, test := range []struct {
		name, file, content string
		columns             []string
		want                string
	}{
		{
			"text is a whole line", "x.txt", "a b\n\n\tc\r\nlast",
			[]string{""},
			"1: [\"a b\"]\n2: [\"\"]\n3: [\"\\tc\"]\n4: [\"last\"]\n",
		},
		{
			"fields as awk counts them", "x.log", "  one\ttwo  three \nx\n",
			[]string{"2", "3", "0", "2"},
			"1: [\"two\" \"three\" \"  one\\ttwo  three \" \"two\"]\n2: [\"<nil>\" \"<nil>\" \"x\" \"<nil>\"]\n",
		},
		{
			"csv by name, number and twice", "x.csv", "ts,item,n\n1,a,\n\n2,\"b,\"\"q\"\"\",3\r\n",
			[]string{"item", "3", "item", "ts"},
			"2: [\"a\" \"\" \"a\" \"1\"]\n4: [\"b,\\\"q\\\"\" \"3\" \"b,\\\"q\\\"\" \"2\"]\n",
		},
		{
			"quoted line breaks", "x.csv", "item,\"a\nb\"\n\"x\r\ny\",1\nz,2\n",
			[]string{"item", "a\nb"},
			"3: [\"x\\ny\" \"1\"]\n5: [\"z\" \"2\"]\n",
		},
		{
			"bad csv records are refused alone", "x.csv", "item,n\na\nb,1,2\nc\"c,1\n\"d\"d,1\ne,\"f\n\"g\",1\n\"h,1\n",
			[]string{"item"},
			"2: ! has 1 columns where the header has 2 (malformed)\n3: ! has 3 columns where the header has 2 (malformed)\n" +
				"4: ! has a quote inside a field without quotes (malformed)\n" +
				"5: ! has text behind a quoted field; quotes inside one are doubled (malformed)\n" +
				"6: ! has text behind a quoted field; quotes inside one are doubled (malformed)\n" +
				"8: ! has a quote that is never closed (malformed)\n",
		},
		{"tsv", "x.tsv", "item\tn\na,b\t1\n", []string{"item", "n"}, "2: [\"a,b\" \"1\"]\n"},
		{
			"ndjson", "x.ndjson", "{\"item\":\"a\",\"n\":1.5e3}\n\n {\"n\":null,\"x\":{\"item\":[1,{}]},\"item\":\"\\u00e9\\ud83d\\ude00\\n\"} \n{\"it\\u0065m\":true}\n",
			[]string{"item", "n"},
			"1: [\"a\" \"1.5e3\"]\n3: [\"é😀\\n\" \"<nil>\"]\n4: [\"true\" \"<nil>\"]\n",
		},
		{
			"bad ndjson lines are refused alone", "x.jsonl", "{\"item\":\"a\"\nnot json\n[1]\n{\"item\":{}}\n{\"item\":\"b\"}x\n{\"item\":\"c\"}\n",
			[]string{"item"},
			"1: ! is not a JSON object: something is wrong at byte 12 (malformed)\n2: ! is not a JSON object (malformed)\n" +
				"3: ! is not a JSON object (malformed)\n4: ! item: is an object or array where a text or number is wanted (malformed)\n" +
				"5: ! is not a JSON object: something is wrong at byte 13 (malformed)\n6: [\"c\"]\n",
		},
		{"byte order mark", "x.csv", "\xef\xbb\xbfitem,n\na,1\n", []string{"item"}, "2: [\"a\"]\n"},
		{"json without a name", "standard input", "{\"item\":\"a\"}\n", []string{"item"}, "1: [\"a\"]\n"},
		{"csv without a name", "standard input", "ts,item\n1,a\n", []string{"item"}, "2: [\"a\"]\n"},
		{"text without a name", "standard input", "hello, world\n", []string{""}, "1: [\"hello, world\"]\n"},
		{"empty", "x.csv", "", []string{"item"}, ""},
		{"blank lines before a header", "x.csv", "\n\r\nitem,n\na,1\n", []string{"item"}, "4: [\"a\"]\n"},
		{"header alone", "x.csv", "item,n", []string{"item"}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := readAll(t, test.file, []byte(test.content), Auto, test.columns...)
			if err != nil {
				t.Fatal(err)
			}
			if show(got) != test.want {
				t.Errorf("got\n%swant\n%s", show(got), test.want)
			}
		})
	}
}

func TestFilesThatCannotBeRead(t *testing.T) {
	for _, test := range []struct{ file, content, column, want string }{
		{"x.csv", "ts,item\n", "name", "is no column of x.csv; its header has ts, item"},
		{"x.csv", "ts,item\n", "3", "is no column"},
		{"x.txt", "a b\n", "item2", "columns have numbers"},
		{"x.json", "[{\"item\":1}]", "item", "jq -c '.[]'"},
		{"x.csv", "\"item\n", "item", "the header of x.csv has a quote that is never closed"},
		{"x.csv", strings.Repeat("c,", maxHeader), "c", "longer than 65536 bytes"},
		{"x.csv.gz", "\x1f\x8bnope", "item", "x.csv.gz is not intact gzip"},
		{"x.csv.zst", "\x28\xb5\x2f\xfd\xff\xff\xff", "item", "x.csv.zst is not intact zstd"},
	} {
		_, err := readAll(t, test.file, []byte(test.content), Auto, test.column)
		if err == nil || !strings.Contains(err.Error(), test.want) || crest.CodeOf(err) == crest.CodeInternal {
			t.Errorf("%s: got %v, want an error with %q and a code", test.file, err, test.want)
		}
	}
	if _, err := Open(t.TempDir(), nil); err == nil || !strings.Contains(err.Error(), "is a directory") {
		t.Errorf("a directory: %v", err)
	}
	if _, err := Open(filepath.Join(t.TempDir(), "none"), nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
}

func compressed(t *testing.T, method string, content []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	var w io.WriteCloser
	switch method {
	case "plain":
		return content
	case "gzip":
		w = gzip.NewWriter(&b)
	case "zstd":
		var err error
		if w, err = zstd.NewWriter(&b); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestCompressionIsToldByContent(t *testing.T) {
	content := []byte("item\na\nb\n")
	for _, method := range []string{"plain", "gzip", "zstd"} {
		for _, name := range []string{"x.csv", "x.csv.gz", "x.csv.zst"} {
			got, err := readAll(t, name, compressed(t, method, content), Auto, "item")
			if err != nil || len(got) != 2 || got[1].fields[0] != "b" {
				t.Errorf("%s of %s: %v, %v", method, name, got, err)
			}
		}
	}
	// Members of a gzip file that were appended to each other are one file.
	twice := append(compressed(t, "gzip", content), compressed(t, "gzip", []byte("c\n"))...)
	if got, err := readAll(t, "x.csv.gz", twice, Auto, "item"); err != nil || len(got) != 3 {
		t.Errorf("two gzip members: %v, %v", got, err)
	}
	for _, method := range []string{"gzip", "zstd"} {
		whole := compressed(t, method, []byte(strings.Repeat("line\n", 100_000)))
		got, err := readAll(t, "x.txt", whole[:len(whole)-10], Auto, "")
		if crest.CodeOf(err) != crest.CodeCorruptEncoding {
			t.Errorf("truncated %s: %d records, %v", method, len(got), err)
		}
	}
}

func TestLongRecordsAreRefusedAlone(t *testing.T) {
	long := strings.Repeat("x", MaxRecord)
	longer := strings.Repeat("y", 3*MaxRecord+17)
	content := "a\n" + long[:MaxRecord-1] + "\nb\n" + long + "\nc\n" + longer + "\nd"
	got, err := readAll(t, "x.txt", []byte(content), Auto, "")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"a", long[:MaxRecord-1], "b", "!", "c", "!", "d"}
	if len(got) != len(want) {
		t.Fatalf("got %d records, want %d", len(got), len(want))
	}
	for i, w := range want {
		if got[i].line != int64(i+1) {
			t.Errorf("record %d is on line %d", i, got[i].line)
		}
		if w == "!" {
			if !strings.Contains(got[i].err, "too_long") {
				t.Errorf("line %d: %q", i+1, got[i].err)
			}
		} else if got[i].err != "" || got[i].fields[0] != w {
			t.Errorf("line %d differs", i+1)
		}
	}
	// A quote that is never closed costs its line, however much follows.
	open := "item,n\n\"a,1\n" + strings.Repeat("b,2\n", MaxRecord/2)
	got, err = readAll(t, "x.csv", []byte(open), Auto, "item")
	if err != nil || len(got) != 1+MaxRecord/2 || got[0].err == "" || got[1].err != "" || got[len(got)-1].line != int64(len(got)+1) {
		t.Errorf("%d records, %v", len(got), err)
	}
}

// TestBlocksDoNotShow compares files of many blocks with what encoding/csv and encoding/json say.
func TestBlocksDoNotShow(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	var csvFile, jsonFile bytes.Buffer
	w := csv.NewWriter(&csvFile)
	var want [][]string
	_ = w.Write([]string{"a", "item", "z"})
	alphabet := []rune("ab,\"\n\\ é😀{}[]:\t")
	for csvFile.Len() < 3*MaxRecord {
		row := make([]string, 3)
		for i := range row {
			n := random.IntN(12)
			if random.IntN(1000) == 0 {
				n = 20_000
			}
			field := make([]rune, n)
			for j := range field {
				field[j] = alphabet[random.IntN(len(alphabet))]
			}
			row[i] = string(field)
		}
		row[0] = "r" + row[0] // never a blank line
		want = append(want, row)
		if err := w.Write(row); err != nil {
			t.Fatal(err)
		}
		w.Flush()
		line, err := json.Marshal(map[string]string{"a": row[0], "item": row[1], "z": row[2]})
		if err != nil {
			t.Fatal(err)
		}
		jsonFile.Write(append(line, '\n'))
	}
	for name, content := range map[string][]byte{"x.csv": csvFile.Bytes(), "x.ndjson": jsonFile.Bytes()} {
		got, err := readAll(t, name, content, Auto, "a", "item", "z")
		if err != nil || len(got) != len(want) {
			t.Fatalf("%s: %d records, want %d, %v", name, len(got), len(want), err)
		}
		for i := range want {
			if got[i].err != "" || !slices.Equal(got[i].fields, want[i]) {
				t.Fatalf("%s, record %d: %q %s, want %q", name, i, got[i].fields, got[i].err, want[i])
			}
		}
	}
}

// FuzzCSV holds what encoding/csv accepts to be right.
func FuzzCSV(f *testing.F) {
	f.Add([]byte("item,n\na,1\n\"b\nb\",\"2\"\"\"\n"))
	f.Add([]byte("item,n\r\n\"\r\n\",\r\n,\n"))
	f.Fuzz(func(t *testing.T, content []byte) {
		if bytes.HasPrefix(content, []byte("\xef\xbb\xbf")) {
			return
		}
		got, err := readAll(t, "x", content, CSV, "1")
		oracle := csv.NewReader(bytes.NewReader(content))
		want, oracleErr := oracle.ReadAll()
		if oracleErr != nil || len(want) == 0 || len(content) > maxHeader/2 || bytes.ContainsRune(content, '\r') {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(got) != len(want)-1 {
			t.Fatalf("%d records, want %d", len(got), len(want)-1)
		}
		for i, r := range got {
			if r.err != "" || r.fields[0] != want[i+1][0] {
				t.Fatalf("record %d is %q %s, want %q", i, r.fields, r.err, want[i+1][0])
			}
		}
	})
}

// FuzzJSON compares every line with encoding/json.
func FuzzJSON(f *testing.F) {
	for _, s := range []string{
		`{"item":"a"}`, `{"item":-0.1e+2,"x":[[],{},"\\\""]}`, `{"item":"\ud800x"}`, `{"a":tru}`, `{"a":01}`, `{"a":"` + "\x01" + `"}`, `{}`, `{,}`, `{"a":1,}`,
		`{"item":"\udbff\udfff\ud800\u0041"}`, `{"item":null}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		if bytes.ContainsAny(line, "\n") || len(bytes.TrimSpace(line)) == 0 || len(line) > 10_000 || bytes.HasPrefix(line, []byte("\xef\xbb\xbf")) ||
			line[0] == '[' || bytes.HasPrefix(bytes.TrimSpace(line), []byte("[")) {
			return
		}
		got, err := readAll(t, "x", line, NDJSON, "item")
		if err != nil || len(got) != 1 {
			t.Fatalf("%d records, %v", len(got), err)
		}
		var want map[string]json.RawMessage
		oracleErr := json.Unmarshal(line, &want)
		if bytes.Equal(bytes.TrimSpace(line), []byte("null")) {
			return
		}
		item := bytes.TrimSpace(want["item"])
		nested := len(item) > 0 && (item[0] == '{' || item[0] == '[')
		if (got[0].err == "") != (oracleErr == nil && !nested) {
			if depth := bytes.Count(line, []byte("[")) + bytes.Count(line, []byte("{")); depth > maxDepth {
				return
			}
			if bytes.Count(line, []byte("item")) > 1 || bytes.Contains(line, []byte(`\u`)) {
				return // an earlier item was nested
			}
			t.Fatalf("%q: refused as %q, encoding/json says %v", line, got[0].err, oracleErr)
		}
		if got[0].err != "" {
			return
		}
		expected := "<nil>"
		var s string
		switch {
		case item == nil || string(item) == "null":
		case json.Unmarshal(item, &s) == nil:
			expected = s
		default:
			expected = string(item)
		}
		if strings.ToValidUTF8(got[0].fields[0], "\ufffd") != strings.ToValidUTF8(expected, "\ufffd") && bytes.Equal(line, bytes.ToValidUTF8(line, nil)) {
			t.Fatalf("%q: item %q, want %q", line, got[0].fields[0], expected)
		}
	})
}

func TestParseTime(t *testing.T) {
	for text, want := range map[string]crest.Millis{
		"0": 0, "1503806734": 1503806734000, "1503806734000": 1503806734000, "1503806734000123": 1503806734000, "1503806734000123456": 1503806734000,
		"1503806734.25": 1503806734250, "-1.5": -1500, "-1": -1000, "99999999999": 99999999999000,
		"2017-08-27T04:05:34Z": 1503806734000, "2017-08-27T04:05:34.1239+00:00": 1503806734123, "2017-08-27 06:05:34+02:00": 1503806734000,
	} {
		if got, err := ParseTime([]byte(text)); err != nil || got != want {
			t.Errorf("%s is %d, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "x", "nan", "-inf", "1e400", "2017-08-27T04:05:34", "2017-13-01T00:00:00Z", "12:00", "1 2", "99999999999999999999999"} {
		if got, err := ParseTime([]byte(text)); err == nil {
			t.Errorf("%q is %d, want an error", text, got)
		}
	}
}

func BenchmarkParse(b *testing.B) {
	lines := map[Format]string{
		Text: "v0001234567\n", CSV: "1700000000000,video,v0001234567,u12345,music,eu\n",
		NDJSON: `{"ts_ms":1700000000000,"type":"video","item":"v0001234567","session":"u12345","category":"music"}` + "\n",
	}
	for _, format := range []Format{Text, CSV, NDJSON} {
		b.Run(string(format), func(b *testing.B) {
			const n = 10_000
			column := "item"
			header := "ts_ms,type,item,session,category,region\n"
			if format == Text {
				column = ""
			}
			if format != CSV {
				header = ""
			}
			content := []byte(header + strings.Repeat(lines[format], n))
			r, err := NewReader(&Input{Name: "x", From: bytes.NewReader(content)}, format, []Column{{Name: column, Required: true}})
			if err != nil {
				b.Fatal(err)
			}
			var block Block
			if err := r.Next(&block); err != nil {
				b.Fatal(err)
			}
			p := r.Parser()
			b.SetBytes(int64(len(content)))
			for b.Loop() {
				p.Load(&block)
				for p.Next() {
					if p.Err() != nil {
						b.Fatal(p.Err())
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/line")
		})
	}
}
