package counts

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// FuzzDirectory: whatever text, the directory is refused or is one that reads back as itself.
func FuzzDirectory(f *testing.F) {
	f.Add("3 10 0 \"video\"\n", int64(3))
	f.Add("1 1 0 \"a\"\n2 5 1 \"a/region=eu\"\n", int64(3))
	f.Add("1 1 0 \"\\xff\"\n", int64(1))
	f.Fuzz(func(t *testing.T, text string, rows int64) {
		d, err := parseDirectory(text, rows)
		if err != nil {
			return
		}
		again, err := parseDirectory(d.String(), rows)
		if err != nil || !slices.Equal(d, again) {
			t.Fatalf("%q reads back as %v, %v", text, again, err)
		}
		for i, b := range d {
			if got, ok := d.find(b.Board); !ok || got != b || d.at(b.First) != i || d.at(b.First+b.Rows-1) != i {
				t.Fatalf("board %d of %v is not found", i, d)
			}
		}
	})
}

// FuzzFile: whatever bytes, examining them as a file ends with a CorruptError or with a table that can be read.
func FuzzFile(f *testing.F) {
	dir := f.TempDir()
	path := filepath.Join(dir, "seed")
	for _, rows := range [][]Row{nil, smallRows()[:3], smallRows()} {
		writeRows(f, path, rows)
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		table, info, err := Examine(path)
		if err != nil {
			if _, ok := errors.AsType[*CorruptError](err); !ok {
				t.Fatalf("%T: %v", err, err)
			}
			return
		}
		defer table.Close()
		for _, row := range readAll(t, table.All()) {
			got, err := table.Lookup(row.Board, []string{row.Item})
			if err != nil || got[0] != row {
				t.Fatalf("%+v reads back as %+v, %v", row, got, err)
			}
			info.Rows--
		}
		if info.Rows != 0 {
			t.Fatalf("%d rows are missing", info.Rows)
		}
	})
}
