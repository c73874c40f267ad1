package recount

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"crest"
)

// counter recounts hours.
type counter struct {
	*engine

	config  *Config
	archive *raw
}

// countColumns are those of a table of counts.
const countColumns = "(hour BIGINT, board VARCHAR, item VARCHAR, count UBIGINT, duplicates UBIGINT)"

// part is a part of an hour to be counted: rows of event time [From, To) that were received before Cut. Which rows are
// copies is decided over the whole hour.
type part struct {
	Hour     crest.Millis
	From, To crest.Millis
	Cut      crest.Millis
}

func wholeHour(hour, cut crest.Millis) part {
	return part{Hour: hour, From: hour, To: hour.Add(time.Hour), Cut: cut}
}

// load makes the table rows of an hour's rows received before the cut, with a row's place in the order of receiving, its
// verdict whether it is a copy, and returns how many there are.
func (c *counter) load(ctx context.Context, p part) (int64, error) {
	own, err := c.selectRows(p.Hour, p.Cut, "TRUE")
	if err != nil {
		return 0, err
	}
	before, err := c.selectRows(p.Hour.Add(-time.Hour), p.Cut, fmt.Sprintf("time >= %d", int64(p.Hour)-c.config.Edge))
	if err != nil {
		return 0, err
	}
	end := p.Hour.Add(time.Hour)
	after, err := c.selectRows(end, p.Cut, fmt.Sprintf("time < %d", int64(end)+c.config.Edge))
	if err != nil {
		return 0, err
	}
	err = c.run(ctx, fmt.Sprintf(`
CREATE OR REPLACE TEMP TABLE rows AS
WITH own AS (%s),
     before AS (SELECT id, min(received) AS received FROM (%s) GROUP BY id),
     after AS (SELECT id, min(received) AS received FROM (%s) GROUP BY id),
     ordered AS (SELECT own.*, row_number() OVER (PARTITION BY id ORDER BY file, row) AS nth FROM own)
SELECT ordered.*,
       nth > 1
       OR (ordered.time < %d AND coalesce(before.received <= ordered.received, FALSE))
       OR (ordered.time >= %d AND coalesce(after.received < ordered.received, FALSE)) AS copy
FROM ordered LEFT JOIN before ON before.id = ordered.id LEFT JOIN after ON after.id = ordered.id`,
		own, before, after, int64(p.Hour)+c.config.Edge, int64(end)-c.config.Edge))
	if err != nil {
		return 0, err
	}
	return c.number(ctx, "SELECT count(*) FROM rows")
}

// selectRows is the query for an hour's rows that were received before a moment and fulfil a condition on their time.
func (c *counter) selectRows(hour, cut crest.Millis, condition string) (string, error) {
	paths, err := c.archive.files(hour)
	if err != nil {
		return "", err
	}
	dims := ""
	for i := range c.config.Dimensions {
		dims += fmt.Sprintf(", CAST(NULL AS VARCHAR) AS d%d", i)
	}
	if len(paths) == 0 {
		return `SELECT CAST(NULL AS UUID) AS id, '' AS type, '' AS item, 0::UINTEGER AS weight, 0::BIGINT AS time, 0::BIGINT AS received,
 0::BIGINT AS file, 0::BIGINT AS row` + dims + ` WHERE FALSE`, nil
	}
	dims = ""
	for i, d := range c.config.Dimensions {
		dims += fmt.Sprintf(", dimensions.%s AS d%d", name(d), i)
	}
	return fmt.Sprintf(`SELECT * FROM (
  SELECT id, type, item, weight, epoch_ms(time) AS time, epoch_ms(received) AS received,
         list_position([%s], filename) AS file, file_row_number AS row%s
  FROM read_parquet([%s], hive_partitioning = true, union_by_name = true, filename = true, file_row_number = true))
WHERE received < %d AND %s`, quoteAll(paths), dims, quoteAll(paths), int64(cut), condition), nil
}

// sound reports what is wrong with the rows loaded, "" when they are as the archive promises: all of the hour, in the order of
// receiving, and none received before it happened.
func (c *counter) sound(ctx context.Context, hour crest.Millis) (string, error) {
	for _, fault := range []struct{ what, query string }{
		{"rows of other hours", fmt.Sprintf("SELECT count(*) FROM rows WHERE time < %d OR time >= %d", int64(hour), int64(hour.Add(time.Hour)))},
		{"rows that happened after their coming", "SELECT count(*) FROM rows WHERE time > received"},
		{"rows that are not in order", `SELECT count(*) FROM (
 SELECT received, lag(received) OVER (ORDER BY file, row) AS earlier FROM rows) WHERE earlier > received`},
	} {
		n, err := c.number(ctx, fault.query)
		if err != nil {
			return "", err
		}
		if n > 0 {
			return fmt.Sprintf("%d %s", n, fault.what), nil
		}
	}
	return "", nil
}

// count adds to a table the counts and dropped copies of the rows loaded, per board and item: hour, board, item, count,
// duplicates.
func (c *counter) count(ctx context.Context, table string, p part) error {
	return c.run(ctx, fmt.Sprintf(`
INSERT INTO %s
SELECT %d AS hour, board, item, CAST(sum(CASE WHEN copy THEN 0 ELSE weight END) AS UBIGINT), CAST(sum(CASE WHEN copy THEN weight ELSE 0 END) AS UBIGINT)
FROM (%s) WHERE time >= %d AND time < %d GROUP BY board, item`,
		table, int64(p.Hour), c.onBoards(), int64(p.From), int64(p.To)))
}

// late makes the table late_rows of what came after the hour's end: board, item, received, weight.
func (c *counter) late(ctx context.Context, hour crest.Millis) error {
	slot := (10 * time.Minute).Milliseconds()
	return c.run(ctx, fmt.Sprintf(`
CREATE OR REPLACE TEMP TABLE late_rows AS
SELECT board, item, received - received %% %d AS received, CAST(sum(weight) AS UBIGINT) AS weight
FROM (%s) WHERE NOT copy AND received >= %d GROUP BY ALL`, slot, c.onBoards(), int64(hour.Add(time.Hour))))
}

// onBoards is the query for the rows loaded, once for each board that they count on.
func (c *counter) onBoards() string {
	var parts []string
	for _, t := range c.config.Types {
		sets := append([][]string{nil}, t.Narrow...)
		for _, set := range sets {
			board, condition := quote(t.Name), "type = "+quote(t.Name)
			for _, d := range set {
				column := fmt.Sprintf("d%d", slices.Index(c.config.Dimensions, d))
				board += fmt.Sprintf(" || %s || %s", quote("/"+d+"="), column)
				condition += fmt.Sprintf(" AND %s IS NOT NULL AND %s <> ''", column, column)
			}
			parts = append(parts, fmt.Sprintf("SELECT %s AS board, item, weight, time, received, copy FROM rows WHERE %s", board, condition))
		}
	}
	return strings.Join(parts, "\nUNION ALL ")
}
