package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"crest/hashtag"
	"crest/internal/config"
	"crest/internal/rank"
	"crest/internal/rows"
)

// rankCmd counts files offline.
type rankCmd struct {
	Files []string `arg:"" optional:"" name:"file" help:"Files to read, one after the other; - or none is standard input. Compression (gzip, zstd) is recognised. Or one directory: an archive."`

	Input   string   `enum:"auto,ndjson,csv,tsv,text" default:"auto" help:"How lines are written: auto (by name, then by the first line), ndjson, csv, tsv or text."`
	Item    string   `placeholder:"COLUMN" help:"Column that is counted: a name, or a number from 1 (white-space fields of text, as awk counts them). Default: item, or the whole line of text."`
	Where   []string `placeholder:"COL=VALUE" sep:"none" help:"Count only lines whose column has this value. Repeat it for other columns, or for alternatives in one."`
	Weight  string   `placeholder:"COL" help:"Column that says how often a line counts: a whole number from 1."`
	Time    string   `placeholder:"COL" help:"Column of the event time: RFC 3339, or seconds or milliseconds since 1970."`
	Arrived string   `placeholder:"COL" help:"Column of the arrival time. A list as of T knows only events that arrived before T. Default: as they happened."`

	Window time.Duration `placeholder:"DURATION" help:"Count events of this length of time alone, such as 5m, up to --at or every --every."`
	At     string        `placeholder:"TIME" help:"List as of this time: events before it, and no older than --window."`
	Every  time.Duration `placeholder:"DURATION" help:"List as of every multiple of this, such as 1m, in order of arrival."`

	Archived archiveFlags `embed:""`

	K         int           `short:"k" default:"10" help:"Entries of a list."`
	Normalize string        `enum:"none,hashtag" default:"none" help:"Count the spellings of a hashtag as one: none or hashtag."`
	Memory    *config.Bytes `placeholder:"SIZE" help:"Most memory for counting. More of it makes errors smaller, or an archive faster. Default: 64MiB, for an archive 512MiB."`
	Format    string        `enum:"table,json,csv" default:"table" help:"table, json or csv."`
	JSON      bool          `name:"json" help:"Short for --format json."`
	Quiet     bool          `short:"q" help:"Say nothing on standard error unless something is wrong."`
}

// Help is shown by crest rank --help.
func (rankCmd) Help() string {
	return `Counts are certified: the truth lies between COUNT - ERROR and COUNT. While everything fits into --memory, ERROR is 0.

Examples:
  crest rank access.log --item 7                        most wanted URL of a web server's log
  zcat tags.ndjson.gz | crest rank -k 20                most frequent "item" of NDJSON
  crest rank tags.ndjson.gz --where type=hashtag --normalize hashtag
  crest rank sales.csv --item product --weight quantity --format csv
  crest rank events.csv.gz --time ts --window 1h --at 2026-11-30T12:00:00Z
  crest rank events.csv.gz --time ts --arrived seen --window 5m --every 1m --json

With --every, lines are taken in order of arrival: one that arrived before the line in front of it counts as having come with it.

An archive, or the data directory that has one, is counted exactly, without the events that were sent twice:
  crest rank data --type video --from 2026-11-30T09 --to 2026-11-30T12
  crest rank data --type hashtag --window 1h --at 2026-11-30T09:30:00Z      as a list of that moment would have been
  crest rank data/archive --board article/category=sports -k 100 --json`
}

// Run runs the command.
func (c *rankCmd) Run(ctx context.Context, s *streams) error {
	if dir, ok := c.directory(); ok {
		return c.runArchive(ctx, s, dir)
	}
	if given := c.Archived.given(); len(given) > 0 {
		return usagef("%s: has a meaning for an archive only; name its directory, such as data/archive", given[0])
	}
	settings, err := c.settings()
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(s.out, 64<<10)
	printer, err := newListPrinter(c.format(), out, settings.Every > 0)
	if err != nil {
		return err
	}
	if s.inTerm && !c.Quiet && (len(c.Files) == 0 || slices.Contains(c.Files, "-")) {
		fmt.Fprintln(s.err, "reading standard input; end it with Ctrl-D, or name a file")
	}
	inputs, err := openInputs(c.Files, s)
	if err != nil {
		return err
	}
	defer closeInputs(inputs)
	progress := newProgress(s, c.Quiet)
	var last rank.List
	stats, err := rank.Run(ctx, inputs, settings, rank.Observer{Progress: progress.rank}, func(l rank.List) error {
		last = l
		return printer.list(l)
	})
	progress.clear()
	if err != nil {
		return errors.Join(out.Flush(), asUsage(err))
	}
	if err := printer.finish(stats); err != nil {
		return err
	}
	if err := out.Flush(); err != nil {
		return err
	}
	c.report(s, stats, last)
	if stats.Lines > 0 && stats.Refused == stats.Lines {
		return fmt.Errorf("no line could be used; the reasons are above")
	}
	return nil
}

// memory returns the limit that was given, or else the usual one.
func (c *rankCmd) memory(usual config.Bytes) config.Bytes {
	if c.Memory == nil {
		return usual
	}
	return *c.Memory
}

func (c *rankCmd) format() string {
	if c.JSON {
		return "json"
	}
	return c.Format
}

func (c *rankCmd) settings() (rank.Config, error) {
	settings := rank.Config{
		Format: rows.Format(c.Input), Item: c.Item, Weight: c.Weight, Time: c.Time, Arrived: c.Arrived,
		Window: c.Window, Every: c.Every, K: c.K, Memory: int(c.memory(64 * config.MiB)), Workers: min(runtime.GOMAXPROCS(0), 8),
	}
	var err error
	if settings.Where, err = parseConditions(c.Where); err != nil {
		return rank.Config{}, err
	}
	if c.At != "" {
		at, err := rows.ParseTime([]byte(c.At))
		if err != nil {
			return rank.Config{}, usagef("--at: %w", err)
		}
		settings.At = &at
	}
	if c.Normalize == "hashtag" {
		settings.Normalize = hashtagNormalizer
	}
	if err := settings.Validate(); err != nil {
		return rank.Config{}, usageError{namingFlags(err, "k", "memory", "at", "window", "every", "time", "arrived")}
	}
	return settings, nil
}

func parseConditions(where []string) ([]rank.Condition, error) {
	var conditions []rank.Condition
	for _, w := range where {
		column, value, ok := strings.Cut(w, "=")
		if !ok || column == "" {
			return nil, usagef("--where %s: write COLUMN=VALUE", w)
		}
		conditions = append(conditions, rank.Condition{Column: column, Value: value})
	}
	return conditions, nil
}

func hashtagNormalizer() func(dst, item []byte) []byte {
	var n hashtag.Normalizer
	return func(dst, item []byte) []byte { return n.Append(dst, string(item)) }
}

func openInputs(files []string, s *streams) ([]*rows.Input, error) {
	if len(files) == 0 {
		files = []string{"-"}
	}
	var inputs []*rows.Input
	for _, name := range files {
		in, err := rows.Open(name, s.in)
		if err != nil {
			closeInputs(inputs)
			return nil, err
		}
		inputs = append(inputs, in)
	}
	return inputs, nil
}

func closeInputs(inputs []*rows.Input) {
	for _, in := range inputs {
		_ = in.Close() // only read from
	}
}

// report says on standard error what happened to the lines and how good the list is.
func (c *rankCmd) report(s *streams, stats rank.Stats, last rank.List) {
	for _, r := range stats.Reasons {
		fmt.Fprintf(s.err, "refused: %s\n", printable(fmt.Sprintf("%s: %v", r.Place, r.Reason)))
	}
	if stats.Refused > uint64(len(stats.Reasons)) {
		var codes []string
		for _, c := range stats.ByCode {
			codes = append(codes, fmt.Sprintf("%s %s", grouped(c.Lines), c.Code))
		}
		fmt.Fprintf(s.err, "refused in all: %s\n", strings.Join(codes, ", "))
	}
	if c.Quiet {
		return
	}
	fmt.Fprintf(s.err, "%s lines read, %s refused", grouped(stats.Lines), grouped(stats.Refused))
	if stats.Filtered > 0 {
		fmt.Fprintf(s.err, ", %s left out by --where or the window", grouped(stats.Filtered))
	}
	fmt.Fprintf(s.err, ", %s counted\n", grouped(stats.Counted))
	if c.Every > 0 {
		if stats.Late > 0 {
			fmt.Fprintf(s.err, "%s came after lists they belong on, because lines are not in order of arrival\n", grouped(stats.Late))
		}
		if stats.Skipped > 0 {
			fmt.Fprintf(s.err, "%s lists had no events and were not printed\n", grouped(stats.Skipped))
		}
		return
	}
	text := quality(&last.List)
	if len(last.Top) > 0 && !last.Exact {
		text += "; " + others(&last.List)
	}
	fmt.Fprintln(s.err, text)
}
