package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"crest/internal/archive"
)

// Both ways write the same rows in the same order, with the same columns.
func TestSameRows(t *testing.T) {
	t.Run("without dimensions", func(t *testing.T) {
		s := generate(20_000, 300, 0, 1)
		sameRows(t, s, s.rows)
	})
	t.Run("with two", func(t *testing.T) {
		s := generate(20_000, 300, 2, 1)
		sameRows(t, s, s.wide)
	})
}

func sameRows[T comparable](t *testing.T, s *stream, want []T) {
	t.Helper()
	dir := t.TempDir()
	bare := filepath.Join(dir, "bare")
	if _, err := writeBare(t.Context(), s, bare); err != nil {
		t.Fatal(err)
	}
	if _, err := writeArchive(t.Context(), s, filepath.Join(dir, "archive")); err != nil {
		t.Fatal(err)
	}
	v, err := archive.Read(filepath.Join(dir, "archive"))
	if err != nil {
		t.Fatal(err)
	}
	hour, err := v.Hour(base)
	if err != nil || len(hour.Files) != 1 {
		t.Fatalf("%d files, error %v", len(hour.Files), err)
	}
	columns := map[string]string{}
	for name, path := range map[string]string{"bare": bare, "archive": v.Path(base, hour.Files[0])} {
		rows, schema := read[T](t, path)
		if !slices.Equal(rows, want) {
			t.Errorf("%s does not have the rows", name)
		}
		columns[name] = schema
	}
	if columns["bare"] != columns["archive"] {
		t.Errorf("the columns differ: %v", columns)
	}
}

// read returns a file's rows, and its columns with their encodings and compression.
func read[T any](t *testing.T, path string) (rows []T, columns string) {
	t.Helper()
	rows, err := parquet.ReadFile[T](path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	p, err := parquet.OpenFile(f, info.Size())
	if err != nil {
		t.Fatal(err)
	}
	for _, leaf := range p.Schema().Columns() {
		column, _ := p.Schema().Lookup(leaf...)
		columns += strings.Join(leaf, ".") + " " + column.Node.Type().String() + "\n"
	}
	for _, c := range p.Metadata().RowGroups[0].Columns {
		columns += c.MetaData.Codec.String()
		for _, e := range c.MetaData.Encoding {
			columns += " " + e.String()
		}
		columns += "\n"
	}
	return rows, columns
}
