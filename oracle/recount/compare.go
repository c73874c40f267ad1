package recount

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// Difference is one thing in which Crest and the oracle don't agree.
type Difference struct {
	Where string // "hour 2026-11-30T09", "window 24h", "list video 24h"
	What  string
}

func (d Difference) String() string { return d.Where + ": " + d.What }

// maxDifferences is how many differences of a comparison are described. All of them are counted.
const maxDifferences = 20

// Differ notes a difference.
func (r *Report) Differ(where, format string, args ...any) {
	r.Differences++
	if len(r.First) < maxDifferences {
		r.First = append(r.First, Difference{where, fmt.Sprintf(format, args...)})
	}
}

// compare compares rows of a query with those of a Parquet file: key columns, then values. No path stands for a file without
// rows. Both have to have every key once.
func (c *counter) compare(ctx context.Context, r *Report, where, query, path string, keys, values []string) error {
	file := "SELECT * FROM (" + query + ") WHERE FALSE"
	if path != "" {
		columns := strings.Join(slices.Concat(keys, values), ", ")
		columns = strings.Replace(columns, "received", "epoch_ms(received) AS received", 1)
		file = "SELECT " + columns + " FROM read_parquet(" + quote(path) + ")"
	}
	if err := c.run(ctx, "CREATE OR REPLACE TEMP TABLE file_rows AS "+file); err != nil {
		return err
	}
	if err := c.run(ctx, "CREATE OR REPLACE TEMP TABLE oracle_rows AS "+query); err != nil {
		return err
	}
	var different, columns []string
	for _, v := range values {
		different = append(different, fmt.Sprintf("o.%s IS DISTINCT FROM f.%s", v, v))
		columns = append(columns, "o."+v, "f."+v)
	}
	columns = append(columns, keys...)
	on := strings.Join(keys, ", ")
	from := fmt.Sprintf(" FROM oracle_rows o FULL JOIN file_rows f USING (%s) WHERE %s", on, strings.Join(different, " OR "))
	n, err := c.number(ctx, "SELECT count(*)"+from)
	if err != nil {
		return err
	}
	counted, err := c.number(ctx, "SELECT count(*) FROM oracle_rows")
	if err != nil {
		return err
	}
	r.Compared += counted
	rows, err := c.number(ctx, "SELECT count(*) FROM file_rows")
	if err != nil {
		return err
	}
	if n == 0 && rows != counted {
		r.Differ(where, "%s has %d rows, the oracle %d", path, rows, counted)
	}
	if n == 0 {
		return nil
	}
	described := 0
	err = c.rows(ctx, "SELECT "+strings.Join(columns, ", ")+from+" ORDER BY "+on+fmt.Sprintf(" LIMIT %d", maxDifferences), func(row []string) error {
		var what []string
		for i, v := range values {
			what = append(what, fmt.Sprintf("%s %s, the oracle has %s", v, row[2*i+1], row[2*i]))
		}
		r.Differ(where, "%q: %s", row[2*len(values):], strings.Join(what, "; "))
		described++
		return nil
	})
	r.Differences += n - int64(described)
	return err
}
