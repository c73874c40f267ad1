package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"crest/internal/config"
	"crest/internal/exact"
)

// planCmd works out sizes.
type planCmd struct {
	Preset  *string      `enum:"views,shares" placeholder:"NAME" help:"views or shares. Default: the file's, or views."`
	Config  string       `type:"existingfile" placeholder:"FILE" help:"YAML file that changes the preset."`
	Data    string       `placeholder:"DIR" help:"Directory whose free disk is looked at. Default: the configuration's."`
	Rate    float64      `default:"1000000" help:"Events per second at the peak."`
	Average float64      `placeholder:"N" help:"Events per second on average. Default: 35 % of the peak."`
	Event   config.Bytes `default:"46" help:"Bytes of one event in the log; 46 were measured with ids of 17 characters."`
	Items   float64      `placeholder:"N" help:"Different items in an hour, for the exact counts. Default: 12 % of its events, 5 million at most."`
	JSON    bool         `name:"json" help:"Print the plan as JSON."`
}

// Help is shown by crest plan --help.
func (planCmd) Help() string {
	return `Memory figures are limits that the configuration sets: counting begins small and grows as items come. The plan is made by the same
code that serve runs.

Examples:
  crest plan                                            the views preset at a million events a second
  crest plan --preset shares --rate 100000 --average 12000
  crest plan --config crest.yaml --rate 5000 --json | jq .memory_bytes`
}

// usualAverage is the average rate for a peak of 1, where it is not given: 350 k/s for 1 M/s.
const usualAverage = 0.35

// Run runs the command.
func (c planCmd) Run(s *streams) error {
	cfg, err := config.Load(c.Config, valueOf(c.Preset))
	if err != nil {
		return usageError{err}
	}
	if c.Data != "" {
		cfg.Data = c.Data
	}
	average := c.Average
	if average == 0 {
		average = c.Rate * usualAverage
	}
	plan, err := cfg.Plan(config.Traffic{Peak: c.Rate, Average: average, LogEvent: float64(c.Event), Items: c.Items})
	if err != nil {
		return asUsage(namingFlags(err, "rate", "average", "items"))
	}
	here := thisMachine(cfg.Data)
	fit := fits(plan, here)
	passes := passesOf(&cfg, plan.Exact)
	if c.JSON {
		e := json.NewEncoder(s.out)
		e.SetIndent("", "  ")
		return e.Encode(struct {
			config.Plan
			Passes  int       `json:"recount_passes"` // over the ids of an hour; 0 when the memory is too little for it
			Machine machine   `json:"machine"`
			Fits    []fitting `json:"fits"`
		}{plan, passes, here, fit})
	}
	return printPlan(s.out, plan, passes, here, fit)
}

// passesOf returns how often a recount looks through the ids of an average hour.
func passesOf(cfg *config.Config, x *config.ExactPlan) int {
	if x == nil {
		return 0
	}
	narrow := slices.ContainsFunc(cfg.Types, func(t config.Type) bool { return len(t.Boards) > 0 })
	return exact.Passes(int64(x.HourEvents), int64(x.Memory), 0, narrow)
}

// fitting is one thing that a plan needs, and whether this machine has it.
type fitting struct {
	What string       `json:"what"`
	Need config.Bytes `json:"need_bytes"`
	Have config.Bytes `json:"have_bytes"` // 0 when it can't be told
	Fits bool         `json:"fits"`
}

// fits compares limits with what there is. A fifth of the memory is left to everything but counting.
func fits(p config.Plan, m machine) []fitting {
	memory := fitting{What: "memory for counting", Need: p.Memory, Have: m.Memory / 5 * 4}
	disk := fitting{What: "disk for the log", Need: p.LogKept, Have: m.DiskFree}
	all := []fitting{memory, disk}
	if x := p.Exact; x != nil {
		all[0].What, all[0].Need = "memory for counting and the recount", p.Memory+x.Memory
		all = append(all, fitting{What: "disk for log, archive and a year of exact counts", Need: p.LogKept + x.ArchiveKept + x.CountsYear, Have: m.DiskFree})
	}
	for i := range all {
		all[i].Fits = all[i].Have >= all[i].Need
	}
	return all
}

func printPlan(out io.Writer, p config.Plan, passes int, m machine, fit []fitting) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "preset %s: %s events/s at the peak, %s/s on average, %s a day\n", p.Preset, short(p.Peak), short(p.Average), short(p.PerDay))
	fmt.Fprintf(w, "%d shards, %d partitions of %s events/s at the peak\n\n", p.Shards, p.Partitions, short(p.PerPart))
	printMemory(w, p)
	printErrors(w, p)
	printDisk(w, p)
	printRecount(w, p.Exact, passes)
	fmt.Fprintf(w, "this machine: %d cores\tneeds\thas\t\n", m.Cores)
	for _, f := range fit {
		verdict, have := "fits", f.Have.String()
		switch {
		case f.Have == 0:
			verdict, have = "can't be told", "?"
		case !f.Fits:
			verdict = "DOES NOT FIT"
		}
		fmt.Fprintf(w, "  %s\t%s\t%s\t%s\n", f.What, f.Need, have, verdict)
	}
	return w.Flush()
}

func printMemory(w io.Writer, p config.Plan) {
	fmt.Fprint(w, "memory, at most\tbuckets\tof\ton a shard\ttogether\n")
	for _, b := range p.Boards {
		for _, r := range b.Rings {
			width := r.Width.String()
			if r.Width == 0 {
				width = "all time"
			}
			fmt.Fprintf(w, "  %s, %s (%s)\t%d\t%s\t%s\t%s\n", b.Name, trimZeros(width), usesOf(r.Windows, r.Open), r.Buckets, r.BucketBytes,
				r.ShardBytes, r.Bytes)
		}
		fmt.Fprintf(w, "  %s, totals of windows\t\t\t\t%s\n", b.Name, b.Totals)
		if b.Spellings > 0 {
			fmt.Fprintf(w, "  %s, spellings\t\t\t\t%s\n", b.Name, b.Spellings)
		}
		if b.Boards > 1 {
			fmt.Fprintf(w, "  %s, times %d boards\t\t\t\t%s\n", b.Name, b.Boards, b.Bytes)
		}
	}
	fmt.Fprintf(w, "  remembered event ids\t\t\t\t%s\n", p.Dedup.Memory)
	fmt.Fprintf(w, "  together\t\t\t\t%s\n", p.Memory)
	if p.Dedup.Horizon > 0 {
		fmt.Fprintf(w, "\nduplicates are recognised for %s at the peak, %s on average; promised are %s\n", secondsText(p.Dedup.AtPeak), secondsText(p.Dedup.AtAverage),
			secondsText(p.Dedup.Horizon))
		if p.Dedup.AtPeak < p.Dedup.Horizon {
			fmt.Fprint(w, "  at the peak lists will say \"dedup\":\"partial\"; raise counting.dedup_memory to keep the promise\n")
		}
	}
}

func printErrors(w io.Writer, p config.Plan) {
	fmt.Fprint(w, "\nwindow\tevents\ta Count-Min sketch of the same bytes over-counts by at most (99 % of items)\n")
	for _, win := range p.Windows {
		per := ""
		if win.Name == "all" {
			per = " a day"
		}
		fmt.Fprintf(w, "  %s\t%s%s\t%s%s (%.1e of the events)\n", win.Name, short(win.Events), per, short(win.Classic), per, win.Epsilon)
	}
}

func printDisk(w io.Writer, p config.Plan) {
	fmt.Fprint(w, "\ndisk\ta day\tkept\n")
	fmt.Fprintf(w, "  raw events of 100 B\t%s\t\n", p.RawPerDay)
	fmt.Fprintf(w, "  log\t%s\t%s, the last %s\n", p.LogPerDay, p.LogKept, hours(p.LogReaches))
	if x := p.Exact; x != nil {
		fmt.Fprintf(w, "  archive, 32 B an event\t%s\t%s, %.0f days\n", x.ArchiveDay, x.ArchiveKept, x.Retain.Hours()/24)
		fmt.Fprintf(w, "  exact counts, 12 B for each of %s items an hour and board\t%s\t%s a year\n", short(x.Items), x.CountsDay, x.CountsYear)
	}
	if p.LogFull {
		fmt.Fprint(w, "  log.retain_bytes is reached before log.retain_age; raise it for the log to reach further back\n")
	}
	fmt.Fprintln(w)
}

func printRecount(w io.Writer, x *config.ExactPlan, passes int) {
	if x == nil {
		return
	}
	fmt.Fprintf(w, "recount of an hour, %s events in %s of memory: ", short(x.HourEvents), x.Memory)
	switch passes {
	case 0:
		fmt.Fprint(w, "that is TOO LITTLE; raise recount.memory\n\n")
	case 1:
		fmt.Fprint(w, "ids are looked through once\n\n")
	default:
		fmt.Fprintf(w, "ids are looked through %d times; with more recount.memory less often\n\n", passes)
	}
}

// usesOf names what a ring of buckets is for.
func usesOf(windows []string, open bool) string {
	if open {
		windows = append(slices.Clone(windows), "open hours of all time")
	}
	return strings.Join(windows, ", ")
}

// short writes a number to three digits, "60 M".
func short(n float64) string {
	for _, unit := range []struct {
		name string
		size float64
	}{{" T", 1e12}, {" G", 1e9}, {" M", 1e6}, {" k", 1e3}} {
		if n >= unit.size*0.9995 { // what would be rounded up to it
			return threeDigits(n/unit.size) + unit.name
		}
	}
	return threeDigits(n)
}

func threeDigits(n float64) string {
	decimals := 0
	switch {
	case n < 9.995:
		decimals = 2
	case n < 99.95:
		decimals = 1
	}
	text := strconv.FormatFloat(n, 'f', decimals, 64)
	if decimals > 0 {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text
}

func secondsText(d time.Duration) string { return fmt.Sprintf("%.0f s", d.Seconds()) }

func hours(d time.Duration) string { return fmt.Sprintf("%.1f h", d.Hours()) }

// trimZeros makes 1m0s and 1h0m0s readable.
func trimZeros(d string) string {
	if strings.HasSuffix(d, "m0s") {
		d = strings.TrimSuffix(d, "0s")
	}
	if strings.HasSuffix(d, "h0m") {
		d = strings.TrimSuffix(d, "0m")
	}
	return d
}
