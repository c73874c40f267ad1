package exact

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"crest"
	"crest/internal/archive"
	"crest/internal/counts"
	"crest/internal/exact/exacttest"
)

const testHour = exacttest.DefaultStart

var testDimensions = []string{"category", "region"}

func testConfig() Config {
	return Config{
		Types: []TypeBoards{
			{Name: "article", Narrow: [][]int{{0}, {1}, {0, 1}}},
			{Name: "video"},
		},
		Dimensions: testDimensions,
		Edge:       4 * time.Minute,
		Memory:     256 << 20,
		Workers:    2,
	}
}

// traffic makes random events around testHour, in the order in which they were received: ids come again at once, minutes and
// hours later, with the same item and time or others, often near the hour's borders.
func traffic(random *rand.Rand, n int) []exacttest.Received {
	var all []exacttest.Received
	hour := time.Hour.Milliseconds()
	for range n {
		ev := crest.Event{
			Type:   []string{"article", "article", "article", "video", "video", "podcast"}[random.IntN(6)],
			Item:   fmt.Sprint("item-", random.IntN(1+random.IntN(60))),
			Weight: uint32(1 + random.IntN(1+random.IntN(1000))),
		}
		if random.IntN(40) == 0 {
			ev.Item = strings.Repeat("long", 64)[:1+random.IntN(256)]
		}
		ev.ID = crest.ParseEventID(fmt.Sprint(len(all), random.Uint64()))
		for d, values := range [][]string{{"", "sports", "news", "x"}, {"", "eu", "us"}} {
			ev.Dimensions[d] = values[random.IntN(len(values))]
		}
		at := int64(testHour) - hour/2 + random.Int64N(3*hour)
		if random.IntN(2) == 0 { // near a border
			at = int64(testHour) + hour*random.Int64N(2) + random.Int64N(10*60_000) - 5*60_000
		}
		ev.Time = crest.Millis(at - random.Int64N(1+random.Int64N(6*60_000)))
		if random.IntN(50) == 0 {
			ev.Time -= crest.Millis(random.Int64N(3 * hour))
		}
		if len(all) > 0 && random.IntN(3) == 0 { // sent again
			old := all[random.IntN(len(all))]
			switch random.IntN(4) {
			case 0:
				ev = old.Event
				at = int64(old.At) + random.Int64N(2)*random.Int64N(5*60_000)
			case 1:
				t := ev.Time
				ev = old.Event
				ev.Time = t
			case 2:
				ev.ID = old.ID
				at = int64(old.At) + random.Int64N(3) - 1
			default:
				ev = old.Event
				ev.Time += crest.Millis(random.Int64N(8*60_000) - 4*60_000)
				at = int64(old.At) + random.Int64N(8*60_000) - 4*60_000
			}
		}
		if random.IntN(3) == 0 {
			at -= at % 1000 // so that received times are often the same
		}
		all = append(all, exacttest.Received{Event: ev, At: crest.Millis(at)})
	}
	slices.SortStableFunc(all, func(a, b exacttest.Received) int { return cmp.Compare(a.At, b.At) })
	for i := range all {
		all[i].Time = min(all[i].Time, all[i].At)
	}
	return all
}

// naive counts rows [from, to) of the hours in it, of what was received before cut, in the plainest way.
type naive struct {
	rows  map[[2]string]counts.Row
	late  map[counts.Late]uint64
	stats stats
}

func countNaively(config Config, all []exacttest.Received, from, to, cut crest.Millis) naive {
	n := naive{rows: map[[2]string]counts.Row{}, late: map[counts.Late]uint64{}}
	hourOf := func(e *exacttest.Received) crest.Millis { return e.Time.Floor(time.Hour) }
	for i := range all {
		e := &all[i]
		if e.Time < from || e.Time >= to || e.At >= cut {
			continue
		}
		hour := hourOf(e)
		first := true
		for j := range all {
			o := &all[j]
			if o.ID != e.ID || o.At >= cut || i == j {
				continue
			}
			near := func(x *exacttest.Received, border crest.Millis) bool {
				return x.Time >= border.Add(-config.Edge) && x.Time < border.Add(config.Edge)
			}
			switch end := hour.Add(time.Hour); hourOf(o) {
			case hour:
				first = first && j > i
			case hour.Add(-time.Hour):
				first = first && (!near(e, hour) || !near(o, hour) || o.At > e.At)
			case end:
				first = first && (!near(e, end) || !near(o, end) || o.At >= e.At)
			}
		}
		n.stats.rows++
		t := slices.IndexFunc(config.Types, func(t TypeBoards) bool { return t.Name == e.Type })
		if t < 0 {
			continue
		}
		weight := uint64(e.Weight)
		late := e.At >= hour.Add(time.Hour)
		if !first {
			n.stats.duplicates += weight
		} else {
			n.stats.weight += weight
			if late {
				n.stats.late += weight
			}
		}
		for _, set := range append([][]int{nil}, config.Types[t].Narrow...) {
			board := crest.Board{Type: e.Type}
			for _, d := range set {
				board.Narrow = append(board.Narrow, crest.Narrowing{Dimension: config.Dimensions[d], Value: e.Dimensions[d]})
			}
			if slices.ContainsFunc(board.Narrow, func(x crest.Narrowing) bool { return x.Value == "" }) {
				continue
			}
			key := [2]string{board.String(), e.Item}
			r := n.rows[key]
			r.Board, r.Item = key[0], key[1]
			if first {
				r.Count += weight
				if late {
					n.late[counts.Late{Board: r.Board, Item: r.Item, Received: e.At.Floor(crest.Slot)}] += weight
				}
			} else {
				r.Duplicates += weight
			}
			n.rows[key] = r
		}
	}
	return n
}

// sorted returns the rows in order.
func (n naive) sorted() []counts.Row {
	return slices.SortedFunc(maps.Values(n.rows), func(a, b counts.Row) int {
		return cmp.Or(strings.Compare(a.Board, b.Board), strings.Compare(a.Item, b.Item))
	})
}

// boards returns how many boards have rows.
func (n naive) boards() int {
	seen := map[string]bool{}
	for key := range n.rows {
		seen[key[0]] = true
	}
	return len(seen)
}

func (n naive) sortedLate() []counts.Late {
	var all []counts.Late
	for l, w := range n.late {
		l.Weight = w
		all = append(all, l)
	}
	slices.SortFunc(all, func(a, b counts.Late) int {
		return cmp.Or(strings.Compare(a.Board, b.Board), strings.Compare(a.Item, b.Item), cmp.Compare(a.Received, b.Received))
	})
	return all
}

// archived writes events into an archive of their own.
func archived(t *testing.T, dimensions []string, all []exacttest.Received) *archive.View {
	t.Helper()
	dir := scratch(t)
	err := exacttest.Write(t.Context(), dir, dimensions, slices.Values(all), testHour.Add(10*time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	view, err := archive.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	return view
}

// counted is what a count of an hour gives, and gave in bytes.
type counted struct {
	rows  []counts.Row
	late  []counts.Late
	stats stats
	bytes string
}

func countHour(ctx context.Context, t *testing.T, c *counter, in hourInput) (counted, error) {
	t.Helper()
	dir := scratch(t)
	out, err := counts.Create(filepath.Join(dir, "counts"))
	if err != nil {
		t.Fatal(err)
	}
	late, err := counts.CreateLateIn(nil, filepath.Join(dir, "late"))
	if err != nil {
		t.Fatal(err)
	}
	var result counted
	result.stats, err = c.hour(ctx, in, out, late)
	if err != nil {
		return result, errors.Join(err, out.Abort(), late.Abort())
	}
	outInfo, err := out.Close()
	if err != nil {
		t.Fatal(err)
	}
	lateInfo, err := late.Close()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"counts", "late"} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		result.bytes += string(b)
	}
	table, err := counts.Open(filepath.Join(dir, "counts"), outInfo)
	if err != nil {
		t.Fatal(err)
	}
	defer table.Close()
	cursor := table.All()
	for cursor.Next() {
		result.rows = append(result.rows, cursor.Row())
	}
	lateTable, err := counts.OpenLate(filepath.Join(dir, "late"), lateInfo)
	if err != nil {
		t.Fatal(err)
	}
	defer lateTable.Close()
	lateCursor := lateTable.All()
	for lateCursor.Next() {
		result.late = append(result.late, lateCursor.Late())
	}
	if err := errors.Join(cursor.Err(), cursor.Close(), lateCursor.Err(), lateCursor.Close()); err != nil {
		t.Fatal(err)
	}
	return result, nil
}

func seedOf(t *testing.T) uint64 {
	t.Helper()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	return seed
}

func TestHourAgainstNaiveCount(t *testing.T) {
	seed := seedOf(t)
	for n := range uint64(4) {
		random := rand.New(rand.NewPCG(seed, n))
		config := testConfig()
		all := traffic(random, 300+random.IntN(1500))
		view := archived(t, testDimensions, all)
		for _, hour := range []crest.Millis{testHour.Add(-time.Hour), testHour, testHour.Add(time.Hour)} {
			cut := hour.Add(time.Hour + crest.Slot*time.Duration(random.IntN(20)-3))
			config.Workers = 1 + random.IntN(4)
			in, err := inputOf(view, hour, cut, config.Edge)
			if err != nil {
				t.Fatal(err)
			}
			got, err := countHour(t.Context(), t, newCounter(config, t.TempDir()), in)
			if err != nil {
				t.Fatal(err)
			}
			want := countNaively(config, all, hour, hour.Add(time.Hour), cut)
			if !slices.Equal(got.rows, want.sorted()) {
				t.Fatalf("round %d, hour %s, cut %s: other rows:\n%v\n%v", n, hour.Time(), cut.Time(), got.rows, want.sorted())
			}
			if !slices.Equal(got.late, want.sortedLate()) {
				t.Fatalf("round %d, hour %s, cut %s: other late rows:\n%v\n%v", n, hour.Time(), cut.Time(), got.late, want.sortedLate())
			}
			want.stats.items = int64(len(want.rows))
			want.stats.boards = want.boards()
			if got.stats != want.stats {
				t.Fatalf("round %d: stats %+v, want %+v", n, got.stats, want.stats)
			}
		}
	}
}
