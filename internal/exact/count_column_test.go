package exact

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"crest"
	"crest/internal/archive"
	"crest/internal/counts"
)

// plainRow is a row whose texts have no dictionaries.
type plainRow struct {
	ID         crest.EventID `parquet:"id,uuid"`
	Type       string        `parquet:"type"`
	Item       string        `parquet:"item"`
	Time       int64         `parquet:"time"`
	Received   int64         `parquet:"received"`
	Weight     uint32        `parquet:"weight"`
	Dimensions struct {
		Category string `parquet:"category,optional"`
	} `parquet:"dimensions"`
}

func makePlain(n int, item, category string) plainRow {
	r := plainRow{
		ID: crest.ParseEventID(fmt.Sprint(n)), Type: "article", Item: item, Time: int64(testHour) + int64(n%1000), Weight: 2,
	}
	r.Received = r.Time
	r.Dimensions.Category = category
	return r
}

// sourceOf returns rows as a file of the archive that is in memory.
func sourceOf[R any](t *testing.T, rows []R, options ...parquet.WriterOption) source {
	t.Helper()
	var b bytes.Buffer
	w := parquet.NewGenericWriter[R](&b, options...)
	if _, err := w.Write(rows); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	whole := archive.Span{First: testHour, Last: testHour + 1_000_000}
	return source{
		hour: testHour, path: "handmade.parquet", file: archive.File{Rows: int64(len(rows)), Received: whole, Time: whole},
		open: func() (*parquet.File, io.Closer, error) {
			f, err := parquet.OpenFile(bytes.NewReader(b.Bytes()), int64(b.Len()))
			return f, io.NopCloser(nil), err
		},
	}
}

func countSource(t *testing.T, s source) (counted, error) {
	t.Helper()
	config := testConfig()
	config.Types = []TypeBoards{{Name: "article", Narrow: [][]int{{0}, {1}}}}
	in := hourInput{hour: testHour, cut: testHour.Add(80 * time.Minute), own: []source{s}}
	return countHour(t.Context(), t, newCounter(config, t.TempDir()), in)
}

// Archives are written with dictionaries, and each event has its place in one row group; neither is needed.
func TestColumnsWithoutDictionaries(t *testing.T) {
	var rows []plainRow
	for n := range 3000 {
		rows = append(rows, makePlain(n, fmt.Sprint("item", n%7), []string{"", "sports", "news"}[n%3]))
	}
	rows[0].Type = "podcast"
	got, err := countSource(t, sourceOf(t, rows, parquet.MaxRowsPerRowGroup(700), parquet.PageBufferSize(1000)))
	if err != nil {
		t.Fatal(err)
	}
	want := map[[2]string]uint64{}
	for _, r := range rows[1:] {
		want[[2]string{"article", r.Item}] += 2
		if c := r.Dimensions.Category; c != "" {
			want[[2]string{"article/category=" + c, r.Item}] += 2
		}
	}
	if len(got.rows) != len(want) {
		t.Fatalf("%d rows, want %d", len(got.rows), len(want))
	}
	for _, r := range got.rows {
		if r.Count != want[[2]string{r.Board, r.Item}] || r.Duplicates != 0 {
			t.Errorf("%+v, want %d", r, want[[2]string{r.Board, r.Item}])
		}
	}
}

// More values of a dimension than a worker keeps in mind.
func TestManyValues(t *testing.T) {
	const n = 2*maxWords + 1000
	var rows []plainRow
	for i := range n {
		rows = append(rows, makePlain(i, "item", fmt.Sprint("value-", i/2)))
	}
	got, err := countSource(t, sourceOf(t, rows))
	if err != nil {
		t.Fatal(err)
	}
	if len(got.rows) != 1+n/2 || got.stats.boards != 1+n/2 {
		t.Fatalf("%d rows, %d boards; want %d", len(got.rows), got.stats.boards, 1+n/2)
	}
	for _, r := range got.rows[1:] {
		if r.Count != 4 {
			t.Fatalf("%+v, want 4", r)
		}
	}
}

func TestRowsThatNoArchiveHas(t *testing.T) {
	late := makePlain(0, "item", "")
	late.Received += (2 * 366 * 24 * time.Hour).Milliseconds()
	lateSource := sourceOf(t, []plainRow{late})
	lateSource.file.Received.Last = crest.Millis(late.Received)
	type narrow struct {
		ID [8]byte `parquet:"id"`
	}
	type another struct {
		ID   crest.EventID `parquet:"id,uuid"`
		Type int64         `parquet:"type"`
	}
	type dictionary struct {
		ID     crest.EventID `parquet:"id,uuid"`
		Type   string        `parquet:"type,dict"`
		Item   string        `parquet:"item,dict"`
		Weight uint32        `parquet:"weight"`
	}
	type optional struct {
		ID     crest.EventID `parquet:"id,uuid"`
		Type   string        `parquet:"type,optional"`
		Item   string        `parquet:"item"`
		Weight *uint32       `parquet:"weight,optional"`
	}
	one := uint32(1)
	for name, s := range map[string]source{
		"an empty item":     sourceOf(t, []plainRow{makePlain(0, "", "")}),
		"a long item":       sourceOf(t, []plainRow{makePlain(0, strings.Repeat("x", crest.MaxItemBytes+1), "")}),
		"short ids":         sourceOf(t, []narrow{{}}),
		"types as numbers":  sourceOf(t, []another{{}}),
		"items as words":    sourceOf(t, []dictionary{{Type: "article", Item: "x"}}),
		"no type":           sourceOf(t, []optional{{Item: "x", Weight: &one}}),
		"no weight":         sourceOf(t, []optional{{Type: "article", Item: "x"}}),
		"more than late":    lateSource,
		"other compression": sourceOf(t, []plainRow{makePlain(0, "item", "")}, parquet.Compression(&parquet.Lz4Raw)),
		"no column but one": sourceOf(t, []struct{ Other int64 }{{1}}),
	} {
		if name == "more than late" {
			in := hourInput{hour: testHour, cut: testHour.Add(5 * 366 * 24 * time.Hour), own: []source{s}}
			_, err := countHour(t.Context(), t, newCounter(testConfig(), t.TempDir()), in)
			if c, ok := errors.AsType[*archive.CorruptError](err); !ok || c.Path != s.path {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		_, err := countSource(t, s)
		if c, ok := errors.AsType[*archive.CorruptError](err); !ok || c.Path != s.path {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A neighbour's file of which no row takes part drops nothing, though one of its rows has the id of a row at the edge.
func TestNeighbourWithoutRowsInTheEdge(t *testing.T) {
	config := testConfig()
	own := makePlain(1, "item", "")
	far, near := own, makePlain(2, "item", "")
	far.Time -= (6 * time.Minute).Milliseconds()
	far.Received = far.Time
	near.Time -= time.Minute.Milliseconds()
	near.Received += time.Hour.Milliseconds() // after the cut
	before := sourceOf(t, []plainRow{far, near})
	before.file.Received = archive.Span{First: crest.Millis(far.Received), Last: crest.Millis(near.Received)}
	before.file.Time = archive.Span{First: crest.Millis(far.Time), Last: crest.Millis(near.Time)}
	in := hourInput{hour: testHour, cut: testHour.Add(10 * time.Minute), edge: config.Edge, before: []source{before}}
	in.own = []source{sourceOf(t, []plainRow{own})}
	for _, c := range []struct {
		moved time.Duration
		want  uint64
	}{{0, 2}, {3 * time.Minute, 0}} { // into the edge
		moved := far
		moved.Time += c.moved.Milliseconds()
		in.before[0].open = sourceOf(t, []plainRow{moved, near}).open
		got, err := countHour(t.Context(), t, newCounter(config, t.TempDir()), in)
		if err != nil {
			t.Fatal(err)
		}
		if got.stats.weight != c.want {
			t.Errorf("moved by %s: weight %d, want %d", c.moved, got.stats.weight, c.want)
		}
	}
}

// Hours of nothing, and of nothing that is counted.
func TestEmptyHours(t *testing.T) {
	other := makePlain(0, "item", "")
	other.Type = "podcast"
	for name, in := range map[string]hourInput{
		"no file":       {hour: testHour, cut: testHour.Add(80 * time.Minute)},
		"no row":        {hour: testHour, cut: testHour.Add(80 * time.Minute), own: []source{sourceOf[plainRow](t, nil)}},
		"another type":  {hour: testHour, cut: testHour.Add(80 * time.Minute), own: []source{sourceOf(t, []plainRow{other})}},
		"after the cut": {hour: testHour, cut: testHour, own: []source{sourceOf(t, []plainRow{makePlain(0, "item", "")})}},
	} {
		got, err := countHour(t.Context(), t, newCounter(testConfig(), t.TempDir()), in)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if !slices.Equal(got.rows, []counts.Row{}) || got.stats.weight != 0 {
			t.Errorf("%s: %v", name, got.rows)
		}
	}
}
