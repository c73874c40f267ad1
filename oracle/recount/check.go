package recount

import (
	"context"
	"errors"
	"fmt"
	"time"

	"crest"
)

// Report is what a check found.
type Report struct {
	Hours       int   // counted again and compared
	Empty       int   // hours of these without events
	Unverified  int   // hours whose raw events are gone: what Crest says of them is taken as it is
	Rows        int64 // of the archive
	Compared    int64 // items of hours, of totals, and entries of lists
	Totals      int   // windows compared
	Lists       int   // compared
	Skipped     []string
	Until       crest.Millis // end of the hours compared
	Differences int64
	First       []Difference
}

// Recount counts the archive independently of Crest.
type Recount struct {
	counter

	exact   *counted
	checked bool // the table counted has what Check has counted
}

// Open starts the engine and reads the manifests. There has to be an archive; exact counts may be missing.
func Open(ctx context.Context, cfg Config) (*Recount, error) {
	a, err := readArchive(cfg.Archive)
	if err != nil {
		return nil, err
	}
	exact, err := readCounted(cfg.Exact)
	if err != nil {
		return nil, err
	}
	e, err := openEngine(ctx, &cfg)
	if err != nil {
		return nil, fmt.Errorf("start DuckDB: %w", err)
	}
	return &Recount{counter: counter{engine: e, config: &cfg, archive: a}, exact: exact}, nil
}

// Close ends the engine.
func (r *Recount) Close() error { return r.close() }

// Check counts every hour that Crest has counted, and compares every item of every hour, of each window's totals and of the
// candidates. It calls progress, unless nil, after each hour.
func (r *Recount) Check(ctx context.Context, report *Report, progress func(hour crest.Millis)) error {
	if r.exact == nil {
		return errors.New("there are no exact counts; run crest recount first")
	}
	if err := r.run(ctx, "CREATE OR REPLACE TEMP TABLE counted "+countColumns); err != nil {
		return err
	}
	for i := range r.exact.Hours {
		h := &r.exact.Hours[i]
		if h.Damaged != "" {
			report.Differ("hour "+hourText(h.Start), "its counts are damaged: %s", h.Damaged)
			continue
		}
		if err := r.checkHour(ctx, report, h); err != nil {
			return fmt.Errorf("hour %s: %w", hourText(h.Start), err)
		}
		if progress != nil {
			progress(h.Start)
		}
	}
	report.Until, r.checked = r.exact.Until, true
	if err := r.checkRun(ctx, report); err != nil {
		return err
	}
	return r.checkTotals(ctx, report)
}

func (r *Recount) checkHour(ctx context.Context, report *Report, h *countedHour) error {
	where := "hour " + hourText(h.Start)
	paths, err := r.archive.files(h.Start)
	if err != nil {
		return err
	}
	if len(paths) == 0 && h.Start < r.archive.state.KeptFrom {
		report.Unverified++
		if h.Counts == nil {
			return nil
		}
		return r.run(ctx, fmt.Sprintf("INSERT INTO counted SELECT %d, board, item, count, duplicates FROM read_parquet(%s)",
			int64(h.Start), quote(r.exact.path(h.Counts))))
	}
	report.Hours++
	p := wholeHour(h.Start, h.Cut)
	rows, err := r.load(ctx, p)
	if err != nil {
		return err
	}
	report.Rows += rows
	if rows == 0 {
		report.Empty++
	}
	if wrong, err := r.sound(ctx, h.Start); err != nil {
		return err
	} else if wrong != "" {
		report.Differ(where, "the archive has %s", wrong)
	}
	if err := r.count(ctx, "counted", p); err != nil {
		return err
	}
	query := fmt.Sprintf("SELECT board, item, count, duplicates FROM counted WHERE hour = %d", int64(h.Start))
	err = r.compare(ctx, report, where, query, r.exact.path(h.Counts), []string{"board", "item"}, []string{"count", "duplicates"})
	if err != nil {
		return err
	}
	if err := r.late(ctx, h.Start); err != nil {
		return err
	}
	err = r.compare(ctx, report, where+", late", "SELECT * FROM late_rows", r.exact.path(h.Late), []string{"board", "item", "received"}, []string{"weight"})
	if err != nil {
		return err
	}
	return r.checkClaims(ctx, report, where, h)
}

// checkClaims compares what the manifest says of an hour with its rows.
func (r *Recount) checkClaims(ctx context.Context, report *Report, where string, h *countedHour) error {
	var types []string
	for _, t := range r.config.Types {
		types = append(types, t.Name)
	}
	for _, claim := range []struct {
		what      string
		says      uint64
		condition string
	}{{"weight", h.Weight, "NOT copy"}, {"duplicates", h.Duplicates, "copy"}} {
		n, err := r.number(ctx, fmt.Sprintf("SELECT CAST(sum(weight) AS BIGINT) FROM rows WHERE %s AND type IN (%s)", claim.condition, quoteAll(types)))
		if err != nil {
			return err
		}
		if uint64(n) != claim.says {
			report.Differ(where, "the manifest says %s %d, the oracle %d", claim.what, claim.says, n)
		}
	}
	if h.Checked <= h.Cut {
		return nil
	}
	all, err := r.selectRows(h.Start, h.Checked, fmt.Sprintf("received >= %d", int64(h.Cut)))
	if err != nil {
		return err
	}
	n, err := r.number(ctx, "SELECT count(*) FROM ("+all+")")
	if err != nil {
		return err
	}
	if n > 0 {
		report.Differ(where, "%d events received from %s to %s are not counted, though the manifest says that there are none",
			n, h.Cut.Time().Format(time.RFC3339), h.Checked.Time().Format(time.RFC3339))
	}
	return nil
}

// checkRun looks for events that should be in a counted hour and are not: the hours have to be an unbroken run up to Until.
func (r *Recount) checkRun(ctx context.Context, report *Report) error {
	for i, h := range r.exact.Hours {
		if i > 0 && h.Start != r.exact.Hours[i-1].Start.Add(time.Hour) {
			report.Differ("hour "+hourText(h.Start), "it doesn't follow the hour before it in the manifest")
		}
	}
	for _, hour := range r.archive.hours {
		if r.exact.hour(hour) != nil || hour >= r.exact.Until {
			continue
		}
		rows, err := r.load(ctx, wholeHour(hour, r.exact.Cut))
		if err != nil {
			return err
		}
		if rows > 0 {
			report.Differ("hour "+hourText(hour), "it isn't counted, though %d of its events were received before %s, when hours were last counted", rows, r.exact.Cut.Time().Format(time.RFC3339))
		}
	}
	return nil
}

// checkTotals compares the totals of every window, and their candidates.
func (r *Recount) checkTotals(ctx context.Context, report *Report) error {
	for i := range r.exact.Totals {
		t := &r.exact.Totals[i]
		where := "window " + t.Window
		if t.Until != r.exact.Until {
			report.Differ(where, "its totals end at %s, exact_until is %s", hourText(t.Until), hourText(r.exact.Until))
		}
		if want := t.Until.Add(-time.Duration(t.Hours) * time.Hour); t.Hours > 0 && t.From != want {
			report.Differ(where, "its totals begin at %s, not at %s", hourText(t.From), hourText(want))
		}
		condition := fmt.Sprintf("hour < %d", int64(t.Until))
		if t.Hours > 0 {
			condition += fmt.Sprintf(" AND hour >= %d", int64(t.From))
		}
		query := "SELECT board, item, CAST(sum(count) AS UBIGINT) AS count, CAST(sum(duplicates) AS UBIGINT) AS duplicates FROM counted WHERE " + condition + " GROUP BY board, item"
		err := r.compare(ctx, report, where, query, r.exact.path(t.Counts), []string{"board", "item"}, []string{"count", "duplicates"})
		if err != nil {
			return err
		}
		if err := r.checkCandidates(ctx, report, where, t); err != nil {
			return err
		}
		report.Totals++
	}
	return nil
}

// checkCandidates holds a window's candidates against its totals, which checkTotals left in oracle_rows: of each board the
// first by count descending, then item ascending.
func (r *Recount) checkCandidates(ctx context.Context, report *Report, where string, t *countedTotal) error {
	if t.Candidates == nil {
		return nil
	}
	query := fmt.Sprintf(`SELECT board, item, count FROM oracle_rows WHERE count > 0
 QUALIFY row_number() OVER (PARTITION BY board ORDER BY count DESC, item) <= %d`, r.config.Candidates)
	if err := r.run(ctx, "CREATE OR REPLACE TEMP TABLE best AS "+query); err != nil {
		return err
	}
	return r.compare(ctx, report, where+", candidates", "SELECT * FROM best", r.exact.path(t.Candidates), []string{"board", "item"}, []string{"count"})
}
