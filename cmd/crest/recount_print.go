package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"time"

	"crest"
	"crest/internal/archive"
	"crest/internal/exact"
	"crest/internal/explain"
	"crest/internal/grade"
)

// recountReport is what a recount did, as JSON has it.
type recountReport struct {
	First      explain.Moment   `json:"first"`       // start of the first hour counted
	ExactUntil explain.Moment   `json:"exact_until"` // end of the last one of the unbroken run
	Hours      []recountRow     `json:"hours"`       // that were counted now
	Repaired   []string         `json:"repaired"`
	Problems   []recountProblem `json:"problems"`
	Next       explain.Moment   `json:"next"`   // hour that is counted next
	Closes     explain.Moment   `json:"closes"` // received time at which it closes
	Graded     int              `json:"graded"` // lists that were compared with the counts
	Failed     int              `json:"failed"` // of them, that broke a promise
	Notes      []string         `json:"notes"`

	Open   string `json:"-"` // end of the closed hours, when more were asked for
	known  bool   // what has been counted: a round has ended
	header bool   // of the table, was printed
}

// recountRow is one hour's count.
type recountRow struct {
	Hour       explain.Moment `json:"hour"`
	Cut        explain.Moment `json:"cut"`
	Reason     exact.Reason   `json:"reason"`
	Rows       int64          `json:"rows"`
	Weight     uint64         `json:"weight"`
	Duplicates uint64         `json:"duplicates"`
	Late       uint64         `json:"late"`
	Items      int64          `json:"items"`
	Boards     int            `json:"boards"`
	Bytes      int64          `json:"bytes"`
	Seconds    float64        `json:"seconds"`
}

type recountProblem struct {
	Hour  explain.Moment `json:"hour"`
	Path  string         `json:"path,omitempty"`
	Error string         `json:"error"`
}

func rowOf(h exact.HourResult, took time.Duration) recountRow {
	return recountRow{
		Hour: explain.Moment(h.Hour), Cut: explain.Moment(h.Cut), Reason: h.Reason, Rows: h.Rows, Weight: h.Weight, Duplicates: h.Duplicates,
		Late: h.Late, Items: h.Items, Boards: h.Boards, Bytes: h.Bytes, Seconds: took.Seconds(),
	}
}

// add takes in how a round ended. Its hours are in the report already.
func (r *recountReport) add(result exact.Result) {
	r.known = true
	r.First, r.ExactUntil = explain.Moment(result.First), explain.Moment(result.Until)
	r.Next, r.Closes = explain.Moment(result.Next), explain.Moment(result.Closes)
	for _, path := range result.Repaired {
		r.repaired(path)
	}
	r.Problems = slices.DeleteFunc(r.Problems, func(p recountProblem) bool {
		return slices.ContainsFunc(result.Counted, func(h exact.HourResult) bool { return explain.Moment(h.Hour) == p.Hour })
	})
	for _, p := range result.Problems {
		if mended(p, result) {
			r.repaired(p.Path)
			continue
		}
		if problem := (recountProblem{explain.Moment(p.Hour), p.Path, p.Error()}); !slices.Contains(r.Problems, problem) {
			r.Problems = append(r.Problems, problem)
		}
	}
}

func (r *recountReport) repaired(path string) {
	if !slices.Contains(r.Repaired, path) {
		r.Repaired = append(r.Repaired, path)
	}
}

// mended reports whether a round has repaired the damage that it tells of. One that was not the last has written a manifest.
func mended(p exact.Problem, result exact.Result) bool {
	switch {
	case p.Path == "":
		return false
	case p.Hour == 0:
		return slices.Contains(result.Repaired, p.Path) || filepath.Base(p.Path) == "manifest.json" && !result.Done
	}
	return slices.ContainsFunc(result.Counted, func(h exact.HourResult) bool { return h.Hour == p.Hour && h.Reason == exact.ReasonDamaged })
}

// graded takes in how a list compared with the counts.
func (r *recountReport) graded(g grade.Grade) {
	if g.Missing {
		return
	}
	r.Graded++
	if g.Failed() {
		r.Failed++
	}
}

func (r *recountReport) note(text string) { r.Notes = append(r.Notes, text) }

// countedAny reports whether an hour of the span was counted now.
func (r *recountReport) countedAny(w span) bool {
	return slices.ContainsFunc(r.Hours, func(h recountRow) bool { return w.has(crest.Millis(h.Hour)) })
}

// countedAll reports whether every hour of the span that has events was counted now.
func (r *recountReport) countedAll(w span, hours []crest.Millis) bool {
	return !slices.ContainsFunc(hours, func(hour crest.Millis) bool {
		return w.has(hour) && !slices.ContainsFunc(r.Hours, func(h recountRow) bool { return crest.Millis(h.Hour) == hour })
	})
}

func (r *recountReport) printJSON(out io.Writer) error {
	for _, list := range []*[]string{&r.Repaired, &r.Notes} {
		if *list == nil {
			*list = []string{}
		}
	}
	if r.Hours == nil {
		r.Hours = []recountRow{}
	}
	if r.Problems == nil {
		r.Problems = []recountProblem{}
	}
	if r.Open != "" {
		r.note("hours from " + r.Open + " on are still open")
	}
	return printJSON(out, r)
}

// printRow prints an hour as soon as it has been counted.
func (r *recountReport) printRow(out io.Writer, h recountRow) {
	const format = "%-13s  %15s  %12s  %12s  %12s  %7s  %s\n"
	if !r.header {
		fmt.Fprintf(out, format, "hour", "counted", "duplicates", "late", "items", "seconds", "why")
		r.header = true
	}
	fmt.Fprintf(out, format, hourName(crest.Millis(h.Hour)), grouped(h.Weight), grouped(h.Duplicates), grouped(h.Late), grouped(uint64(h.Items)),
		fmt.Sprintf("%.1f", h.Seconds), h.Reason)
}

// printEnd prints what there is to say when all hours have been printed.
func (r *recountReport) printEnd(out io.Writer, view *archive.View) error {
	for _, path := range r.Repaired {
		fmt.Fprintf(out, "repaired: %s\n", printable(path))
	}
	for _, p := range r.Problems {
		fmt.Fprintf(out, "could not be done: %s\n", printable(p.Error))
	}
	if r.Graded > 0 {
		fmt.Fprintf(out, "graded %d lists, %d of them failed; crest grades shows how they compared\n", r.Graded, r.Failed)
	}
	for _, n := range r.Notes {
		fmt.Fprintln(out, n)
	}
	if r.Open != "" {
		fmt.Fprintf(out, "hours from %s on are still open\n", r.Open)
	}
	var err error
	switch {
	case !r.known:
	case r.ExactUntil == 0:
		_, err = fmt.Fprint(out, "nothing has been counted exactly yet\n")
	default:
		_, err = fmt.Fprintf(out, "counts are exact from %s until %s\n", clock(r.First), clock(r.ExactUntil))
	}
	if r.Next != 0 && crest.Millis(r.Closes) > view.State.Watermark {
		_, e := fmt.Fprintf(out, "next is hour %s, which closes when everything received before %s is in the archive; it has everything before %s\n",
			hourName(crest.Millis(r.Next)), clock(r.Closes), clockOf(view.State.Watermark))
		err = errors.Join(err, e)
	}
	return err
}

func clockOf(m crest.Millis) string { return clock(explain.Moment(m)) }
