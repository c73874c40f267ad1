package bench

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"
)

// Result is how a contender did on a stream.
type Result struct {
	Name      string
	Certifies bool
	PerUpdate time.Duration // processor time, the least of all rounds
	Bytes     int           // growth of the heap; 0 when it wasn't weighed
	Grade     Grade
}

// Size is how a comparison is done.
type Size struct {
	Budget int // bytes that each structure may take
	K      int // entries that it reports
	Rounds int // timings, of which the best counts; contenders take turns
}

// slow is how many times the first contender's time another may take before it is timed once only: no later round will
// change what it shows, and some take minutes.
const slow = 5

// Compare runs every contender on the stream. The first one is the reference that decides which are slow.
func Compare(contenders []Contender, s *Stream, size Size, progress io.Writer) ([]Result, error) {
	results := make([]Result, len(contenders))
	for round := range size.Rounds {
		for i, c := range contenders {
			if round > 0 && results[i].PerUpdate > slow*results[0].PerUpdate {
				continue
			}
			counter, spent, err := Measure(c, s, size.Budget, size.K)
			if err != nil {
				return nil, err
			}
			per := spent / time.Duration(s.Len())
			fmt.Fprintf(progress, "%s: round %d: %s: %d ns\n", s.Kind, round+1, c.Name, per)
			r := &results[i]
			if round == 0 {
				*r = Result{Name: c.Name, Certifies: c.Certifies, PerUpdate: per}
				r.Grade = GradeTop(counter.Top(size.K), s, size.K, c.Certifies)
			}
			r.PerUpdate = min(r.PerUpdate, per)
		}
	}
	return results, nil
}

// Weigh fills in the bytes of each result. It feeds the stream once more, in copies, to see what is kept of them.
func Weigh(results []Result, contenders []Contender, s *Stream, size Size) error {
	for i, c := range contenders {
		bytes, err := HeapBytes(c, s, size.Budget, size.K)
		if err != nil {
			return err
		}
		results[i].Bytes = bytes
	}
	return nil
}

// WriteTable writes results as a Markdown table. Ratios are to the row named base.
func WriteTable(w io.Writer, results []Result, base string) error {
	reference := time.Duration(0)
	if i := slices.IndexFunc(results, func(r Result) bool { return r.Name == base }); i >= 0 {
		reference = results[i].PerUpdate
	}
	t := tabwriter.NewWriter(w, 0, 0, 1, ' ', 0)
	fmt.Fprintln(t, "| structure\t| ns\t| ratio\t| MB\t| recall\t| mean error\t| max error\t| under\t| broken\t|")
	fmt.Fprintln(t, "|---\t|---:\t|---:\t|---:\t|---:\t|---:\t|---:\t|---:\t|---:\t|")
	for _, r := range results {
		ratio := "-"
		if reference > 0 {
			ratio = fmt.Sprintf("%.2f", float64(r.PerUpdate)/float64(reference))
		}
		broken := "-"
		if r.Certifies {
			broken = fmt.Sprint(r.Grade.Broken)
		}
		weight := "-"
		if r.Bytes > 0 {
			weight = fmt.Sprintf("%.2f", float64(r.Bytes)/1e6)
		}
		fmt.Fprintf(t, "| %s\t| %d\t| %s\t| %s\t| %.3f\t| %.2f\t| %d\t| %d\t| %s\t|\n", r.Name, r.PerUpdate.Nanoseconds(), ratio,
			weight, r.Grade.Recall, r.Grade.MeanError, r.Grade.MaxError, r.Grade.Under, broken)
	}
	return t.Flush()
}
