package rank

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"crest"
	"crest/hashtag"
	"crest/internal/rows"
)

const data = "../../testdata/"

// line is an event of a test file, read without package rows.
type line struct {
	item, kind    string
	time, arrived crest.Millis
}

func open(t *testing.T, name string) *rows.Input {
	t.Helper()
	in, err := rows.Open(data+name, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close() })
	return in
}

// known keeps what lines has read.
var known = map[string][]line{}

// lines reads a test file with the standard library. The result is the caller's.
func lines(t *testing.T, name string) []line {
	t.Helper()
	if known[name] == nil {
		known[name] = readLines(t, name)
	}
	return slices.Clone(known[name])
}

func readLines(t *testing.T, name string) []line {
	t.Helper()
	f, err := os.Open(data + name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var all []line
	if strings.Contains(name, "ndjson") {
		for d := json.NewDecoder(z); ; {
			var l struct {
				TS         int64 `json:"ts_ms"`
				Type, Item string
			}
			if err := d.Decode(&l); errors.Is(err, io.EOF) {
				return all
			} else if err != nil {
				t.Fatal(err)
			}
			all = append(all, line{l.Item, l.Type, crest.Millis(l.TS), crest.Millis(l.TS)})
		}
	}
	records, err := csv.NewReader(z).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	number := func(s string) crest.Millis {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return crest.Millis(n)
	}
	for _, r := range records[1:] {
		l := line{item: r[2], kind: r[1], time: number(r[0])}
		l.arrived = l.time
		if len(r) > 6 {
			l.arrived = number(r[6])
		}
		all = append(all, l)
	}
	return all
}

// rankOne runs a configuration that makes one list.
func rankOne(t *testing.T, c Config, inputs ...*rows.Input) (List, Stats) {
	t.Helper()
	var lists []List
	stats, err := Run(context.Background(), inputs, c, Observer{}, func(l List) error {
		lists = append(lists, l)
		return nil
	})
	if err != nil || len(lists) != 1 {
		t.Fatalf("%d lists, %v", len(lists), err)
	}
	return lists[0], stats
}

// checkCertificate compares a list with the truth: no count is below it, it lies in every entry's interval, and nothing off
// the list has more than the cutoff.
func checkCertificate(t *testing.T, l List, truth map[string]uint64) {
	t.Helper()
	total := uint64(0)
	for _, n := range truth {
		total += n
	}
	if l.Total != total {
		t.Errorf("total is %d, want %d", l.Total, total)
	}
	listed := map[string]bool{}
	for i, e := range l.Top {
		if listed[e.ID] {
			t.Errorf("%q is on the list twice", e.ID)
		}
		listed[e.ID] = true
		if n := truth[e.ID]; n > e.Count || n < e.Count-e.Error || e.Error > l.MaxOverCount {
			t.Errorf("%q has %d; the list says %d with an error of %d", e.ID, n, e.Count, e.Error)
		}
		if i > 0 && (e.Count > l.Top[i-1].Count || e.Count == l.Top[i-1].Count && e.ID < l.Top[i-1].ID) {
			t.Errorf("rank %d is out of order", i+1)
		}
	}
	if len(l.Top) < l.K && l.Exact && len(l.Top) != len(truth) {
		t.Errorf("an exact list has %d of %d items", len(l.Top), len(truth))
	}
	unlisted := uint64(0)
	for id, n := range truth {
		if !listed[id] {
			unlisted = max(unlisted, n)
		}
	}
	if unlisted > l.Cutoff {
		t.Errorf("an item that is not listed has %d; the cutoff is %d", unlisted, l.Cutoff)
	}
	following := unlisted
	for i, v := range slices.Backward(l.Top) {
		if n := truth[v.ID]; i < l.Proven && n < following {
			t.Errorf("rank %d is called certain with %d, but a later one has %d", i+1, n, following)
		}
		following = max(following, truth[v.ID])
	}
	if l.Exact && l.MaxOverCount > 0 {
		t.Error("a list with errors is called exact")
	}
}

func count(all []line, keep func(line) bool) map[string]uint64 {
	truth := map[string]uint64{}
	for _, l := range all {
		if keep(l) {
			truth[l.item]++
		}
	}
	return truth
}

// answers reads the ten right answers of a file's SOURCE.txt.
func answers(t *testing.T, name, heading string) []crest.Entry {
	t.Helper()
	text, err := os.ReadFile(data + name + ".SOURCE.txt")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(text), heading)
	if !ok {
		t.Fatalf("%s has no %s", name, heading)
	}
	end := regexp.MustCompile(`\n[A-Z]`).FindStringIndex(rest)
	var entries []crest.Entry
	for answer := range strings.SplitSeq(strings.ReplaceAll(rest[:end[0]], "\n", " "), ";") {
		fields := strings.Fields(answer)
		n, err := strconv.ParseUint(fields[1], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		entries = append(entries, crest.Entry{Rank: len(entries) + 1, ID: fields[0], Count: n})
	}
	if len(entries) != 10 {
		t.Fatalf("%s has %d answers", name, len(entries))
	}
	return entries
}

var files = []string{"fight_tags_emoji.ndjson.gz", "nasa_http_19950801.csv.gz", "code_touch.csv.gz"}

func TestRealFilesHaveTheRightTop(t *testing.T) {
	for _, file := range files {
		name, _, _ := strings.Cut(file, ".")
		want := answers(t, name, "TOP 10")
		l, stats := rankOne(t, Config{K: 10, Memory: 64 << 20, Workers: 2}, open(t, file))
		if !slices.Equal(l.Top, want) || !l.Exact || stats.Refused != 0 {
			t.Errorf("%s: got %+v, refused %d; want %+v", file, l.Top, stats.Refused, want)
		}
	}
}

func TestHashtagsAreFolded(t *testing.T) {
	want := answers(t, "fight_tags_emoji", "CASE-FOLDED TAGS")
	for i := range want {
		want[i].ID = strings.TrimPrefix(want[i].ID, "#")
	}
	l, _ := rankOne(t, Config{
		K: 10, Memory: 64 << 20, Where: []Condition{{"type", "hashtag"}},
		Normalize: func() func(dst, item []byte) []byte {
			var n hashtag.Normalizer
			return func(dst, item []byte) []byte { return n.Append(dst, string(item)) }
		},
	}, open(t, "fight_tags_emoji.ndjson.gz"))
	if !slices.Equal(l.Top, want) || !l.Exact {
		t.Errorf("got %+v, want %+v", l.Top, want)
	}
}

func TestLittleMemoryKeepsTheCertificate(t *testing.T) {
	for _, file := range files {
		truth := count(lines(t, file), func(line) bool { return true })
		for _, memory := range []int{4 << 10, 64 << 10, 256 << 10} {
			l, _ := rankOne(t, Config{K: 100, Memory: memory, Workers: 2}, open(t, file))
			checkCertificate(t, l, truth)
			t.Logf("%s in %d KiB: errors up to %d, %d ranks certain", file, memory>>10, l.MaxOverCount, l.Proven)
			if len(l.Top) < 30 {
				t.Errorf("%s in %d KiB lists %d items only", file, memory>>10, len(l.Top))
			}
		}
	}
}

func TestWindowsOfTrulyLateEvents(t *testing.T) {
	all := lines(t, "code_touch.csv.gz")
	for _, at := range []string{"2004-06-01T00:00:00Z", "2008-03-01T12:34:56.789Z", "2015-09-09T09:09:09Z"} {
		for _, length := range []time.Duration{30 * 24 * time.Hour, 0} {
			moment, err := rows.ParseTime([]byte(at))
			if err != nil {
				t.Fatal(err)
			}
			from := crest.Millis(math.MinInt64)
			if length > 0 {
				from = moment.Add(-length)
			}
			truth := count(all, func(l line) bool { return l.time >= from && l.time < moment && l.arrived < moment })
			for _, memory := range []int{16 << 10, 64 << 20} {
				l, _ := rankOne(t, Config{
					K: 50, Memory: memory, Workers: 2, Time: "ts_ms", Arrived: "arrived_ms", Window: length, At: &moment,
				}, open(t, "code_touch.csv.gz"))
				checkCertificate(t, l, truth)
				if memory > 1<<20 && !l.Exact {
					t.Errorf("as of %s over %s: not exact", at, length)
				}
			}
		}
	}
}

// TestListsOfEveryStep checks every list that is made against a count over the lines that had come by then.
func TestListsOfEveryStep(t *testing.T) {
	for _, test := range []struct {
		file          string
		arrived       string
		window, every time.Duration
		memory        int
	}{
		{"nasa_http_19950801.csv.gz", "", time.Hour, 10 * time.Minute, 64 << 20},
		{"nasa_http_19950801.csv.gz", "", time.Hour, 25 * time.Minute, 256 << 10}, // buckets of 5 minutes
		{"fight_tags_emoji.ndjson.gz", "", 0, 10 * time.Minute, 32 << 10},
		{"code_touch.csv.gz", "arrived_ms", 90 * 24 * time.Hour, 45 * 24 * time.Hour, 64 << 20},
		{"code_touch.csv.gz", "arrived_ms", 360 * 24 * time.Hour, 90 * 24 * time.Hour, 128 << 10},
	} {
		all := lines(t, test.file)
		clock := crest.Millis(math.MinInt64)
		for i := range all { // in order of arrival: no line arrives before the one in front of it
			clock = max(clock, all[i].arrived)
			all[i].arrived = clock
		}
		checked := 0
		last := crest.Millis(0)
		stats, err := Run(context.Background(), []*rows.Input{open(t, test.file)}, Config{
			K: 20, Memory: test.memory, Workers: 2, Time: "ts_ms", Arrived: test.arrived, Window: test.window, Every: test.every,
		}, Observer{}, func(l List) error {
			if l.AsOf <= last || l.AsOf != l.AsOf.Floor(test.every) {
				t.Errorf("a list as of %d after one as of %d", l.AsOf, last)
			}
			last = l.AsOf
			if checked++; checked%7 != 1 {
				return nil // checking is slow
			}
			from := crest.Millis(math.MinInt64)
			if test.window > 0 {
				from = l.AsOf.Add(-test.window)
			}
			checkCertificate(t, l, count(all, func(e line) bool { return e.time >= from && e.time < l.AsOf && e.arrived < l.AsOf }))
			return nil
		})
		if err != nil || checked < 7 {
			t.Errorf("%s every %s: %d lists, %v", test.file, test.every, checked, err)
		}
		if last <= clock || last > clock.Add(test.every) {
			t.Errorf("%s: the last list is as of %d, the last line came at %d", test.file, last, clock)
		}
		t.Logf("%s every %s: %d lists, %d without events, %d late lines", test.file, test.every, checked, stats.Skipped, stats.Late)
	}
}

func TestGapsAreSkipped(t *testing.T) {
	content := "ts,item\n1000,a\n1000,b\n500000000,a\n"
	in := &rows.Input{Name: "x.csv", From: strings.NewReader(content)}
	var as []crest.Millis
	stats, err := Run(context.Background(), []*rows.Input{in}, Config{
		K: 3, Memory: 1 << 20, Time: "ts", Window: 2 * time.Minute, Every: time.Minute,
	}, Observer{}, func(l List) error {
		as = append(as, l.AsOf)
		return nil
	})
	minute := crest.Millis(60_000)
	want := []crest.Millis{1_000_000 - 1_000_000%minute + minute, 1_000_000 - 1_000_000%minute + 2*minute, 500_000_000_000 - 500_000_000_000%minute + minute}
	if err != nil || !slices.Equal(as, want) {
		t.Errorf("lists as of %v, %v; want %v", as, err, want)
	}
	if lists := uint64((want[2]-want[0])/minute) + 1; stats.Skipped+3 != lists {
		t.Errorf("skipped %d of %d lists, want all but 3", stats.Skipped, lists)
	}
}

func TestEventsDatedAheadWait(t *testing.T) {
	content := "ts,seen,item\n1000,1000,a\n1130,1001,b\n1061,1061,c\n1200,1200,d\n"
	in := &rows.Input{Name: "x.csv", From: strings.NewReader(content)}
	var got []string
	_, err := Run(context.Background(), []*rows.Input{in}, Config{
		K: 9, Memory: 1 << 20, Time: "ts", Arrived: "seen", Window: time.Minute, Every: time.Minute,
	}, Observer{}, func(l List) error {
		text := fmt.Sprint(int64(l.AsOf/1000), ":")
		for _, e := range l.Top {
			text += e.ID
		}
		got = append(got, text)
		return nil
	})
	if want := []string{"1020:a", "1080:c", "1140:b", "1260:d"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v; want %v", got, err, want)
	}
}

func TestResultDoesNotDependOnWorkers(t *testing.T) {
	content := zipfFile(rows.Text, 400_000)
	var first List
	for i, workers := range []int{1, 2, 5} {
		l, stats := rankOne(t, Config{K: 200, Memory: 200 << 10, Workers: workers, Format: rows.Text}, &rows.Input{Name: "x", From: bytes.NewReader(content)})
		if stats.Counted != 400_000 {
			t.Errorf("%d workers counted %d", workers, stats.Counted)
		}
		if i == 0 {
			first = l
			truth := map[string]uint64{}
			for line := range bytes.Lines(content) {
				truth[string(bytes.TrimSpace(line))]++
			}
			checkCertificate(t, l, truth)
			continue
		}
		if !slices.Equal(l.Top, first.Top) || l.Cutoff != first.Cutoff || l.Total != first.Total {
			t.Errorf("%d workers make another list", workers)
		}
	}
}

func TestConditionsWeightsAndSeveralFiles(t *testing.T) {
	one := &rows.Input{Name: "a.csv", From: strings.NewReader("item,kind,n,region\na,x,5,eu\nb,y,7,eu\nc,z,100,eu\na,y,1,us\n")}
	two := &rows.Input{Name: "b.ndjson", From: strings.NewReader("{\"item\":\"b\",\"kind\":\"x\",\"n\":4294967295,\"region\":\"eu\"}\n{\"item\":\"a\",\"n\":2,\"region\":\"eu\"}\n")}
	l, stats := rankOne(t, Config{
		K: 5, Memory: 1 << 20, Weight: "n", Where: []Condition{{"kind", "x"}, {"kind", "y"}, {"region", "eu"}},
	}, one, two)
	want := []crest.Entry{{Rank: 1, ID: "b", Count: 4294967295 + 7}, {Rank: 2, ID: "a", Count: 5}}
	if !slices.Equal(l.Top, want) || stats.Filtered != 3 || stats.Counted != 3 || stats.Lines != 6 {
		t.Errorf("got %+v, %+v", l.Top, stats)
	}
}

func TestBadLinesAreRefusedWithReasons(t *testing.T) {
	long := strings.Repeat("x", 257)
	content := `{"item":"ok","n":1}
{"item":"","n":1}
{"n":1}
{"item":"` + long + `","n":1}
{"item":"` + "\xff" + `","n":1}
{"item":"a","n":0}
{"item":"a","n":1.5}
{"item":"a"}
{"item":"a","n":-1}
oops
{"item":"ok","n":2}
`
	l, stats := rankOne(t, Config{K: 5, Memory: 1 << 20, Weight: "n"}, &rows.Input{Name: "x.ndjson", From: strings.NewReader(content)})
	if len(l.Top) != 1 || l.Top[0].Count != 3 || stats.Refused != 9 || stats.Lines != 11 {
		t.Errorf("got %+v, %+v", l.Top, stats)
	}
	var got strings.Builder
	for _, r := range stats.Reasons {
		fmt.Fprintf(&got, "%s: %v\n", r.Place, r.Reason)
	}
	want := "x.ndjson, line 2: item: is missing or empty (missing_field)\nx.ndjson, line 3: item: is missing or empty (missing_field)\n" +
		"x.ndjson, line 4: item: has 257 bytes; at most 256 are counted (too_long)\nx.ndjson, line 5: item: is not valid UTF-8 (invalid_utf8)\n" +
		"x.ndjson, line 6: n: is \"0\"; a weight is a whole number from 1 to 4294967295 (out_of_range)\n"
	if got.String() != want {
		t.Errorf("reasons:\n%swant:\n%s", got.String(), want)
	}
	if fmt.Sprint(stats.ByCode) != "[{missing_field 3} {too_long 1} {invalid_utf8 1} {out_of_range 3} {malformed 1}]" {
		t.Errorf("by code: %v", stats.ByCode)
	}
}

func TestLinesWithoutTheDefaultItemAreToldOnce(t *testing.T) {
	content := `{"url":"/a","ts":1}` + "\n" + `{"url":"/b"}` + "\n"
	for _, test := range []struct {
		content string
		want    string
		change  func(*Config)
	}{
		{content, "item: is on no line of x.ndjson; name a column with --item; line 1 has ts, url (missing_field)", func(*Config) {}},
		{content, "", func(c *Config) { c.Item = "url" }},
		{content, "", func(c *Config) { c.Item = "link" }}, // it was asked for: every line says so
		{`{"url":"/a"}` + "\n" + `{"item":"/b"}` + "\n", "", func(*Config) {}},
		{`{"url":"/a"}` + "\noops\n", "", func(*Config) {}},
		{`{"item":""}` + "\n", "", func(*Config) {}},
		{"oops\n", "", func(*Config) {}},
	} {
		c := Config{K: 5, Memory: 1 << 20}
		test.change(&c)
		in := &rows.Input{Name: "x.ndjson", From: strings.NewReader(test.content)}
		_, err := Run(t.Context(), []*rows.Input{in}, c, Observer{}, func(List) error { return nil })
		if got := fmt.Sprint(err); err != nil && got != test.want || err == nil && test.want != "" {
			t.Errorf("%q: %v, want %q", test.content, err, test.want)
		}
	}
}

func TestValidate(t *testing.T) {
	at := crest.Millis(1)
	for _, test := range []struct {
		want   string
		change func(*Config)
	}{
		{"k: ", func(c *Config) { c.K = 0 }},
		{"memory: is 100 bytes; it must be from 4 KiB to 64 GiB", func(c *Config) { c.Memory = 100 }},
		{"window: needs to know when it ends", func(c *Config) { c.Window = time.Minute; c.Time = "t" }},
		{"time: is missing", func(c *Config) { c.At = &at }},
		{"at: can't be combined", func(c *Config) { c.At = &at; c.Every = time.Minute; c.Time = "t" }},
		{"arrived: has a meaning only", func(c *Config) { c.Arrived = "t" }},
		{"every: is 7.001s and cuts", func(c *Config) { c.Window = 24 * time.Hour; c.Every = 7001 * time.Millisecond; c.Time = "t" }},
		{"memory: is 64 KiB, too little for 1440 buckets; give at least 5764 KiB", func(c *Config) { c.Window = 24 * time.Hour; c.Every = time.Minute; c.Time = "t"; c.Memory = 64 << 10 }},
	} {
		c := Config{K: 10, Memory: 1 << 20}
		test.change(&c)
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("got %v, want %q", err, test.want)
		}
	}
}

// brokenReader fails after some lines.
type brokenReader struct{ left int }

func (b *brokenReader) Read(p []byte) (int, error) {
	if b.left == 0 {
		return 0, errors.New("disk on fire")
	}
	b.left--
	return copy(p, "a\n"), nil
}

func TestFailuresEndTheRun(t *testing.T) {
	_, err := Run(context.Background(), []*rows.Input{{Name: "x.txt", From: &brokenReader{5}}}, Config{K: 1, Memory: 1 << 20, Workers: 2}, Observer{},
		func(List) error { t.Error("a list was made"); return nil })
	if err == nil || !strings.Contains(err.Error(), "read x.txt: disk on fire") {
		t.Errorf("a broken file: %v", err)
	}
	stop := errors.New("enough")
	_, err = Run(context.Background(), []*rows.Input{open(t, files[0])}, Config{K: 1, Memory: 1 << 20, Time: "ts_ms", Every: time.Second}, Observer{},
		func(List) error { return stop })
	if !errors.Is(err, stop) {
		t.Errorf("a broken printer: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err = Run(ctx, []*rows.Input{open(t, files[2])}, Config{K: 1, Memory: 1 << 20, Workers: 2}, Observer{}, func(List) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if _, err = Run(context.Background(), []*rows.Input{open(t, files[1])}, Config{K: 1, Memory: 1 << 20, Item: "nope"}, Observer{}, nil); crest.CodeOf(err) != crest.CodeMissingField {
		t.Errorf("a missing column: %v", err)
	}
}
