package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"crest"
	"crest/internal/grade"
)

// gradesCmd shows how lists compared with exact counts.
type gradesCmd struct {
	exactFlags `embed:""`

	Server string `placeholder:"URL" help:"Ask a server, in place of reading a data directory."`
	Board  string `placeholder:"NAME" help:"Grades of one board, such as article/region=eu. Default: all."`
	Window string `placeholder:"NAME" help:"Grades of one window, such as 1h. Default: all."`
	Last   int    `default:"24" placeholder:"N" help:"Hours, the newest that have such grades."`
	Check  bool   `help:"Exit with 1 when a list broke a promise, or a file of grades is damaged."`
	JSON   bool   `name:"json" help:"Print the grades as JSON."`
}

// maxLast is the longest that --last can be, in hours: as long as grades are kept.
const maxLast = 400 * 24

// Help is shown by crest grades --help.
func (gradesCmd) Help() string {
	return `After each hour that has been counted exactly, the lists as of its end are compared with the truth over the events received by
then. No count may be below the truth, or above it by more than its error and what was sent again; nothing off a list may have more
than the cutoff; each proven rank must be right. Anything else is a bug, not bad luck. Of the true top 100 at least 99 must be found,
too; where counts are small, events that were sent again late can cost more of them.

Examples:
  crest grades
  crest grades --window 1h --last 168                       a week
  crest grades --server http://trends.example.com --board article/region=eu
  crest grades --check --last 1 > /dev/null                 for a monitor
  crest grades --json | jq '.grades[] | select(.faults != [])'`
}

// gradesReport is what crest grades found, as JSON has it.
type gradesReport struct {
	Failed  int           `json:"failed"`  // grades with a fault
	Missing int           `json:"missing"` // lists that could not be graded
	Damaged []string      `json:"damaged"` // hours whose grades can't be read
	Grades  []grade.Grade `json:"grades"`  // the newest hour first
}

// Run runs the command.
func (c *gradesCmd) Run(ctx context.Context, s *streams) error {
	if c.Last < 1 || c.Last > maxLast {
		return usagef("--last: is %d; it must be from 1 to %d hours", c.Last, maxLast)
	}
	read, where, err := c.source(ctx)
	if err != nil {
		return err
	}
	report, err := c.collect(read)
	if err != nil {
		return whoMayRead(err)
	}
	if len(report.Grades) == 0 && len(report.Damaged) == 0 {
		return c.nothing(read, where)
	}
	if c.JSON {
		err = printJSON(s.out, report)
	} else {
		err = report.print(s.out)
	}
	if c.Check {
		err = errors.Join(err, report.verdict())
	}
	return err
}

// source returns what grades are read with, and where that is in words.
func (c *gradesCmd) source(ctx context.Context) (read func(grade.Filter) (grade.Answer, error), where string, err error) {
	if c.Server != "" {
		if c.Data != "" || c.Config != "" || c.Preset != nil {
			return nil, "", usagef("--server: a server has its own data directory; leave out --data, --config and --preset")
		}
		from := server{c.Server, "--server"}
		return func(f grade.Filter) (grade.Answer, error) { return from.grades(ctx, f) }, "on " + c.Server, nil
	}
	cfg, err := c.load()
	if err != nil {
		return nil, "", err
	}
	return grade.NewReader(gradesDir(cfg)).Read, "in " + gradesDir(cfg), nil
}

// collect reads the newest hours.
func (c *gradesCmd) collect(read func(grade.Filter) (grade.Answer, error)) (*gradesReport, error) {
	all, err := grade.All(read, grade.Filter{Board: c.Board, Window: c.Window, Limit: c.Last})
	if err != nil {
		return nil, err
	}
	report := &gradesReport{Damaged: []string{}, Grades: all.Grades}
	for _, d := range all.Damaged {
		report.Damaged = append(report.Damaged, damagedText(d))
	}
	for i := range all.Grades {
		if all.Grades[i].Failed() {
			report.Failed++
		}
		if all.Grades[i].Missing {
			report.Missing++
		}
	}
	return report, nil
}

func damagedText(d grade.Damaged) string {
	if d.Err == nil {
		return hourName(d.Hour)
	}
	return fmt.Sprintf("%s (%s: %v)", hourName(d.Hour), d.Path, d.Err)
}

// nothing says why there is nothing to show.
func (c *gradesCmd) nothing(read func(grade.Filter) (grade.Answer, error), where string) error {
	if newest, err := read(grade.Filter{Limit: 1}); err == nil && len(newest.Grades) > 0 {
		var have []string
		for _, g := range newest.Grades {
			have = append(have, g.Board+" "+g.Window)
		}
		return fmt.Errorf("there are no such grades %s; the newest hour has those of %s", where, strings.Join(have, ", "))
	}
	return fmt.Errorf("there are no grades %s yet; crest serve makes them when it has counted an hour exactly (archive.enabled), "+
		"about ten minutes after its end. Name another data directory with --data, or a server with --server", where)
}

// grades asks a server.
func (s server) grades(ctx context.Context, f grade.Filter) (grade.Answer, error) {
	const mostHours = 200 // that a server gives at once
	query := url.Values{"limit": {strconv.Itoa(min(f.Limit, mostHours))}}
	if f.Board != "" {
		query.Set("board", f.Board)
	}
	if f.Window != "" {
		query.Set("window", f.Window)
	}
	if f.To != 0 {
		query.Set("to", f.To.Time().Format(time.RFC3339Nano))
	}
	var answer struct {
		Grades  []grade.Grade `json:"grades"`
		Next    *time.Time    `json:"next"`
		Damaged []time.Time   `json:"damaged"`
	}
	if _, err := s.get(ctx, "/v1/grades?"+query.Encode(), "", &answer); err != nil {
		return grade.Answer{}, err
	}
	found := grade.Answer{Grades: answer.Grades}
	if answer.Next != nil {
		found.Next = crest.MillisOf(*answer.Next)
	}
	for _, hour := range answer.Damaged {
		found.Damaged = append(found.Damaged, grade.Damaged{Hour: crest.MillisOf(hour)})
	}
	return found, nil
}

// verdict returns an error when a promise is broken.
func (r *gradesReport) verdict() error {
	switch {
	case r.Failed > 0:
		return fmt.Errorf("%d of %d lists broke a promise", r.Failed, len(r.Grades))
	case len(r.Damaged) > 0:
		return fmt.Errorf("hours whose grades are damaged: %d", len(r.Damaged))
	}
	return nil
}

// print writes the grades for people: what is worst first, then all of them.
func (r *gradesReport) print(out io.Writer) error {
	r.printWorst(out)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprint(w, "\nas of (UTC)\tboard\twindow\trecall@100\trecall@k\texact\tover-count\tranks off\t\n")
	for i := range r.Grades {
		g := &r.Grades[i]
		fmt.Fprintf(w, "%s\t%s\t%s\t", g.AsOf.UTC().Format("2006-01-02 15:04"), printable(g.Board), printable(g.Window))
		if g.Missing {
			fmt.Fprintf(w, "\t\t\t\t\tnot graded: %s\n", printable(g.Reason))
			continue
		}
		fmt.Fprintf(w, "%s\t%s\t%s of %s\t%s of %s\t%.2f, most %d\t%s\n", percent(g.Recall100), percent(g.RecallK),
			grouped(uint64(g.Exact)), grouped(uint64(g.Entries)), grouped(g.LargestOverCount.Over()), grouped(g.LargestOverCount.Error),
			g.MeanDisplacement, g.MaxDisplacement, verdictOf(g))
	}
	return w.Flush()
}

// printWorst says in a few lines whether all is well, and if not, what is not.
func (r *gradesReport) printWorst(out io.Writer) {
	for _, d := range r.Damaged {
		fmt.Fprintf(out, "The grades of an hour can't be read: %s\n", printable(d))
	}
	graded := len(r.Grades) - r.Missing
	var farthest grade.Finding
	least := grade.Recall{}
	for i := range r.Grades {
		g := &r.Grades[i]
		if g.Missing {
			continue
		}
		if g.LargestOverCount.Over() > farthest.Over() {
			farthest = g.LargestOverCount
		}
		if g.Recall100.Share() < least.Share() {
			least = g.Recall100
		}
		if g.Failed() {
			fmt.Fprintf(out, "%s %s as of %s: %s\n", printable(g.Board), printable(g.Window), g.AsOf.UTC().Format("2006-01-02 15:04"), verdictOf(g))
			for _, f := range g.Examples {
				fmt.Fprintf(out, "  %s\n", findingText(f))
			}
		}
	}
	switch {
	case r.Failed > 0:
		fmt.Fprintf(out, "%s of %s graded lists broke a promise: that is a bug, not bad luck.", grouped(uint64(r.Failed)), grouped(uint64(graded)))
	case graded == 0:
		fmt.Fprint(out, "No list could be graded.")
	default:
		fmt.Fprintf(out, "All %s graded lists kept their promises: recall@100 is at least %s, and ", grouped(uint64(graded)), percent(least))
		if farthest.Over() == 0 {
			fmt.Fprint(out, "every count is the truth.")
		} else {
			fmt.Fprintf(out, "no count is more than %s too high (its error says %s).", grouped(farthest.Over()), grouped(farthest.Error))
		}
	}
	if r.Missing > 0 && graded > 0 {
		fmt.Fprintf(out, " %s more could not be graded.", grouped(uint64(r.Missing)))
	}
	fmt.Fprintln(out)
}

// findingText says what one item shows.
func findingText(f grade.Finding) string {
	where := "rank " + strconv.Itoa(f.Rank) + ", "
	says := "count " + grouped(f.Count) + ", error " + grouped(f.Error)
	if f.Rank == 0 {
		where, says = "off the list, ", "cutoff "+grouped(f.Count)
	}
	text := fmt.Sprintf("%s%q: %s, truth %s", where, f.ID, says, grouped(f.Truth))
	if f.Repeats > 0 {
		text += ", sent again " + grouped(f.Repeats)
	}
	return printable(text)
}

// percent never rounds up to 100.
func percent(r grade.Recall) string {
	if r.Found == r.Of {
		return "100 %"
	}
	return fmt.Sprintf("%.1f %%", float64(r.Found*1000/r.Of)/10)
}
