package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"crest"
)

// topCmd shows a list of a running server.
type topCmd struct {
	URL    string   `default:"http://127.0.0.1:8080" help:"Server to ask."`
	Type   string   `placeholder:"TYPE" help:"Type of the items. Default: the server's first."`
	Window string   `placeholder:"WINDOW" help:"Window, such as 1h. Default: the server's first."`
	Where  []string `placeholder:"DIM=VALUE" sep:"none" help:"Narrow the list by a dimension, such as region=eu. Repeat it for more."`
	K      int      `short:"k" default:"10" help:"Entries of the list."`
	Once   bool     `help:"Print the list once, as happens when standard output is no terminal."`
	JSON   bool     `name:"json" help:"Print the server's JSON, once."`
}

// Help is shown by crest top --help.
func (topCmd) Help() string {
	return `In a terminal the list is drawn again whenever there is a newer one, until Ctrl-C.

Examples:
  crest top
  crest top --type hashtag --window 24h -k 100
  crest top --url http://trends.example.com --type article --where category=sports
  crest top --json | jq '.top[0].id'`
}

// Run runs the command.
func (c *topCmd) Run(ctx context.Context, s *streams) error {
	path, err := c.path()
	if err != nil {
		return err
	}
	from := server{c.URL, "--url"}
	if c.JSON {
		var raw json.RawMessage
		if _, err := from.get(ctx, path, "", &raw); err != nil {
			return err
		}
		_, err = fmt.Fprintf(s.out, "%s\n", strings.TrimSpace(string(raw)))
		return err
	}
	var list crest.List
	headers, err := from.get(ctx, path, "", &list)
	if err != nil {
		return err
	}
	if c.Once || !s.outTerm {
		return drawList(s.out, list, 0, time.Now())
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	get := func(etag string, into *crest.List) (http.Header, error) { return from.get(ctx, path, etag, into) }
	return watch(ctx, s, get, list, headers)
}

// path returns what to ask the server for.
func (c *topCmd) path() (string, error) {
	query := url.Values{"k": {strconv.Itoa(c.K)}}
	if c.Type != "" {
		query.Set("type", c.Type)
	}
	if c.Window != "" {
		query.Set("window", c.Window)
	}
	for _, w := range c.Where {
		name, value, ok := strings.Cut(w, "=")
		switch {
		case !ok:
			return "", usagef("--where %s: write DIMENSION=VALUE", w)
		case name == "k" || name == "type" || name == "window":
			return "", usagef("--where %s: %s is no dimension; write --%s %s", w, name, name, value)
		}
		query.Set(name, value)
	}
	return "/v1/top?" + query.Encode(), nil
}

// The terminal's alternate screen keeps what was on it before.
const (
	enterScreen = "\x1b[?1049h\x1b[?25l"
	leaveScreen = "\x1b[?25h\x1b[?1049l"
	home        = "\x1b[H"
	clearLine   = "\x1b[K"
	clearBelow  = "\x1b[J"
)

// watch draws the list until ctx ends: every second for its age, and anew when the server's cache headers say that there
// can be another one. An error is shown below the last list, which stays.
func watch(ctx context.Context, s *streams, get func(etag string, into *crest.List) (http.Header, error), list crest.List, headers http.Header) error {
	fmt.Fprint(s.out, enterScreen)
	defer fmt.Fprint(s.out, leaveScreen)
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	due := time.Now().Add(maxAge(headers))
	var failure error
	for {
		columns, lines := s.outWidth()
		var screen strings.Builder
		if err := drawList(&screen, fit(list, lines), columns, time.Now()); err != nil {
			return err
		}
		if failure != nil {
			fmt.Fprintf(&screen, "%v\n", failure)
		}
		text := strings.ReplaceAll(strings.TrimSuffix(screen.String(), "\n"), "\n", clearLine+"\r\n")
		if _, err := fmt.Fprint(s.out, home, text, clearLine, clearBelow); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case now := <-tick.C:
			if now.Before(due) {
				continue
			}
		}
		var next crest.List
		answered, err := get(headers.Get("ETag"), &next)
		if failure = err; err == nil {
			headers = answered
			if next.Version != "" || next.Board != "" {
				list = next
			}
		}
		due = time.Now().Add(maxAge(headers))
	}
}

// fit leaves out what the terminal has no lines for.
func fit(l crest.List, lines int) crest.List {
	const around = 6 // title, totals, quality, header with a blank line, an error
	if lines > around && len(l.Top) > lines-around {
		l.Top = l.Top[:lines-around]
	}
	return l
}

// maxAge returns how long an answer is good for, at least a second.
func maxAge(h http.Header) time.Duration {
	for directive := range strings.SplitSeq(h.Get("Cache-Control"), ",") {
		if seconds, ok := strings.CutPrefix(strings.TrimSpace(directive), "max-age="); ok {
			if n, err := strconv.Atoi(seconds); err == nil && n > 0 && n <= 3600 {
				return time.Duration(n) * time.Second
			}
		}
	}
	return time.Second
}

// drawList writes a list for people. columns is the width to keep to, 0 for none.
func drawList(out io.Writer, l crest.List, columns int, now time.Time) error {
	var b strings.Builder
	window := "of the last " + l.Window
	if l.From == 0 && l.Window == "all" {
		window = "of all time"
	}
	fmt.Fprintf(&b, "%s, %s, as of %s (%s ago)", printable(l.Board), window, l.AsOf.Time().Local().Format("15:04:05"), age(now, l.AsOf))
	if l.Stale {
		b.WriteString("  STALE: nothing newer could be built")
	}
	fmt.Fprintf(&b, "\n%s in all, %s on other items\n", grouped(l.Total), grouped(l.Other))
	if len(l.Top) == 0 {
		fmt.Fprintf(&b, "\n%s\n", shortReason(l.Short))
		return writeCut(out, b.String(), columns)
	}
	fmt.Fprintf(&b, "%s; %s\n", quality(&l), others(&l))
	width := len("count")
	for _, e := range l.Top {
		width = max(width, len(grouped(e.Count)))
	}
	fmt.Fprintf(&b, "\nrank  move  %*s  %*s  item\n", width, "count", width, "error")
	for _, e := range l.Top {
		name := printable(e.ID)
		if e.Title != "" && e.Title != e.ID {
			name = printable(e.Title) + "  (" + name + ")"
		}
		fmt.Fprintf(&b, "%4d  %-4s  %*s  %*s  %s\n", e.Rank, movement(e), width, grouped(e.Count), width, grouped(e.Error), name)
	}
	return writeCut(out, b.String(), columns)
}

// writeCut writes text with lines of so many characters at most, if that is positive.
func writeCut(out io.Writer, text string, columns int) error {
	for line := range strings.Lines(text) {
		line = cut(strings.TrimSuffix(line, "\n"), columns) + "\n"
		if _, err := io.WriteString(out, line); err != nil {
			return err
		}
	}
	return nil
}

func shortReason(s crest.Short) string {
	switch s {
	case crest.ShortWarmingUp:
		return "warming up: counting began after this window did"
	case crest.ShortNoTraffic:
		return "no events in this window"
	case crest.ShortFewItems:
	}
	return "no items"
}

// movement says how an entry's rank differs from the list before.
func movement(e crest.Entry) string {
	switch {
	case e.PreviousRank == 0:
		return "new"
	case e.PreviousRank > e.Rank:
		return "▲" + strconv.Itoa(e.PreviousRank-e.Rank)
	case e.PreviousRank < e.Rank:
		return "▼" + strconv.Itoa(e.Rank-e.PreviousRank)
	}
	return "="
}

func age(now time.Time, asOf crest.Millis) string {
	d := max(0, now.Sub(asOf.Time()))
	if d < time.Minute {
		return fmt.Sprintf("%.0f s", d.Seconds())
	}
	return d.Round(time.Second).String()
}

// cut shortens text to so many characters, if that is positive.
func cut(s string, most int) string {
	if most <= 0 || utf8.RuneCountInString(s) <= most {
		return s
	}
	runes := []rune(s)
	return string(runes[:most-1]) + "…"
}
