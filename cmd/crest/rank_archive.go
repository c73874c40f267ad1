package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"crest"
	"crest/internal/archive"
	"crest/internal/config"
	"crest/internal/rank"
)

// archiveFlags are the flags of crest rank that have a meaning for an archive only.
type archiveFlags struct {
	Type   string        `placeholder:"TYPE" help:"Archive: type of the items. Default: the only one there is."`
	Board  string        `placeholder:"NAME" help:"Archive: board, such as article/category=sports, in place of --type and --where."`
	From   string        `placeholder:"TIME" help:"Archive: events from this time on, an hour of UTC such as 2026-11-30T09, or RFC 3339. Default: all that it has."`
	To     string        `placeholder:"TIME" help:"Archive: events before this time. Default: all that it has."`
	Before string        `name:"received-before" placeholder:"TIME" help:"Archive: events that had been received before this time. Default: --at, or all that it has."`
	Edge   time.Duration `placeholder:"DURATION" help:"Archive: an event sent again in the next hour is found this far around the full hour. Default: 4m, twice counting.dedup_horizon, as the recount does it."`
}

// given names the flags that were given.
func (f *archiveFlags) given() []string {
	var names []string
	for _, flag := range []struct{ name, value string }{
		{"--type", f.Type}, {"--board", f.Board}, {"--from", f.From}, {"--to", f.To}, {"--received-before", f.Before},
	} {
		if flag.value != "" {
			names = append(names, flag.name)
		}
	}
	if f.Edge != 0 {
		names = append(names, "--edge")
	}
	return names
}

// directory returns the directory that is to be ranked, if it is one.
func (c *rankCmd) directory() (string, bool) {
	for _, name := range c.Files {
		if info, err := os.Stat(name); err == nil && info.IsDir() {
			return name, true
		}
	}
	return "", false
}

// onlyForFiles names the flags that were given and have no meaning for an archive.
func (c *rankCmd) onlyForFiles() []string {
	var names []string
	for _, flag := range []struct {
		name  string
		given bool
	}{
		{"--input", c.Input != "auto"},
		{"--item", c.Item != ""},
		{"--weight", c.Weight != ""},
		{"--time", c.Time != ""},
		{"--arrived", c.Arrived != ""},
		{"--every", c.Every != 0},
		{"--normalize", c.Normalize != "none"},
	} {
		if flag.given {
			names = append(names, flag.name)
		}
	}
	return names
}

// runArchive ranks an archive.
func (c *rankCmd) runArchive(ctx context.Context, s *streams, dir string) error {
	if len(c.Files) > 1 {
		return usagef("%s is a directory; an archive is ranked by itself, without other files", dir)
	}
	if names := c.onlyForFiles(); len(names) > 0 {
		return usagef("%s: has no meaning for an archive, whose events have their columns; take it away", names[0])
	}
	if c.K < 1 || c.K > rank.MaxK {
		return usagef("--k: is %d; it must be from 1 to %d", c.K, rank.MaxK)
	}
	view, err := findArchive(dir)
	if err != nil {
		return err
	}
	q, err := c.query(view)
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(s.out, 64<<10)
	printer, err := newListPrinter(c.format(), out, false)
	if err != nil {
		return err
	}
	progress := newRecountProgress(s, c.Quiet)
	q.progress = progress.note
	counted, err := rankArchive(ctx, view, q, c.K)
	progress.clear()
	if err != nil {
		return asUsage(namingFlags(err, "memory", "edge"))
	}
	if counted.list.Total == 0 && counted.duplicates == 0 {
		if err := c.checkType(view, q); err != nil {
			return err
		}
	}
	if err := errors.Join(printer.list(counted.list), printer.finish(rank.Stats{}), out.Flush()); err != nil {
		return err
	}
	c.reportArchive(s, view, q, counted)
	return nil
}

// findArchive reads the archive in a directory or in the data directory that it is.
func findArchive(dir string) (*archive.View, error) {
	inside := filepath.Join(dir, "archive")
	if info, err := os.Stat(inside); err == nil && info.IsDir() {
		return readArchive(inside)
	}
	view, err := readArchive(dir)
	if err != nil && !errors.Is(err, fs.ErrPermission) && view == nil && archiveIsAbsent(dir) {
		return nil, fmt.Errorf("%s is no archive, and no data directory with one: there is no state.json in it, and no directory archive", dir)
	}
	return view, err
}

func archiveIsAbsent(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "state.json"))
	return errors.Is(err, fs.ErrNotExist)
}

// archiveQuery is what is asked of an archive: the exact counts of a board over [from, to) of event time, as far as events
// had been received before a moment.
type archiveQuery struct {
	board            crest.Board
	from, to, before crest.Millis
	edge             time.Duration
	memory           int64
	workers          int
	progress         progressFunc
}

// usualEdge is the recount's with the presets' dedup horizon.
const usualEdge = 4 * time.Minute

// query reads the flags.
func (c *rankCmd) query(view *archive.View) (q archiveQuery, err error) {
	q = archiveQuery{edge: usualEdge, memory: int64(c.memory(512 * config.MiB)), workers: runtime.GOMAXPROCS(0)}
	if c.Archived.Edge != 0 {
		q.edge = c.Archived.Edge
	}
	if c.Memory != nil {
		if err := checkRecountMemory(*c.Memory); err != nil {
			return q, err
		}
	}
	if q.board, err = c.board(view); err != nil {
		return q, err
	}
	return q, c.times(&q, view)
}

// times reads which events are wanted.
func (c *rankCmd) times(q *archiveQuery, view *archive.View) (err error) {
	known := view.State.Watermark
	q.to, q.before = known, known
	a := &c.Archived
	switch {
	case c.At != "" && (a.From != "" || a.To != ""):
		return usagef("--at: can't be combined with --from and --to; choose a window or a range")
	case c.Window < 0:
		return usagef("--window: is %s; it must be positive", c.Window)
	case c.Window > 0 && a.From != "":
		return usagef("--window: can't be combined with --from; choose a window or a range")
	}
	for _, flag := range []struct {
		name, text string
		into       []*crest.Millis
	}{
		{"at", c.At, []*crest.Millis{&q.to, &q.before}},
		{"from", a.From, []*crest.Millis{&q.from}},
		{"to", a.To, []*crest.Millis{&q.to}},
		{"received-before", a.Before, []*crest.Millis{&q.before}},
	} {
		if flag.text == "" {
			continue
		}
		m, err := parseMoment(flag.name, flag.text)
		if err != nil {
			return err
		}
		if m > known {
			return fmt.Errorf("--%s %s: the archive has what was received before %s and nothing later", flag.name, flag.text, clockOf(known))
		}
		for _, into := range flag.into {
			*into = m
		}
	}
	if c.Window > 0 {
		q.from = q.to.Add(-c.Window)
	}
	switch {
	case q.from >= q.to:
		return usagef("--from %s is not before --to %s", clockOf(q.from), clockOf(q.to))
	case q.from < view.State.KeptFrom && q.from != 0:
		return fmt.Errorf("events from %s on are asked for; the archive goes back to %s, what is older has been deleted", clockOf(q.from), clockOf(view.State.KeptFrom))
	}
	if hours := view.Hours(); len(hours) > 0 {
		q.from = max(q.from, hours[0])
	}
	return nil
}

// board reads which board is wanted.
func (c *rankCmd) board(view *archive.View) (crest.Board, error) {
	a := &c.Archived
	typ, where, from := a.Type, c.Where, "--where "
	if a.Board != "" {
		if typ != "" || len(where) > 0 {
			return crest.Board{}, usagef("--board: can't be combined with --type and --where, in whose place it stands")
		}
		parts := strings.Split(a.Board, "/")
		typ, where, from = parts[0], parts[1:], "--board "+a.Board+": "
	}
	b := crest.Board{Type: typ}
	if typ == "" {
		var err error
		if b.Type, err = onlyType(view); err != nil {
			return b, err
		}
	}
	if err := crest.CheckName(c.typeFlag(), b.Type, crest.MaxTypeBytes); err != nil {
		return b, usageError{err}
	}
	values := map[string]string{}
	for _, w := range where {
		name, value, ok := strings.Cut(w, "=")
		_, twice := values[name]
		switch {
		case !ok || value == "":
			return b, usagef("%s%s: write DIMENSION=VALUE", from, w)
		case !slices.Contains(view.State.Dimensions, name):
			return b, usagef("%s%s: is no dimension; the archive's events have %s", from, w, dimensionsText(view.State.Dimensions))
		case twice:
			return b, usagef("%s%s: an event has one value of a dimension; choose one", from, w)
		}
		if err := crest.CheckName(name, value, crest.MaxDimensionBytes); err != nil {
			return b, usageError{err}
		}
		values[name] = value
	}
	for _, name := range view.State.Dimensions {
		if value, ok := values[name]; ok {
			b.Narrow = append(b.Narrow, crest.Narrowing{Dimension: name, Value: value})
		}
	}
	return b, nil
}

// typeFlag names the flag that says the type.
func (c *rankCmd) typeFlag() string {
	if c.Archived.Board != "" {
		return "--board"
	}
	return "--type"
}

// checkType refuses a type that the archive has nothing of, neither in the hours that were looked at nor in its newest one.
func (c *rankCmd) checkType(view *archive.View, q archiveQuery) error {
	types, err := archivedTypes(view)
	for _, start := range view.Hours() {
		if err == nil && start.Add(time.Hour) > q.from && start < q.to {
			var of []string
			of, err = hourTypes(view, start)
			types = append(types, of...)
		}
	}
	if err != nil || len(types) == 0 || slices.Contains(types, q.board.Type) {
		return err
	}
	slices.Sort(types)
	return fmt.Errorf("%s: there are no events of type %q; the archive has %s", c.typeFlag(), q.board.Type, strings.Join(slices.Compact(types), ", "))
}

// reportArchive says on standard error what was counted.
func (c *rankCmd) reportArchive(s *streams, view *archive.View, q archiveQuery, counted archiveCount) {
	if c.Quiet {
		return
	}
	fmt.Fprintf(s.err, "%s events of board %s from %s to %s, received before %s; %s more were sent twice and are left out\n", grouped(counted.list.Total),
		printable(q.board.String()), clockOf(q.from), clockOf(q.to), clockOf(q.before), grouped(counted.duplicates))
	if since := view.State.Since; since > q.from {
		fmt.Fprintf(s.err, "what was received before %s may be missing: the archive begins there\n", clockOf(since))
	}
	text := "nothing was counted"
	if len(counted.list.Top) > 0 {
		text = "every count is exact; " + others(&counted.list.List)
	}
	fmt.Fprintln(s.err, text)
}
