package recount

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"crest"
	"crest/internal/exact"
)

// world is an archive of three hours that Crest has counted.
func world(t *testing.T) Config {
	t.Helper()
	var arrivals []arrival
	for i := range 120 {
		at := time.Duration(i) * 90 * time.Second
		arrivals = append(arrivals, arrival{byte(i), fmt.Sprint("i", i%7), at, at + time.Second, crest.Dimensions{"art", "eu"}})
		if i%10 == 9 { // one that comes again, and one that comes late
			arrivals = append(arrivals,
				arrival{byte(i), fmt.Sprint("i", i%7), at, at + time.Second, crest.Dimensions{"art", "eu"}},
				arrival{byte(120 + i), "late", max(0, at-time.Hour), at + time.Second, crest.Dimensions{}})
		}
	}
	cfg := write(t, arrivals, 5*time.Hour)
	cfg.Candidates = 4
	cfg.Exact = filepath.Join(filepath.Dir(cfg.Archive), "exact")
	r, err := exact.NewRecounter(exact.Config{
		Dir: cfg.Exact, Archive: cfg.Archive, Dimensions: cfg.Dimensions, Edge: 4 * time.Minute,
		Types:      []exact.TypeBoards{{Name: "article", Narrow: [][]int{{0}, {0, 1}}}},
		Candidates: 4,
		Windows:    []crest.Window{{Name: "2h", Length: 2 * time.Hour}, {Name: "all"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for {
		result, err := r.Round(t.Context())
		if err != nil || len(result.Problems) > 0 {
			t.Fatalf("%v, %v", err, result.Problems)
		}
		if result.Done {
			return cfg
		}
	}
}

func checkAll(t *testing.T, cfg Config) *Report {
	t.Helper()
	r, err := Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	report := new(Report)
	if err := r.Check(t.Context(), report, nil); err != nil {
		t.Fatal(err)
	}
	return report
}

// rewrite replaces a Parquet file by what a query makes of its rows, which it calls f.
func rewrite(t *testing.T, path, query string) {
	t.Helper()
	e, err := openEngine(t.Context(), &Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := e.close(); err != nil {
			t.Error(err)
		}
	}()
	for _, s := range []string{
		"CREATE TABLE f AS SELECT * FROM read_parquet(" + quote(path) + ")",
		"COPY (" + query + ") TO " + quote(path) + " (FORMAT parquet)",
	} {
		if err := e.run(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
}

func only(t *testing.T, dir, pattern string) string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if ok, _ := filepath.Match(pattern, filepath.Base(path)); ok {
			found = append(found, path)
		}
		return err
	})
	if err != nil || len(found) == 0 {
		t.Fatalf("no %s: %v", pattern, err)
	}
	return found[0]
}

// total returns the file of the first window's totals or candidates.
func total(t *testing.T, cfg Config, candidates bool) string {
	t.Helper()
	c, err := readCounted(cfg.Exact)
	if err != nil {
		t.Fatal(err)
	}
	if candidates {
		return c.path(c.Totals[0].Candidates)
	}
	return c.path(c.Totals[0].Counts)
}

func TestTheOracleAgreesAndFindsWhatIsWrong(t *testing.T) {
	whole := world(t)
	for name, c := range map[string]struct {
		breakIt func(t *testing.T, cfg Config)
		finds   string
	}{
		"nothing": {func(*testing.T, Config) {}, ""},
		"a count": {func(t *testing.T, cfg Config) {
			t.Helper()
			rewrite(t, only(t, cfg.Exact, "counts-*"), "SELECT board, item, count + (item = 'i3' AND board = 'article')::INT AS count, duplicates FROM f")
		}, `["article" "i3"]: count`},
		"duplicates": {func(t *testing.T, cfg Config) {
			t.Helper()
			rewrite(t, only(t, cfg.Exact, "counts-*"), "SELECT board, item, count, 0 AS duplicates FROM f")
		}, "duplicates 0, the oracle has"},
		"a missing row": {func(t *testing.T, cfg Config) {
			t.Helper()
			rewrite(t, only(t, cfg.Exact, "counts-*"), "SELECT * FROM f WHERE item <> 'i1'")
		}, "count nothing, the oracle has"},
		"a row twice": {func(t *testing.T, cfg Config) {
			t.Helper()
			rewrite(t, only(t, cfg.Exact, "counts-*"), "SELECT * FROM f UNION ALL SELECT * FROM f")
		}, "rows, the oracle"},
		"late weight": {func(t *testing.T, cfg Config) {
			t.Helper()
			rewrite(t, only(t, cfg.Exact, "late-*"), "SELECT board, item, received + INTERVAL 10 MINUTE AS received, weight FROM f")
		}, "late: "},
		"an archive that goes on": {func(t *testing.T, cfg Config) {
			t.Helper()
			rewrite(t, only(t, cfg.Archive, "*.parquet"), "SELECT * FROM f UNION ALL SELECT * REPLACE ('00000000-0000-0000-0000-000000000001'::UUID AS id) FROM f LIMIT 21")
		}, "the oracle"},
		"rows out of order": {func(t *testing.T, cfg Config) {
			t.Helper()
			rewrite(t, only(t, cfg.Archive, "*.parquet"), "SELECT * FROM f ORDER BY received DESC")
		}, "rows that are not in order"},
		"a manifest's weight": {func(t *testing.T, cfg Config) {
			t.Helper()
			edit(t, filepath.Join(cfg.Exact, "manifest.json"), `"weight":`, `"weight":1`)
		}, "the manifest says weight 1"},
		"a manifest's cut": {func(t *testing.T, cfg Config) {
			t.Helper()
			path := filepath.Join(cfg.Exact, "manifest.json")
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			cut := fmt.Sprint(`"start":`, int64(nine), `,"cut":`)
			if !bytes.Contains(data, []byte(cut)) {
				t.Fatalf("no %s", cut)
			}
			edit(t, path, cut, fmt.Sprint(`"start":`, int64(nine), `,"cut":`, int64(nine)+1, `,"unused":`))
		}, "count"},
		"a window's totals": {func(t *testing.T, cfg Config) {
			t.Helper()
			rewrite(t, total(t, cfg, false), "SELECT board, item, count + 1 AS count, duplicates FROM f")
		}, "window "},
		"a candidate": {func(t *testing.T, cfg Config) {
			t.Helper()
			rewrite(t, total(t, cfg, true), "SELECT * FROM f WHERE item <> 'i0'")
		}, "candidates: "},
	} {
		t.Run(name, func(t *testing.T) {
			cfg, dir := whole, t.TempDir()
			if err := os.CopyFS(dir, os.DirFS(filepath.Dir(whole.Archive))); err != nil {
				t.Fatal(err)
			}
			cfg.Archive, cfg.Exact = filepath.Join(dir, "archive"), filepath.Join(dir, "exact")
			c.breakIt(t, cfg)
			report := checkAll(t, cfg)
			if c.finds == "" {
				if report.Differences > 0 || report.Hours != 4 || report.Totals != 2 {
					t.Errorf("%+v", report)
				}
				return
			}
			for _, d := range report.First {
				if strings.Contains(d.String(), c.finds) {
					return
				}
			}
			t.Errorf("no %q among %v", c.finds, report.First)
		})
	}
}

func edit(t *testing.T, path, from, to string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, bytes.Replace(data, []byte(from), []byte(to), 1), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestListsAgainstTheOracle(t *testing.T) {
	cfg := world(t)
	r, err := Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	asOf := nine.Add(3 * time.Hour)
	right := func() *crest.List {
		l := &crest.List{Board: "article/category=art", Window: "all", AsOf: asOf, Cutoff: 17}
		if err := r.Sums(t.Context(), 0, asOf, asOf, func(row Row) error {
			if row.Board == l.Board {
				l.Total += row.Count
				if row.Count > l.Cutoff {
					l.Top = append(l.Top, crest.Entry{ID: row.Item, Count: row.Count})
				}
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		l.Label()
		return l
	}
	if n := len(right().Top); n != 1 {
		t.Fatalf("%d items are above the cutoff", n)
	}
	for name, breakIt := range map[string]func(l *crest.List){
		"":                                 func(*crest.List) {},
		"the truth lies in":                func(l *crest.List) { l.Top[0].Count-- },
		"it is 18, with copies 20":         func(l *crest.List) { l.Top[0].Count += 8; l.Top[0].Error = 4 },
		"is missing with 17":               func(l *crest.List) { l.Cutoff = 16 },
		"total 9":                          func(l *crest.List) { l.Total = 9 },
		"hours have been counted until 20": func(l *crest.List) { l.ExactUntil = asOf.Add(2 * time.Hour) },
	} {
		l := right()
		breakIt(l)
		report := new(Report)
		if err := r.CheckLists(t.Context(), report, []*crest.List{l}); err != nil {
			t.Fatal(err)
		}
		if name == "" && report.Differences == 0 && report.Lists == 1 {
			continue
		}
		if name == "" || report.Differences == 0 || !strings.Contains(fmt.Sprint(report.First), name) {
			t.Errorf("%q: %v", name, report.First)
		}
	}
	late := right()
	late.AsOf = nine.Add(9 * time.Hour)
	report := new(Report)
	if err := r.CheckLists(t.Context(), report, []*crest.List{late}); err != nil || len(report.Skipped) != 1 {
		t.Errorf("%v, %+v", err, report)
	}
}
