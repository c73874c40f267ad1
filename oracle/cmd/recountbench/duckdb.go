package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	_ "github.com/duckdb/duckdb-go/v2" // the peer
)

func parquetFiles(archive string) (files []string, bytes int64, err error) {
	files, err = filepath.Glob(filepath.Join(archive, "date=*", "hour=*", "*.parquet"))
	if err != nil {
		return nil, 0, err
	}
	for _, f := range files {
		info, err := os.Stat(f) //nolint:gosec // the user names the directory
		if err != nil {
			return nil, 0, err
		}
		bytes += info.Size()
	}
	if len(files) == 0 {
		return nil, 0, errors.New("the archive has no files")
	}
	return files, bytes, nil
}

// countByDuckDB counts an archive's items, each id once, into a Parquet file: the arguments are both, and an order or nothing.
func countByDuckDB(ctx context.Context, args []string) error {
	if len(args) != 3 {
		return errors.New("duckdb needs an archive, a file and an order")
	}
	archive, into, order := args[0], args[1], args[2]
	files, _, err := parquetFiles(archive)
	if err != nil {
		return err
	}
	temp, err := os.MkdirTemp(filepath.Dir(into), "duckdb")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	return query(ctx, []string{
		"SET temp_directory = '" + temp + "'",
		"SET preserve_insertion_order = false",
		fmt.Sprintf(`COPY (SELECT item, CAST(sum(weight) AS UBIGINT) AS count FROM (
 SELECT id, any_value(item) AS item, any_value(weight) AS weight FROM read_parquet(['%s']) GROUP BY id) GROUP BY item %s)
TO '%s' (FORMAT parquet, COMPRESSION zstd)`, strings.Join(files, "', '"), order, into),
	}, nil)
}

// compare compares what DuckDB has counted with the hour's counts by Crest, once both have counted.
func compare(ctx context.Context, exact, counted string) error {
	if _, err := os.Stat(counted); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	files, _, err := parquetFiles(exact)
	if err != nil {
		return err
	}
	hour := ""
	for _, f := range files {
		if strings.HasPrefix(filepath.Base(f), "counts-") {
			hour = f
		}
	}
	var different, items, repeats int64
	err = query(ctx, nil, func(db *sql.DB) error {
		return db.QueryRowContext(ctx, fmt.Sprintf(`
SELECT count(*) FILTER (c.count IS DISTINCT FROM d.count), count(*), coalesce(sum(c.duplicates), 0)::BIGINT
FROM (SELECT item, count, duplicates FROM read_parquet('%s') WHERE board = 'video') c FULL JOIN read_parquet('%s') d USING (item)`, hour, counted)).
			Scan(&different, &items, &repeats)
	})
	if err != nil {
		return err
	}
	if different > 0 {
		return fmt.Errorf("%d of %d items differ", different, items)
	}
	fmt.Printf("equal: %d items, %d duplicates dropped\n", items, repeats)
	return nil
}

// query runs statements, and then what a function asks.
func query(ctx context.Context, statements []string, ask func(*sql.DB) error) (err error) {
	db, err := sql.Open("duckdb", "")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	for _, s := range statements {
		if _, err := db.ExecContext(ctx, s); err != nil { //nolint:gosec // the statements are those of this file
			return fmt.Errorf("%w in\n%s", err, s)
		}
	}
	if ask == nil {
		return nil
	}
	return ask(db)
}
