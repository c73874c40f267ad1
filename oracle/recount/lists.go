package recount

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"crest"
)

// CheckLists holds served lists against the truth over the events received before their as_of: no count is below the truth;
// without its error none is above the truth and what the copies of the item weigh, which counting may not have known as
// copies; nothing off the list has more than the cutoff. Lists as of later moments than the archive has reached are skipped.
// [Recount.Check] must have been called when raw hours have been deleted.
func (r *Recount) CheckLists(ctx context.Context, report *Report, lists []*crest.List) error {
	lists = slices.SortedFunc(slices.Values(lists), func(a, b *crest.List) int { // so that the truth of a span is counted once
		return cmp.Or(cmp.Compare(a.AsOf, b.AsOf), cmp.Compare(a.From, b.From), cmp.Compare(a.Board, b.Board))
	})
	last := ""
	for _, l := range lists {
		where := fmt.Sprintf("list %s %s as of %s", l.Board, l.Window, l.AsOf.Time().Format("2006-01-02T15:04:05Z"))
		switch {
		case l.AsOf > r.archive.state.Watermark:
			report.Skipped = append(report.Skipped, fmt.Sprintf("%s: the archive has events received until %s alone",
				where, r.archive.state.Watermark.Time().Format("2006-01-02T15:04:05Z")))
			continue
		case l.Since > l.From && l.Since > 0 && l.From > 0:
			report.Skipped = append(report.Skipped, fmt.Sprintf("%s: it lacks what was received before %s, and says so", where, l.Since.Time()))
			continue
		case r.exact != nil && l.ExactUntil > r.exact.Until:
			report.Differ(where, "it says exact_until %s, but hours have been counted until %s", hourText(l.ExactUntil), hourText(r.exact.Until))
		}
		if span := fmt.Sprint(l.From, l.AsOf); span != last {
			if err := r.truth(ctx, l); err != nil {
				return err
			}
			last = span
		}
		if err := r.checkList(ctx, report, where, l); err != nil {
			return fmt.Errorf("%s: %w", where, err)
		}
		report.Lists++
		report.Compared += int64(len(l.Top))
	}
	return nil
}

// truth makes the table truth of all boards over a list's span: the count of each item, and the most that a lower bound may say,
// which is what was sent of it, copies included. A list of exact hours alone has in its counts what came until they were cut.
func (r *Recount) truth(ctx context.Context, l *crest.List) error {
	if err := r.sum(ctx, "parts", l.From, l.AsOf, l.AsOf); err != nil {
		return err
	}
	most := "parts"
	if r.exact != nil && l.ExactUntil == l.AsOf {
		most = "later"
		if err := r.sum(ctx, most, l.From, l.AsOf, max(l.AsOf, r.exact.Cut)); err != nil {
			return err
		}
	}
	return r.run(ctx, fmt.Sprintf(`CREATE OR REPLACE TEMP TABLE truth AS
SELECT board, item, CAST(coalesce(p.count, 0) AS UBIGINT) AS count, CAST(m.most AS UBIGINT) AS most
FROM (SELECT board, item, sum(count + duplicates) AS most FROM %s GROUP BY board, item) m
LEFT JOIN (SELECT board, item, sum(count) AS count FROM parts GROUP BY board, item) p USING (board, item)`, most))
}

func (r *Recount) checkList(ctx context.Context, report *Report, where string, l *crest.List) error {
	if err := r.run(ctx, "CREATE OR REPLACE TEMP TABLE entries (rank INTEGER, item VARCHAR, count UBIGINT, low UBIGINT)"); err != nil {
		return err
	}
	var values []string
	for _, e := range l.Top {
		values = append(values, fmt.Sprintf("(%d, %s, %d, %d)", e.Rank, quote(e.ID), e.Count, e.Count-e.Error))
	}
	if len(values) > 0 {
		if err := r.run(ctx, "INSERT INTO entries VALUES "+strings.Join(values, ", ")); err != nil {
			return err
		}
	}
	board := fmt.Sprintf("(SELECT item, count, most FROM truth WHERE board = %s)", quote(l.Board))
	err := r.rows(ctx, fmt.Sprintf(`
SELECT * FROM (SELECT e.rank, e.item, e.count, e.low, coalesce(t.count, 0) AS truth, coalesce(t.most, 0) AS most
  FROM entries e LEFT JOIN %s t USING (item))
WHERE truth > count OR low > most ORDER BY rank`, board), func(v []string) error {
		report.Differ(where, "rank %s, %s: the truth lies in [%s, %s] by the list; it is %s, with copies %s", v[0], v[1], v[3], v[2], v[4], v[5])
		return nil
	})
	if err != nil {
		return err
	}
	err = r.rows(ctx, fmt.Sprintf(`
SELECT item, count FROM %s WHERE count > %d AND item NOT IN (SELECT item FROM entries) ORDER BY count DESC, item LIMIT %d`,
		board, l.Cutoff, maxDifferences), func(v []string) error {
		report.Differ(where, "%s is missing with %s; the cutoff is %d", v[0], v[1], l.Cutoff)
		return nil
	})
	if err != nil {
		return err
	}
	return r.rows(ctx, fmt.Sprintf(`SELECT coalesce(sum(count), 0)::VARCHAR, coalesce(sum(most), 0)::VARCHAR FROM %s
 HAVING coalesce(sum(count), 0) > %d OR coalesce(sum(most), 0) < %d`, board, l.Total, l.Total), func(v []string) error {
		report.Differ(where, "total %d; the truth is %s, with copies %s", l.Total, v[0], v[1])
		return nil
	})
}
