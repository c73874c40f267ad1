package main

import (
	"time"

	"crest"
	"crest/internal/archive"
	"crest/internal/exact"
	"crest/internal/grade"
	"crest/internal/list"
	"crest/internal/recount"
)

// seconds returns a moment as Prometheus has it.
func seconds(t crest.Millis) float64 { return float64(t) / 1000 }

func (n *node) observeArchive() archive.Observer {
	m := n.metrics
	return archive.Observer{
		Committed: func(c archive.Commit) {
			m.add("crest_archive_rows_total", float64(c.Rows))
			m.add("crest_archive_bytes_total", float64(c.Bytes))
			m.add("crest_archive_files_total", float64(c.Files))
			m.add("crest_archive_commit_seconds_total", c.Took.Seconds())
		},
		Skipped: func(err error) {
			m.add("crest_archive_skipped_total", 1)
			n.logger.Error("something could not be archived, so it will be in no exact count", "err", err)
		},
		Failed: func(err error, retry time.Duration) {
			m.add("crest_archive_failures_total", 1)
			n.logger.Error("the archive could not be written; it is tried again", "in", retry, "err", err)
		},
		Repaired: func(path, reason string) {
			n.logger.Warn("the archive has been repaired", "path", path, "what", reason)
		},
		Deleted: func(hours int, bytes int64) {
			n.logger.Info("old hours of the archive were deleted; their counts stay", "hours", hours, "bytes", bytes)
		},
	}
}

func (n *node) observeRecount() recount.Observer {
	m := n.metrics
	return recount.Observer{
		Exact: exact.Observer{
			Waiting: func(holder string) {
				n.logger.Info("another recount is at work; waiting for it", "who", holder)
			},
			Problem: func(p exact.Problem) {
				n.logger.Error("something keeps an hour from being exact", "problem", p.Error(), "file", p.Path)
			},
		},
		Round:  n.noteRound,
		Loaded: n.noteExact,
		Failed: func(err error) {
			m.add("crest_recount_failures_total", 1)
			n.logger.Error("the recount failed; it is tried again", "err", err)
		},
	}
}

func (n *node) noteRound(r exact.Result, took time.Duration) {
	m := n.metrics
	m.add("crest_recount_seconds_total", took.Seconds())
	for _, h := range r.Counted {
		m.of(figure{name: "crest_recount_hours_total", label: "reason", value: string(h.Reason)}).add(1)
		m.add("crest_recount_rows_total", float64(h.Rows))
		m.add("crest_recount_duplicates_total", float64(h.Duplicates))
		n.logger.Info("an hour has been counted exactly", "hour", h.Hour.Time().Format(time.RFC3339), "why", h.Reason,
			"events", h.Rows, "duplicates", h.Duplicates, "items", h.Items, "late", h.Late, "took", took.Round(time.Millisecond))
	}
	for _, path := range r.Repaired {
		n.logger.Warn("damaged counts have been made again", "file", path)
	}
}

func (n *node) noteExact(reach list.Reach, problems []exact.Problem) {
	n.metrics.set("crest_recount_problems", float64(len(problems)))
	n.metrics.set("crest_recount_exact_until_seconds", seconds(reach.Until))
	for _, p := range problems {
		n.logger.Error("exact counts are damaged", "problem", p.Error(), "file", p.Path, "exact_until", reach.Until.Time().Format(time.RFC3339))
	}
}

func (n *node) observeGrades() grade.Observer {
	m := n.metrics
	worst := map[string]grade.Grade{} // of the newest hour, by window
	return grade.Observer{
		Graded: func(g grade.Grade) {
			of := func(name string) *value { return m.of(figure{name: name, label: "window", value: g.Window}) }
			if g.Missing {
				of("crest_grade_missing_total").add(1)
				n.logger.Debug("a list could not be graded", "board", g.Board, "window", g.Window, "as_of", g.AsOf, "why", g.Reason)
				return
			}
			of("crest_grade_lists_total").add(1)
			if w, ok := worst[g.Window]; !ok || g.AsOf.After(w.AsOf) || g.AsOf.Equal(w.AsOf) && g.Recall100.Share() < w.Recall100.Share() {
				worst[g.Window] = g
				of("crest_grade_recall_100").set(g.Recall100.Share())
			}
			if g.Failed() {
				of("crest_grade_failed_total").add(1)
				n.logger.Error("a list broke its promise: that is a bug, not bad luck", "board", g.Board, "window", g.Window, "as_of", g.AsOf,
					"faults", g.Faults, "recall_100", g.Recall100.Share(), "below_truth", g.BelowTruth, "above_error", g.AboveError,
					"largest_overcount", g.LargestOverCount.Over(), "examples", g.Examples)
			}
		},
		Corrupt: func(name string, err error) {
			n.logger.Error("a sample or grades are damaged and are left out", "file", name, "err", err)
		},
	}
}

func (n *node) observeLostSample(asOf crest.Millis, lists int, err error) {
	n.metrics.add("crest_grade_lost_samples_total", float64(lists))
	n.logger.Error("lists could not be kept to be graded", "as_of", asOf.Time().Format(time.RFC3339), "lists", lists, "err", err)
}
