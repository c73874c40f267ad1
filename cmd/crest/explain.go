package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"

	"crest/internal/explain"
)

// explainCmd asks a running server what it knows of one item.
type explainCmd struct {
	Type string `arg:"" help:"Type of the item, such as video."`
	ID   string `arg:"" name:"id" help:"The item. Spellings of what is normalised are brought to their form: #FooBar is foobar."`

	Board   string `placeholder:"NAME" help:"Board, such as article/category=sports. Default: the type's own."`
	Admin   string `default:"http://${admin}" help:"Operator's address of the server."`
	Buckets int    `default:"12" placeholder:"N" help:"Newest buckets to show of each width; 0 for none, -1 for all."`
	JSON    bool   `name:"json" help:"Print everything as JSON."`
}

// Help is shown by crest explain --help.
func (explainCmd) Help() string {
	return `COUNT is never too low; it is at most ERROR too high, so the truth is AT LEAST what stands beside it. EXACT is the part of a count
that comes from hours which have been counted again; the rest is an estimate.

Examples:
  crest explain video dQw4w9WgXcQ
  crest explain hashtag '#FooBar' --buckets -1
  crest explain video -- -3aBcDeFgHi                   an id that begins like a flag
  crest explain article a17 --board article/category=sports/region=eu
  crest explain video dQw4w9WgXcQ --json | jq '.windows[] | {window, count, lower}'`
}

// Run runs the command.
func (c *explainCmd) Run(ctx context.Context, s *streams) error {
	if c.Buckets < -1 {
		return usagef("--buckets %d: write how many, 0 for none, or -1 for all", c.Buckets)
	}
	query := url.Values{"type": {c.Type}, "id": {c.ID}}
	if c.Board != "" {
		query.Set("board", c.Board)
	}
	var raw json.RawMessage
	if _, err := (server{c.Admin, "--admin"}).get(ctx, "/v1/explain?"+query.Encode(), "", &raw); err != nil {
		return err
	}
	var e explain.Explanation
	if err := json.Unmarshal(raw, &e); err != nil {
		return fmt.Errorf("the answer of %s is not that of a Crest server: %w", c.Admin, err)
	}
	if c.JSON {
		if err := printJSON(s.out, raw); err != nil {
			return err
		}
	} else if err := printExplanation(s.out, &e, c.Buckets); err != nil {
		return err
	}
	if !counted(&e) {
		return fmt.Errorf("no event of %s %q has been counted on board %s; is it written as producers send it?", e.Type, e.ID, e.Board)
	}
	return nil
}

// counted reports whether the item can have had an event.
func counted(e *explain.Explanation) bool {
	for _, w := range e.Windows {
		if w.Count > 0 {
			return true
		}
	}
	for _, r := range e.Rings {
		for _, b := range r.Buckets {
			if b.Count > 0 {
				return true
			}
		}
	}
	return e.Exact != nil && e.Exact.AllTime > 0
}
