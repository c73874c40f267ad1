package sim

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"time"

	"crest"
	"crest/internal/config"
	"crest/internal/grade"
	"crest/oracle/recount"
)

// Proof is what came of comparing a run's data with the oracle and with its own grades.
type Proof struct {
	recount.Report

	Sent   int // items of all boards, since the beginning, that were compared with what was sent
	Grades Grades
}

// Grades sums up the grades of a run.
type Grades struct {
	Hours   int            // graded
	Lists   int            // graded
	Missing int            // lists of hours since the beginning that there is no grade for
	Reasons map[string]int // for these
	Worst   float64        // recall@100, 0 to 1
	Short   []string       // the lists whose recall@100 is not 1
	Largest uint64         // over-count
}

// Verify has the oracle count everything that a run has archived, and compares every item of every hour, the totals, the last
// lists, and the weight of every item with what was sent. Then it goes through the grades.
func Verify(ctx context.Context, node config.Config, result *Result, progress func(hour crest.Millis)) (*Proof, error) {
	node.Data = result.Data
	r, err := recount.Open(ctx, recount.ConfigOf(&node))
	if err != nil {
		return nil, err
	}
	defer r.Close()
	p := new(Proof)
	if err := r.Check(ctx, &p.Report, progress); err != nil {
		return nil, err
	}
	if err := r.CheckLists(ctx, &p.Report, result.Last); err != nil {
		return nil, err
	}
	if err := p.compareSent(ctx, r, result.Truth.All()); err != nil {
		return nil, err
	}
	return p, p.readGrades(filepath.Join(node.Data, "grades"), result)
}

// compareSent compares what the oracle counts in the archive with what was sent.
func (p *Proof) compareSent(ctx context.Context, r *recount.Recount, sent map[string]map[string]uint64) error {
	err := r.Sums(ctx, 0, math.MaxInt64, math.MaxInt64, func(row recount.Row) error {
		if n := sent[row.Board][row.Item]; n != row.Count {
			p.Differ("all that was sent", "%s %s: the oracle counts %d, sent were %d", row.Board, row.Item, row.Count, n)
		}
		delete(sent[row.Board], row.Item)
		p.Sent++
		return nil
	})
	for board, items := range sent {
		for item, n := range items {
			p.Differ("all that was sent", "%s %s: the oracle has nothing, sent were %d", board, item, n)
		}
	}
	return err
}

func (p *Proof) readGrades(dir string, result *Result) error {
	answer, err := grade.Read(dir, grade.Filter{})
	if err != nil {
		return err
	}
	for _, d := range answer.Damaged {
		p.Differ("grades", "%+v", d)
	}
	g := &p.Grades
	g.Worst, g.Reasons = 1, map[string]int{}
	hours := map[time.Time]bool{}
	for i := range answer.Grades {
		one := &answer.Grades[i]
		hours[one.AsOf] = true
		switch {
		case crest.MillisOf(one.AsOf) <= result.Start:
			continue // nothing ran yet
		case one.Missing:
			g.Missing++
			g.Reasons[one.Window+": "+one.Reason]++
			continue
		}
		g.Lists++
		if recall := one.Recall100; recall.Found < recall.Of {
			g.Worst = min(g.Worst, recall.Share())
			g.Short = append(g.Short, fmt.Sprintf("%s %s as of %s: %d of %d", one.Board, one.Window, one.AsOf.Format(time.RFC3339), recall.Found, recall.Of))
		}
		g.Largest = max(g.Largest, one.LargestOverCount.Over())
		// With few events, one that counts twice moves an item past several others; whoever simulates many looks at Worst.
		if faults := slices.DeleteFunc(one.Faults, func(f grade.Fault) bool { return f == grade.FaultRecall }); len(faults) > 0 {
			p.Differ("grades", "%s %s as of %s: %v", one.Board, one.Window, one.AsOf.Format(time.RFC3339), faults)
		}
	}
	g.Hours = len(hours)
	for hour := result.Start.Floor(time.Hour); hour < result.Until; hour = hour.Add(time.Hour) {
		if !hours[hour.Add(time.Hour).Time()] {
			p.Differ("grades", "hour %s has none", hour.Time().Format(time.RFC3339))
		}
	}
	return nil
}

// String sums up the grades in a line.
func (g *Grades) String() string {
	return fmt.Sprintf("%d hours, %d lists, %d missing %v, %d with a recall@100 below 1, the worst %.4f, largest over-count %d",
		g.Hours, g.Lists, g.Missing, g.Reasons, len(g.Short), g.Worst, g.Largest)
}
