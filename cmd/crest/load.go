package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"crest/internal/load"
)

// loadCmd drives a server and measures it.
type loadCmd struct {
	URL         string        `default:"http://127.0.0.1:8080" help:"Server to drive."`
	Rate        int           `default:"0" help:"Events per second; 0 is as many as the server acknowledges."`
	For         time.Duration `default:"10s" help:"How long."`
	Items       uint64        `default:"5000000" help:"How many different items there can be."`
	Zipf        float64       `default:"1.05" help:"Skew: the item of rank r has a share proportional to 1/r^s. 0 draws all items equally often."`
	Format      string        `enum:"protobuf,json" default:"protobuf" help:"protobuf or json."`
	Batch       int           `placeholder:"N" help:"Events of one request. Default: 500, or with a --rate below 10,000 a twentieth of it."`
	Connections int           `short:"c" default:"8" help:"Requests on their way at once."`
	Type        string        `placeholder:"TYPE" help:"Type of the events. Default: the server's first."`
	Dimension   []string      `placeholder:"NAME=N" help:"Give every event one of N values of this dimension. Repeat it for more dimensions."`
	Ack         *string       `enum:"logged,enqueued" placeholder:"WHEN" help:"Acknowledgement to ask for: logged or enqueued. Default: the server's."`
	Seed        uint64        `default:"0" help:"Seed of the random items; 0 takes a new one."`
	JSON        bool          `name:"json" help:"Print the report as JSON."`
	Quiet       bool          `short:"q" help:"No progress on standard error."`
}

// Help is shown by crest load --help.
func (loadCmd) Help() string {
	return `Every event has an id of its own and the current time. The report says how many events were acknowledged and how long requests took;
with --rate, from the moment when a request was due.

Examples:
  crest load                                            as fast as one machine can, 10 s
  crest load --rate 50000 --for 1m --batch 100          a steady 50,000 events a second
  crest load --rate 2000 --batch 1 -c 64 --ack enqueued latency of single events
  crest load --type hashtag --items 1000000000 --zipf 0 ids that hardly ever come twice
  crest load --type article --dimension region=5 --dimension category=20`
}

// Run runs the command.
func (c *loadCmd) Run(ctx context.Context, s *streams) error {
	o, err := c.options(ctx)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	report, err := load.Run(ctx, o, c.progress(s))
	if err != nil {
		return asUsage(namingFlags(err, "items", "zipf"))
	}
	warnIgnored(s, report.Ignored)
	if c.JSON {
		e := json.NewEncoder(s.out)
		e.SetIndent("", "  ")
		err = e.Encode(report)
	} else {
		err = printLoad(s, report)
	}
	if err == nil && report.Acked == 0 {
		err = fmt.Errorf("no event was acknowledged")
	}
	return err
}

func (c *loadCmd) options(ctx context.Context) (load.Options, error) {
	o := load.Options{
		URL: strings.TrimRight(c.URL, "/"), Rate: c.Rate, For: c.For, Items: c.Items, Zipf: c.Zipf, Format: c.Format, Batch: c.Batch,
		Connections: c.Connections, Type: c.Type, Ack: valueOf(c.Ack), Seed: c.Seed,
	}
	if o.Seed == 0 {
		o.Seed = uint64(time.Now().UnixNano())
	}
	for _, d := range c.Dimension {
		name, number, _ := strings.Cut(d, "=")
		values, err := strconv.ParseUint(number, 10, 32)
		if err != nil || values == 0 || name == "" {
			return o, usagef("--dimension %s: write NAME=N, such as region=5", d)
		}
		o.Dimensions = append(o.Dimensions, load.Dimension{Name: name, Values: values})
	}
	if err := o.Validate(); err != nil {
		return o, usageError{namingFlags(err, "rate", "for", "format", "batch", "connections")}
	}
	types, err := server{o.URL, "--url"}.types(ctx) // also tells early that no server is there
	if err != nil {
		return o, err
	}
	if o.Type == "" {
		o.Type = types[0]
	}
	return o, nil
}

// warnIgnored says which fields had no effect.
func warnIgnored(s *streams, names []string) {
	if len(names) > 0 {
		fmt.Fprintf(s.err, "warning: the server does not know these fields and left them out: %s\n", printable(strings.Join(names, ", ")))
	}
}

func (c *loadCmd) progress(s *streams) func(load.Progress) {
	if c.Quiet || !s.errTerm {
		return nil
	}
	last := load.Progress{}
	return func(p load.Progress) {
		rate := float64(p.Acked-last.Acked) / (p.Elapsed - last.Elapsed).Seconds()
		last = p
		fmt.Fprintf(s.err, "%5.0f s  %s events acknowledged, %s/s, %d requests failed\n", p.Elapsed.Seconds(), grouped(p.Acked),
			grouped(uint64(rate)), p.Failed)
	}
}

func printLoad(s *streams, r load.Report) error {
	w := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "events acknowledged\t%s of %s sent\t%s/s\n", grouped(r.Acked), grouped(r.Sent), grouped(uint64(r.PerSecond)))
	fmt.Fprintf(w, "requests\t%s\tin %.1f s\n", grouped(r.Requests), r.Seconds)
	if r.Max > 0 {
		fmt.Fprintf(w, "latency\tp50 %.1f ms, p90 %.1f ms\tp99 %.1f ms, max %.1f ms\n", r.P50, r.P90, r.P99, r.Max)
	}
	if r.Rejected > 0 {
		fmt.Fprintf(w, "events refused\t%s\t\n", grouped(r.Rejected))
	}
	for _, code := range slices.Sorted(maps.Keys(r.Errors)) {
		fmt.Fprintf(w, "requests failed\t%s\t%s\n", grouped(r.Errors[code]), code)
	}
	return w.Flush()
}
