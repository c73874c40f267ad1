package counts

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// newRand returns a generator whose seed the test prints.
func newRand(t *testing.T) *rand.Rand {
	t.Helper()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 1))
}

func compareRows(a, b Row) int {
	return cmp.Or(strings.Compare(a.Board, b.Board), strings.Compare(a.Item, b.Item))
}

// writeRows writes a counts file and fails the test on any error.
func writeRows(tb testing.TB, path string, rows []Row) Info {
	tb.Helper()
	w, err := Create(path)
	if err != nil {
		tb.Fatal(err)
	}
	for _, r := range rows {
		if err := w.Append(r); err != nil {
			tb.Fatal(err)
		}
	}
	info, err := w.Close()
	if err != nil {
		tb.Fatal(err)
	}
	return info
}

func openRows(tb testing.TB, rows []Row) *Table {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "counts.parquet")
	table, err := Open(path, writeRows(tb, path, rows))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { table.Close() })
	return table
}

func readAll(tb testing.TB, c Cursor) []Row {
	tb.Helper()
	var rows []Row
	for c.Next() {
		rows = append(rows, c.Row())
	}
	if err := errors.Join(c.Err(), c.Close()); err != nil {
		tb.Fatal(err)
	}
	return rows
}

// randomItem returns items that are hard to tell apart: prefixes of each other, of long runs, with any byte.
func randomItem(r *rand.Rand) string {
	switch r.IntN(6) {
	case 0:
		return strings.Repeat("a", r.IntN(MaxItemBytes+1))
	case 1:
		return strings.Repeat("\xff", r.IntN(40))
	case 2:
		return strings.Repeat("long", 60) + fmt.Sprint(r.IntN(100000))
	case 3:
		b := make([]byte, r.IntN(12))
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		return string(b)
	case 4:
		return string(rune('a'+r.IntN(26))) + strings.Repeat("\x00", r.IntN(10))
	}
	return fmt.Sprintf("%011d", r.IntN(1_000_000))
}

// randomRows returns sorted rows of boards of very different sizes.
func randomRows(r *rand.Rand, boards, largest int) []Row {
	var rows []Row
	for b := range boards {
		n := 1 + r.IntN(3)
		if r.IntN(8) == 0 {
			n = 1 + r.IntN(largest)
		}
		seen := map[string]bool{}
		for range n {
			seen[randomItem(r)] = true
		}
		for item := range maps.Keys(seen) {
			row := Row{Board: fmt.Sprintf("b%04d", b), Item: item, Count: uint64(r.IntN(1000))}
			if row.Count == 0 || r.IntN(10) == 0 {
				row.Duplicates = 1 + uint64(r.IntN(5))
			}
			rows = append(rows, row)
		}
	}
	slices.SortFunc(rows, compareRows)
	return rows
}

func TestRowsComeBack(t *testing.T) {
	r := newRand(t)
	for _, n := range []int{0, 1, pageRows - 1, pageRows, pageRows + 1, 3 * pageRows} {
		var rows []Row
		for i := range n {
			rows = append(rows, Row{"video", fmt.Sprintf("%06d", i), uint64(1 + r.IntN(9)), uint64(r.IntN(2))})
		}
		table := openRows(t, rows)
		if got := readAll(t, table.All()); !slices.Equal(got, rows) {
			t.Fatalf("%d rows: other rows came back", n)
		}
	}
	rows := randomRows(r, 2000, 1500)
	table := openRows(t, rows)
	if got := readAll(t, table.All()); !slices.Equal(got, rows) {
		t.Fatalf("%d rows came back of %d, or others", len(got), len(rows))
	}
	first := int64(0)
	for _, b := range table.Boards() {
		var want []Row
		info := BoardInfo{Board: b.Board, First: first}
		for _, row := range rows[first:] {
			if row.Board != b.Board {
				break
			}
			want = append(want, row)
			info.Rows++
			info.Count += row.Count
			info.Duplicates += row.Duplicates
		}
		first += info.Rows
		if b != info {
			t.Fatalf("directory has %+v, want %+v", b, info)
		}
		if got := readAll(t, table.Scan(b.Board)); !slices.Equal(got, want) {
			t.Fatalf("board %s: other rows came back", b.Board)
		}
	}
	if first != table.Rows() {
		t.Fatalf("boards have %d rows of %d", first, table.Rows())
	}
}

func TestLookup(t *testing.T) {
	r := newRand(t)
	for _, shape := range []struct{ boards, largest int }{{1, 9000}, {2, 9000}, {40, 5000}, {3000, 2}, {300, 3000}} {
		rows := randomRows(r, shape.boards, shape.largest)
		table := openRows(t, rows)
		byBoard := map[string]map[string]Row{}
		for _, row := range rows {
			if byBoard[row.Board] == nil {
				byBoard[row.Board] = map[string]Row{}
			}
			byBoard[row.Board][row.Item] = row
		}
		check := func(board string, items []string) {
			t.Helper()
			got, err := table.Lookup(board, items)
			if err != nil {
				t.Fatal(err)
			}
			for i, item := range items {
				if got[i] != byBoard[board][item] {
					t.Fatalf("board %q, item %q: got %+v, want %+v", board, item, got[i], byBoard[board][item])
				}
			}
		}
		for _, b := range table.Boards() {
			items := []string{"", "\x00", "\xff\xff\xff", strings.Repeat("\xff", MaxItemBytes)}
			for item := range byBoard[b.Board] {
				items = append(items, item, item+"\x00", item[:len(item)/2])
			}
			for range 20 {
				items = append(items, randomItem(r), rows[r.IntN(len(rows))].Item)
			}
			r.Shuffle(len(items), func(i, j int) { items[i], items[j] = items[j], items[i] })
			check(b.Board, items[:min(len(items), 3000)])
		}
		check("", []string{"a"})
		check("b", []string{"a"})
		check("zzz", []string{"a", "a"})
	}
}

// TestConcurrentReads reads a table in many ways at once, so that the race detector sees them.
func TestConcurrentReads(t *testing.T) {
	r := newRand(t)
	rows := randomRows(r, 20, 5000)
	table := openRows(t, rows)
	var readers sync.WaitGroup
	for i := range 8 {
		readers.Go(func() {
			if i%2 == 0 {
				c := table.All()
				n := 0
				for c.Next() && n < len(rows) && c.Row() == rows[n] {
					n++
				}
				if err := errors.Join(c.Err(), c.Close()); err != nil || n != len(rows) {
					t.Errorf("%d rows of %d, %v", n, len(rows), err)
				}
				return
			}
			for j := i; j < len(rows); j += 97 {
				got, err := table.Lookup(rows[j].Board, []string{rows[j].Item, "none"})
				if err != nil || got[0] != rows[j] || got[1] != (Row{}) {
					t.Errorf("got %+v, %v, want %+v", got, err, rows[j])
				}
			}
		})
	}
	readers.Wait()
}

func TestMerge(t *testing.T) {
	r := newRand(t)
	for round := range 15 {
		sums := map[[2]string]Row{}
		var inputs []Input
		for range r.IntN(9) {
			rows := randomRows(r, 1+r.IntN(60), 1500)
			for _, row := range rows {
				key := [2]string{row.Board, row.Item}
				s := sums[key]
				sums[key] = Row{row.Board, row.Item, s.Count + row.Count, s.Duplicates + row.Duplicates}
			}
			inputs = append(inputs, Input{Cursor: openRows(t, rows).All()})
		}
		var minus []Row
		for key, s := range sums {
			if r.IntN(3) > 0 {
				continue
			}
			m := Row{s.Board, s.Item, uint64(r.Int64N(int64(s.Count + 1))), uint64(r.Int64N(int64(s.Duplicates + 1)))}
			if r.IntN(2) == 0 {
				m = s
			}
			if m.Count+m.Duplicates == 0 {
				continue
			}
			minus = append(minus, m)
			sums[key] = Row{s.Board, s.Item, s.Count - m.Count, s.Duplicates - m.Duplicates}
		}
		slices.SortFunc(minus, compareRows)
		inputs = append(inputs, Input{Cursor: openRows(t, minus).All(), Subtract: true})
		var want []Row
		for _, s := range sums {
			if s.Count+s.Duplicates > 0 {
				want = append(want, s)
			}
		}
		slices.SortFunc(want, compareRows)
		r.Shuffle(len(inputs), func(i, j int) { inputs[i], inputs[j] = inputs[j], inputs[i] })

		path := filepath.Join(t.TempDir(), "merged")
		w, err := Create(path)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		err = Merge(w, inputs, func(row Row, counts []uint64) error {
			sum := uint64(0)
			for i, c := range counts {
				if inputs[i].Subtract {
					sum -= c
				} else {
					sum += c
				}
			}
			if sum != row.Count || row != want[n] {
				return fmt.Errorf("row %d is %+v of counts %d, want %+v", n, row, counts, want[n])
			}
			n++
			return nil
		})
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		info, err := w.Close()
		if err != nil {
			t.Fatal(err)
		}
		table, err := Open(path, info)
		if err != nil {
			t.Fatal(err)
		}
		if got := readAll(t, table.All()); n != len(want) || !slices.Equal(got, want) {
			t.Fatalf("round %d: %d rows were merged, %d came back of %d", round, n, len(got), len(want))
		}
		table.Close()
	}
}

func TestMergeNamesWhatGoesBelowZero(t *testing.T) {
	err := Merge(nil, []Input{
		{Cursor: openRows(t, []Row{{"video", "a", 5, 0}, {"video", "b", 1, 0}}).All()},
		{Cursor: openRows(t, []Row{{"video", "a", 5, 0}, {"video", "b", 2, 0}}).All(), Subtract: true},
	}, nil)
	if err == nil || !strings.Contains(err.Error(), `board "video", item "b"`) {
		t.Fatalf("got %v", err)
	}
}

func TestTop(t *testing.T) {
	r := newRand(t)
	for range 200 {
		n := r.IntN(20)
		top := NewTop(n)
		var all []Candidate
		for i := range r.IntN(100) {
			c := Candidate{fmt.Sprintf("%03d", i), uint64(r.IntN(12)), []uint64{uint64(i)}}
			if c.Count > 0 {
				all = append(all, c)
			}
		}
		r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		for _, c := range all {
			top.Add(c.ID, c.Count, c.Hours)
		}
		slices.SortFunc(all, func(a, b Candidate) int {
			return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.ID, b.ID))
		})
		rest := uint64(0)
		if len(all) > n {
			all, rest = all[:n], all[n].Count
		}
		got, gotRest := top.Take()
		equal := func(a, b Candidate) bool {
			return a.ID == b.ID && a.Count == b.Count && slices.Equal(a.Hours, b.Hours)
		}
		if gotRest != rest || !slices.EqualFunc(got, all, equal) {
			t.Fatalf("n %d: got %v and %d, want %v and %d", n, got, gotRest, all, rest)
		}
	}
}

func TestCandidatesComeBack(t *testing.T) {
	r := newRand(t)
	type board struct {
		list []Candidate
		rest uint64
	}
	boards := map[string]board{}
	path := filepath.Join(t.TempDir(), "candidates")
	w, err := CreateCandidatesIn(nil, path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 300 {
		name := fmt.Sprintf("b%03d", i)
		b := board{rest: uint64(r.IntN(5))}
		count := uint64(1_000_000)
		n := r.IntN(6)
		if i%50 == 0 {
			n = 3000
		}
		for j := range n {
			count -= uint64(r.IntN(3))
			c := Candidate{ID: fmt.Sprintf("%05d", j), Count: count}
			if i%2 == 0 {
				for range 24 {
					c.Hours = append(c.Hours, uint64(r.IntN(1000)))
				}
			}
			b.list = append(b.list, c)
		}
		if err := w.AppendBoard(name, b.list, b.rest); err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			b.rest = 0
		}
		boards[name] = b
	}
	info, err := w.Close()
	if err != nil {
		t.Fatal(err)
	}
	table, err := OpenCandidates(path, info)
	if err != nil {
		t.Fatal(err)
	}
	defer table.Close()
	for name, want := range boards {
		got, rest, err := table.Board(name)
		if err != nil {
			t.Fatal(err)
		}
		if rest != want.rest || len(got) != len(want.list) {
			t.Fatalf("board %s: %d candidates and %d, want %d and %d", name, len(got), rest, len(want.list), want.rest)
		}
		for i, c := range got {
			if w := want.list[i]; c.ID != w.ID || c.Count != w.Count || !slices.Equal(c.Hours, w.Hours) {
				t.Fatalf("board %s: candidate %d is %v, want %v", name, i, c, w)
			}
		}
	}
}
