package counts

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// smallRows are few rows on three boards, so that every byte of their file can be tried.
func smallRows() []Row {
	var rows []Row
	for _, board := range []string{"article", "hashtag", "video"} {
		for i := range 40 {
			rows = append(rows, Row{board, fmt.Sprintf("%s-%03d", board, i*7), uint64(1 + i*i), uint64(i % 3)})
		}
	}
	return rows
}

func wantCorrupt(t *testing.T, err error, path string) {
	t.Helper()
	if e, ok := errors.AsType[*CorruptError](err); !ok || e.Path != path || !strings.Contains(err.Error(), path) {
		t.Fatalf("got %v, want a CorruptError that names the file", err)
	}
}

// files of all three kinds, with how each is opened.
func openers() map[string]func(path string, info Info) error {
	return map[string]func(string, Info) error{
		"counts": func(path string, info Info) error {
			table, err := Open(path, info)
			if err == nil {
				table.Close()
			}
			return err
		},
		"late": func(path string, info Info) error {
			table, err := OpenLate(path, info)
			if err == nil {
				table.Close()
			}
			return err
		},
		"candidates": func(path string, info Info) error {
			table, err := OpenCandidates(path, info)
			if err == nil {
				table.Close()
			}
			return err
		},
	}
}

// writeAll writes a small file of each kind.
func writeAll(t *testing.T, dir string) map[string]Info {
	t.Helper()
	infos := map[string]Info{"counts": writeRows(t, filepath.Join(dir, "counts"), smallRows())}
	late, err := CreateLateIn(nil, filepath.Join(dir, "late"))
	if err != nil {
		t.Fatal(err)
	}
	candidates, err := CreateCandidatesIn(nil, filepath.Join(dir, "candidates"))
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range smallRows() {
		if err := late.Append(Late{r.Board, r.Item, 600_000, r.Count}); err != nil {
			t.Fatal(err)
		}
		if i%40 == 0 {
			if err := candidates.AppendBoard(r.Board, []Candidate{{r.Item, r.Count, []uint64{1, 2}}}, 7); err != nil {
				t.Fatal(err)
			}
		}
	}
	if infos["late"], err = late.Close(); err != nil {
		t.Fatal(err)
	}
	if infos["candidates"], err = candidates.Close(); err != nil {
		t.Fatal(err)
	}
	return infos
}

// damage is a file whose bytes are changed in place, one at a time.
type damage struct {
	file *os.File
	good []byte
}

func newDamage(t *testing.T, path string) *damage {
	t.Helper()
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return &damage{f, good}
}

// flip changes one bit of a byte; restore undoes it.
func (d *damage) flip(t *testing.T, i int) {
	t.Helper()
	if _, err := d.file.WriteAt([]byte{d.good[i] ^ 1<<(i%8)}, int64(i)); err != nil {
		t.Fatal(err)
	}
}

func (d *damage) restore(t *testing.T, i int) {
	t.Helper()
	if _, err := d.file.WriteAt(d.good[i:i+1], int64(i)); err != nil {
		t.Fatal(err)
	}
}

// cuts makes the file shorter and shorter.
func (d *damage) cuts(t *testing.T, try func()) {
	t.Helper()
	for n := len(d.good) - 1; n >= 0; n -= 1 + n/300 {
		if err := d.file.Truncate(int64(n)); err != nil {
			t.Fatal(err)
		}
		try()
	}
}

func TestChangedFilesDontOpen(t *testing.T) {
	dir := t.TempDir()
	infos := writeAll(t, dir)
	for kind, open := range openers() {
		path := filepath.Join(dir, kind)
		info := infos[kind]
		d := newDamage(t, path)
		for other, o := range openers() {
			if err := o(path, info); other == kind && err != nil {
				t.Fatal(err)
			} else if other != kind {
				wantCorrupt(t, err, path)
			}
		}
		for i := range d.good {
			d.flip(t, i)
			wantCorrupt(t, open(path, info), path)
			d.restore(t, i)
		}
		if _, err := d.file.WriteAt([]byte{0}, info.Bytes); err != nil {
			t.Fatal(err)
		}
		wantCorrupt(t, open(path, info), path)
		d.cuts(t, func() { wantCorrupt(t, open(path, info), path) })
		if err := open(filepath.Join(dir, "none"), info); !errors.Is(err, os.ErrNotExist) {
			t.Fatalf("a file that is not there: %v", err)
		}
	}
}

// checkReads reads everything in both ways and fails the test unless it is right or a CorruptError.
func checkReads(t *testing.T, table *Table, path string, rows []Row) {
	t.Helper()
	c := table.All()
	n := 0
	for ; c.Next(); n++ {
		if c.Row() != rows[n] {
			t.Fatalf("row %d is %+v, want %+v", n, c.Row(), rows[n])
		}
	}
	if c.Err() != nil {
		wantCorrupt(t, c.Err(), path)
	} else if n != len(rows) {
		t.Fatalf("%d rows of %d", n, len(rows))
	}
	c.Close()
	for _, b := range table.Boards() {
		var items []string
		for _, r := range rows {
			items = append(items, r.Item)
		}
		got, err := table.Lookup(b.Board, items)
		if err != nil {
			wantCorrupt(t, err, path)
			continue
		}
		for i, r := range rows {
			if r.Board == b.Board && got[i] != r || r.Board != b.Board && got[i] != (Row{}) {
				t.Fatalf("board %q, item %q: got %+v", b.Board, r.Item, got[i])
			}
		}
	}
}

func TestChangesAfterOpeningAreNoticed(t *testing.T) {
	rows := smallRows()
	path := filepath.Join(t.TempDir(), "counts")
	info := writeRows(t, path, rows)
	d := newDamage(t, path)
	opened := func() *Table {
		t.Helper()
		table, err := Open(path, info)
		if err != nil {
			t.Fatal(err)
		}
		return table
	}
	for i := range d.good {
		table := opened()
		d.flip(t, i)
		checkReads(t, table, path, rows)
		d.restore(t, i)
		table.Close()
	}
	table := opened()
	defer table.Close()
	if err := d.file.Truncate(info.Bytes / 2); err != nil {
		t.Fatal(err)
	}
	c := table.All()
	if c.Next() {
		t.Fatal("a row was read of a file that has been cut")
	}
	wantCorrupt(t, errors.Join(c.Err(), c.Close()), path)
	_, err := table.Lookup("video", []string{"video-007"})
	wantCorrupt(t, err, path)
}

// TestExamineChangedFiles: without a checksum to compare with, a change is either noticed or changes nothing that is read.
func TestExamineChangedFiles(t *testing.T) {
	rows := smallRows()
	path := filepath.Join(t.TempDir(), "counts")
	info := writeRows(t, path, rows)
	table, got, err := Examine(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != info {
		t.Fatalf("got %+v, want %+v", got, info)
	}
	checkReads(t, table, "", rows)
	table.Close()

	d := newDamage(t, path)
	for i := range d.good {
		d.flip(t, i)
		table, _, err := Examine(path)
		if err != nil {
			wantCorrupt(t, err, path)
		} else {
			checkReads(t, table, "", rows)
			table.Close()
		}
		d.restore(t, i)
	}
	d.cuts(t, func() {
		_, _, err := Examine(path)
		wantCorrupt(t, err, path)
	})
}
