package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode"

	"crest"
	"crest/internal/rank"
)

// listPrinter prints lists in one format, one after the other.
type listPrinter struct {
	list   func(rank.List) error
	finish func(rank.Stats) error
}

func newListPrinter(format string, out io.Writer, many bool) (*listPrinter, error) {
	nothing := func(rank.Stats) error { return nil }
	switch format {
	case "table":
		return &listPrinter{func(l rank.List) error { return printTable(out, l, many) }, nothing}, nil
	case "csv":
		w := csv.NewWriter(out)
		header := []string{"rank", "count", "error", "item"}
		if many {
			header = append([]string{"as_of"}, header...)
		}
		if err := w.Write(header); err != nil {
			return nil, err
		}
		return &listPrinter{
			list:   func(l rank.List) error { return printCSV(w, l, many) },
			finish: func(rank.Stats) error { w.Flush(); return w.Error() },
		}, nil
	case "json":
		e := json.NewEncoder(out)
		e.SetEscapeHTML(false)
		if many {
			return &listPrinter{func(l rank.List) error { return e.Encode(listDocument(l)) }, nothing}, nil
		}
		var only rank.List
		return &listPrinter{
			list: func(l rank.List) error { only = l; return nil },
			finish: func(stats rank.Stats) error {
				document := listDocument(only)
				document.Lines, document.Refused = &stats.Lines, &stats.Refused
				return printJSON(out, document)
			},
		}, nil
	}
	return nil, usagef("unknown format %q", format)
}

// printJSON prints a document with indents, as people and jq read it.
func printJSON(out io.Writer, document any) error {
	e := json.NewEncoder(out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(document)
}

func printTable(out io.Writer, l rank.List, many bool) error {
	if many {
		if _, err := fmt.Fprintf(out, "as of %s, total %s\n", l.AsOf.Time().Format(time.RFC3339), grouped(l.Total)); err != nil {
			return err
		}
	}
	rankWidth, countWidth, errorWidth := len("rank"), len("count"), len("error")
	for _, e := range l.Top {
		rankWidth = max(rankWidth, len(strconv.Itoa(e.Rank)))
		countWidth = max(countWidth, len(strconv.FormatUint(e.Count, 10)))
		errorWidth = max(errorWidth, len(strconv.FormatUint(e.Error, 10)))
	}
	if _, err := fmt.Fprintf(out, "%*s  %*s  %*s  item\n", rankWidth, "rank", countWidth, "count", errorWidth, "error"); err != nil {
		return err
	}
	for _, e := range l.Top {
		if _, err := fmt.Fprintf(out, "%*d  %*d  %*d  %s\n", rankWidth, e.Rank, countWidth, e.Count, errorWidth, e.Error, printable(e.ID)); err != nil {
			return err
		}
	}
	if many {
		_, err := fmt.Fprintln(out)
		return err
	}
	return nil
}

func printCSV(w *csv.Writer, l rank.List, many bool) error {
	for _, e := range l.Top {
		record := []string{strconv.Itoa(e.Rank), strconv.FormatUint(e.Count, 10), strconv.FormatUint(e.Error, 10), e.ID}
		if many {
			record = append([]string{l.AsOf.Time().Format(time.RFC3339Nano)}, record...)
		}
		if err := w.Write(record); err != nil {
			return err
		}
	}
	return nil
}

// document is a list as rank prints it in JSON. The names are those of the service's lists.
type document struct {
	K            int             `json:"k"`
	Lines        *uint64         `json:"lines,omitempty"`
	Refused      *uint64         `json:"refused,omitempty"`
	From         *time.Time      `json:"from,omitempty"`
	AsOf         *time.Time      `json:"as_of,omitempty"`
	Exact        bool            `json:"exact"`
	MaxOverCount uint64          `json:"max_overcount"`
	Proven       int             `json:"proven"`
	Cutoff       uint64          `json:"cutoff"`
	Total        uint64          `json:"total"`
	Other        uint64          `json:"other"`
	Top          []documentEntry `json:"top"`
}

type documentEntry struct {
	Rank  int    `json:"rank"`
	Item  string `json:"item"`
	Count uint64 `json:"count"`
	Error uint64 `json:"error"`
}

func listDocument(l rank.List) document {
	d := document{
		K: l.K, From: moment(l.From), AsOf: moment(l.AsOf), Exact: l.Exact, MaxOverCount: l.MaxOverCount, Proven: l.Proven,
		Cutoff: l.Cutoff, Total: l.Total, Other: l.Other, Top: make([]documentEntry, len(l.Top)),
	}
	for i, e := range l.Top {
		d.Top[i] = documentEntry{e.Rank, e.ID, e.Count, e.Error}
	}
	return d
}

func moment(m crest.Millis) *time.Time {
	if m == 0 {
		return nil
	}
	t := m.Time()
	return &t
}

// quality says in a clause how far a list's counts and ranks can be trusted.
func quality(l *crest.List) string {
	if len(l.Top) == 0 {
		return "nothing was counted"
	}
	if l.MaxOverCount == 0 && l.Proven == len(l.Top) {
		return "every count is exact"
	}
	counts := "counts are exact"
	if l.MaxOverCount > 0 {
		counts = "counts are at most " + grouped(l.MaxOverCount) + " too high"
	}
	switch l.Proven {
	case 0:
		return counts + "; no rank is certain"
	case len(l.Top):
		return counts + "; every rank is certain"
	}
	return fmt.Sprintf("%s; ranks 1 to %d of %d are certain", counts, l.Proven, len(l.Top))
}

// others says in a clause how many an item can have that is not on the list.
func others(l *crest.List) string {
	if l.Cutoff == 0 {
		return "there is nothing else"
	}
	return "nothing else has more than " + grouped(l.Cutoff)
}

// printable replaces what could move a terminal's cursor or turn its text around.
func printable(s string) string {
	odd := func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) }
	if !strings.ContainsFunc(s, odd) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if odd(r) {
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// grouped writes a number with a comma between thousands.
func grouped(n uint64) string {
	digits := strconv.FormatUint(n, 10)
	var b strings.Builder
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(d)
	}
	return b.String()
}
