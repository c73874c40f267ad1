package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"crest"
	"crest/internal/explain"
	"crest/internal/grade"
)

// compareReport is what crest compare found, as JSON has it.
type compareReport struct {
	Lists    []comparedList `json:"lists"`
	Hours    []comparedHour `json:"hours"`
	Problems []string       `json:"problems"` // of the exact counts, which keep hours from being compared
	Seconds  float64        `json:"seconds"`  // that counting took
}

// comparedList is one list beside the truth.
type comparedList struct {
	grade.Grade

	From       explain.Moment `json:"from"`        // zero for all time
	ExactUntil explain.Moment `json:"exact_until"` // as published
	Source     string         `json:"source,omitempty"`
}

// comparedHour is the exact counts of one hour beside the raw events.
type comparedHour struct {
	Hour      explain.Moment `json:"hour"`
	Cut       explain.Moment `json:"cut"`
	Rows      int64          `json:"rows"`   // of items that were compared
	Weight    uint64         `json:"weight"` // that they have
	Different int64          `json:"different"`
	Examples  []string       `json:"examples"`
	Reason    string         `json:"reason,omitempty"` // why it could not be compared
}

func (r *compareReport) printJSON(out io.Writer) error {
	if r.Lists == nil {
		r.Lists = []comparedList{}
	}
	if r.Hours == nil {
		r.Hours = []comparedHour{}
	}
	if r.Problems == nil {
		r.Problems = []string{}
	}
	return printJSON(out, r)
}

// printEnd prints tables for people.
func (r *compareReport) printEnd(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	boards, windows := len("board"), len("window") // all as wide as the longest: then they begin below each other
	for i := range r.Lists {
		boards, windows = max(boards, len(printable(r.Lists[i].Board))), max(windows, len(r.Lists[i].Window))
	}
	name := func(board, window string) string { return fmt.Sprintf("%-*s  %-*s", boards, board, windows, window) }
	if len(r.Lists) > 0 {
		fmt.Fprint(w, name("board", "window")+"\tas of\tentries\texact\tlargest over-count\tits error\trecall@100\t  \n")
	}
	for i := range r.Lists {
		l := &r.Lists[i]
		if l.Missing {
			fmt.Fprintf(w, "%s\t%s\t\t\t\t\t\t  not compared: %s\n", name(printable(l.Board), l.Window), l.AsOf.Format("15:04:05"), l.Reason)
			continue
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%.1f %%\t  %s\n", name(printable(l.Board), l.Window), l.AsOf.Format("15:04:05"), grouped(uint64(l.Entries)),
			grouped(uint64(l.Exact)), grouped(l.LargestOverCount.Over()), grouped(l.LargestOverCount.Error), 100*l.Recall100.Share(), verdictOf(&l.Grade))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for i := range r.Lists {
		printFindings(out, &r.Lists[i])
	}
	if len(r.Hours) > 0 {
		if len(r.Lists) > 0 {
			fmt.Fprintln(out)
		}
		fmt.Fprint(w, "hour\treceived before\titems\tevents\tdifferent\t  \n")
	}
	for _, h := range r.Hours {
		if h.Reason != "" {
			fmt.Fprintf(w, "%s\t%s\t\t\t\t  not compared: %s\n", hourName(crest.Millis(h.Hour)), clock(h.Cut), h.Reason)
			continue
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t\n", hourName(crest.Millis(h.Hour)), clock(h.Cut), grouped(uint64(h.Rows)), grouped(h.Weight), grouped(uint64(h.Different)))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, p := range r.Problems {
		fmt.Fprintf(out, "not compared: %s\n", printable(p))
	}
	for _, h := range r.Hours {
		for _, e := range h.Examples {
			fmt.Fprintf(out, "hour %s: %s\n", hourName(crest.Millis(h.Hour)), printable(e))
		}
	}
	return nil
}

// verdictOf says in a clause what a list's promises are worth.
func verdictOf(g *grade.Grade) string {
	var broken []string
	if slices.Contains(g.Faults, grade.FaultRecall) {
		broken = append(broken, "recall@100 is "+percent(g.Recall100))
	}
	for _, c := range []struct {
		n    uint64
		what string
	}{
		{uint64(g.BelowTruth), "below the truth"},
		{uint64(g.AboveError), "above the error"},
		{g.AboveCutoff, "missing above the cutoff"},
		{uint64(g.WrongRanks), "proven ranks wrong"},
	} {
		if c.n > 0 {
			broken = append(broken, grouped(c.n)+" "+c.what)
		}
	}
	switch {
	case len(g.Faults) > 0:
		return "WRONG: " + strings.Join(broken, ", ")
	case !g.Since.IsZero():
		return "holds, for events from " + g.Since.Format(time.RFC3339) + " on"
	}
	return "holds"
}

func printFindings(out io.Writer, l *comparedList) {
	for _, f := range l.Examples {
		where := fmt.Sprintf("rank %d", f.Rank)
		if f.Rank == 0 {
			where = "off the list"
		}
		fmt.Fprintf(out, "%s %s: %s, %s: %s with error %s, the truth is %s, sent again %s\n", printable(l.Board), l.Window, where, printable(fmt.Sprintf("%q", f.ID)),
			grouped(f.Count), grouped(f.Error), grouped(f.Truth), grouped(f.Repeats))
	}
	if strings.Contains(l.Source, "exact counts") {
		fmt.Fprintf(out, "%s %s: counted from %s\n", printable(l.Board), l.Window, l.Source)
	}
}
