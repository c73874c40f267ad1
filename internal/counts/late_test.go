package counts

import (
	"cmp"
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"crest"
)

func writeLate(t *testing.T, path string, weights []Late) Info {
	t.Helper()
	w, err := CreateLateIn(nil, path)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range weights {
		if err := w.Append(l); err != nil {
			t.Fatal(err)
		}
	}
	info, err := w.Close()
	if err != nil {
		t.Fatal(err)
	}
	return info
}

func readLate(t *testing.T, c *LateCursor) []Late {
	t.Helper()
	var weights []Late
	for c.Next() {
		weights = append(weights, c.Late())
	}
	if err := errors.Join(c.Err(), c.Close()); err != nil {
		t.Fatal(err)
	}
	return weights
}

func TestLateComesBack(t *testing.T) {
	r := newRand(t)
	const slot = 600_000
	for _, boards := range []int{0, 1, 400} {
		var weights []Late
		for _, row := range randomRows(r, boards, 1200) {
			received := crest.Millis(0)
			for range 1 + r.IntN(4) {
				received += crest.Millis(1+r.IntN(3)) * slot
				weights = append(weights, Late{row.Board, row.Item, received, 1 + r.Uint64N(1000)})
			}
		}
		path := filepath.Join(t.TempDir(), "late")
		info := writeLate(t, path, weights)
		table, err := OpenLate(path, info)
		if err != nil {
			t.Fatal(err)
		}
		if got := readLate(t, table.All()); !slices.Equal(got, weights) {
			t.Fatalf("%d weights came back of %d, or others", len(got), len(weights))
		}
		for _, b := range table.Boards() {
			got := readLate(t, table.Scan(b.Board))
			want := weights[b.First : b.First+b.Rows]
			sum := uint64(0)
			for _, l := range want {
				sum += l.Weight
			}
			if !slices.Equal(got, want) || sum != b.Count || want[0].Board != b.Board || want[len(want)-1].Board != b.Board {
				t.Fatalf("board %s: %+v, and %d weights came back", b.Board, b, len(got))
			}
		}
		for _, since := range []crest.Millis{0, 2 * slot, 5 * slot, 100 * slot} {
			if got, want := readAll(t, table.Since(since)), sumSince(weights, since); !slices.Equal(got, want) {
				t.Fatalf("since %d: got %d rows, want %d, or others", since, len(got), len(want))
			}
		}
		again, info2, err := ExamineLate(path)
		if err != nil || info2 != info {
			t.Fatalf("%+v, %v", info2, err)
		}
		again.Close()
		table.Close()
	}
}

// sumSince sums weights that were received at a moment or later by board and item.
func sumSince(weights []Late, since crest.Millis) []Row {
	sums := map[[2]string]uint64{}
	for _, l := range weights {
		if l.Received >= since {
			sums[[2]string{l.Board, l.Item}] += l.Weight
		}
	}
	var rows []Row
	for key, sum := range sums {
		rows = append(rows, Row{Board: key[0], Item: key[1], Count: sum})
	}
	slices.SortFunc(rows, compareRows)
	return rows
}

func TestLateWriterRefusesDisorder(t *testing.T) {
	for name, weights := range map[string][]Late{
		"slot twice":   {{"b", "x", 600_000, 1}, {"b", "x", 600_000, 1}},
		"slot before":  {{"b", "x", 600_000, 1}, {"b", "x", 0, 1}},
		"item before":  {{"b", "x", 0, 1}, {"b", "w", 600_000, 1}},
		"board before": {{"b", "x", 0, 1}, {"a", "x", 600_000, 1}},
		"no weight":    {{"b", "x", 0, 0}},
		"before 1970":  {{"b", "x", -600_000, 1}},
	} {
		w, err := CreateLateIn(nil, filepath.Join(t.TempDir(), "x"))
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range weights {
			err = cmp.Or(err, w.Append(l))
		}
		if _, closed := w.Close(); err == nil || closed == nil {
			t.Errorf("%s: written", name)
		}
	}
}
