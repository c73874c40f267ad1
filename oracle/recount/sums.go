package recount

import (
	"context"
	"fmt"

	"crest"
)

// Row is what the oracle has counted of an item.
type Row struct {
	Board, Item       string
	Count, Duplicates uint64
}

// Sums counts the events of [from, to) that were received before a moment, straight from the archive, and calls each with
// every item, by board and item. Hours whose raw events are gone have what [Recount.Check], if it was called, took from Crest.
func (r *Recount) Sums(ctx context.Context, from, to, by crest.Millis, each func(Row) error) error {
	if err := r.sum(ctx, "sums", from, to, by); err != nil {
		return err
	}
	return r.sumRows(ctx, "sums", each)
}

// sum makes a table like that of sumRows.
func (r *Recount) sum(ctx context.Context, table string, from, to, by crest.Millis) error {
	if err := r.run(ctx, fmt.Sprintf("CREATE OR REPLACE TEMP TABLE %s %s", table, countColumns)); err != nil {
		return err
	}
	for _, hour := range r.archive.hours {
		p := wholeHour(hour, by)
		if p.From, p.To = max(p.From, from), min(p.To, to); p.From >= p.To {
			continue
		}
		if _, err := r.load(ctx, p); err != nil {
			return fmt.Errorf("hour %s: %w", hourText(hour), err)
		}
		if err := r.count(ctx, table, p); err != nil {
			return fmt.Errorf("hour %s: %w", hourText(hour), err)
		}
	}
	gone := r.archive.state.KeptFrom
	if !r.checked || gone == 0 {
		return nil
	}
	return r.run(ctx, fmt.Sprintf("INSERT INTO %s SELECT * FROM counted WHERE hour < %d AND hour >= %d AND hour < %d", table, int64(gone), int64(from), int64(to)))
}

func (r *Recount) sumRows(ctx context.Context, table string, each func(Row) error) error {
	rows, err := r.conn.QueryContext(ctx, fmt.Sprintf(`
SELECT board, item, CAST(sum(count) AS UBIGINT), CAST(sum(duplicates) AS UBIGINT) FROM %s GROUP BY board, item ORDER BY board, item`, table))
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var row Row
		if err := rows.Scan(&row.Board, &row.Item, &row.Count, &row.Duplicates); err != nil {
			return err
		}
		if err := each(row); err != nil {
			return err
		}
	}
	return rows.Err()
}
