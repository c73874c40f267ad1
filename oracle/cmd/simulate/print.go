package main

import (
	"fmt"
	"strings"
	"time"

	"crest/oracle/sim"
)

// spans reads "9h+3h,30h+30h": from 9 h after the start for 3 h, and so on.
func spans(start time.Time, text string) ([]sim.Span, error) {
	var all []sim.Span
	for part := range strings.SplitSeq(text, ",") {
		if part == "" {
			continue
		}
		after, length, ok := strings.Cut(part, "+")
		if !ok {
			return nil, fmt.Errorf("%q is not a span; write 9h+3h", part)
		}
		from, err := time.ParseDuration(after)
		if err != nil {
			return nil, err
		}
		long, err := time.ParseDuration(length)
		if err != nil {
			return nil, err
		}
		all = append(all, sim.Span{From: start.Add(from), To: start.Add(from + long)})
	}
	return all, nil
}

func printResult(r *sim.Result, took time.Duration) {
	fmt.Printf("sent      %d events: %d copies, of which %d after the dedup horizon and %d across an hour's boundary; %d came more than 10 s late\n", r.Events, r.Copies, r.Repeats, r.Crossed, r.Late)
	fmt.Printf("lists     %d with %d entries, all checked; %d had an exact part, their largest max_overcount was %d\n", r.Lists, r.Entries, r.Stitched, r.LargestSeam)
	fmt.Printf("recall    lists that lack an item of the true top 100, copies after the dedup horizon taken for events: %v, at most %d items each\n", r.Lacking, r.MostLacking)
	fmt.Printf("recount   %d hours, and %d of them again; exact until %s\n", r.Counts-r.Again, r.Again, r.Until.Time().Format(time.RFC3339))
	fmt.Printf("restarts  %d stops, %d crashes\n", r.Stops, r.Crashes)
	fmt.Printf("broken    %d rules, in %s\n", r.Violations, took.Round(time.Second))
	for _, v := range r.First {
		fmt.Println("  ", v)
	}
}

func printProof(p *sim.Proof, took time.Duration) {
	fmt.Printf("oracle    %d hours (%d without events), %d events, totals of %d windows, %d lists, %d items beside what was sent\n",
		p.Hours, p.Empty, p.Rows, p.Totals, p.Lists, p.Sent)
	fmt.Printf("grades    %s\n", &p.Grades)
	for _, s := range p.Grades.Short[:min(len(p.Grades.Short), 20)] {
		fmt.Println("  ", s)
	}
	fmt.Printf("compared  %d items and entries, %d differences, in %s\n", p.Compared, p.Differences, took.Round(time.Second))
	for _, d := range p.First {
		fmt.Println("  ", d)
	}
	for _, s := range p.Skipped {
		fmt.Println("   not compared:", s)
	}
}
