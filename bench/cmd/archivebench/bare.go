package main

import (
	"context"
	"fmt"
	"os"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"
)

// row has the columns of the archive.
type row struct {
	ID        [16]byte `parquet:"id,uuid"`
	Type      string   `parquet:"type,dict"`
	Item      string   `parquet:"item,plain"`
	Spelling  string   `parquet:"spelling,optional,plain"`
	Time      int64    `parquet:"time,timestamp(millisecond),delta"`
	Received  int64    `parquet:"received,timestamp(millisecond),delta"`
	Session   uint64   `parquet:"session,plain"`
	Weight    uint32   `parquet:"weight,plain"`
	Generated bool     `parquet:"generated"`
}

// wide2 has them for two dimensions.
type wide2 struct {
	row

	Dimensions dimensions2 `parquet:"dimensions"`
}

type dimensions2 struct {
	Category string `parquet:"category,optional,dict"`
	Region   string `parquet:"region,optional,dict"`
}

const (
	rowGroupRows = 1 << 20
	writeRows    = 4096 // rows given to the writer at once; it is no quicker with fewer or more
)

// writeBare writes the rows with the library alone, and returns the size of the file.
func writeBare(_ context.Context, s *stream, path string) (int64, error) {
	if len(s.dimensions) == 0 {
		return write(s.rows, path)
	}
	return write(s.wide, path)
}

func write[T any](rows []T, path string) (int64, error) {
	f, err := os.Create(path)
	if err != nil {
		return 0, fmt.Errorf("make file: %w", err)
	}
	defer f.Close()
	w := parquet.NewGenericWriter[T](f, parquet.Compression(&zstd.Codec{Level: zstd.SpeedFastest}), parquet.MaxRowsPerRowGroup(rowGroupRows))
	for len(rows) > 0 {
		n := min(len(rows), writeRows)
		if _, err := w.Write(rows[:n]); err != nil {
			return 0, fmt.Errorf("write rows: %w", err)
		}
		rows = rows[n:]
	}
	if err := w.Close(); err != nil {
		return 0, fmt.Errorf("finish file: %w", err)
	}
	if err := f.Sync(); err != nil {
		return 0, fmt.Errorf("sync file: %w", err)
	}
	info, err := f.Stat()
	if err != nil {
		return 0, fmt.Errorf("stat file: %w", err)
	}
	return info.Size(), nil
}
