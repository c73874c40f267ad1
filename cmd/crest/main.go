// Command crest keeps the top of every stream: it serves lists of the most frequent items, ranks files, replays and
// generates events, and plans a deployment.
package main

import (
	"context"
	"os"

	"github.com/alecthomas/kong"
)

// cli is every command; each has its own file.
type cli struct {
	Version kong.VersionFlag `help:"Print what this program was built from."`

	Serve   serveCmd   `cmd:"" help:"Run a server: accept events, count them, serve lists and the page."`
	Rank    rankCmd    `cmd:"" help:"List the most frequent items of files or standard input."`
	Top     topCmd     `cmd:"" help:"Watch a list of a running server in the terminal."`
	Explain explainCmd `cmd:"" help:"Show what a running server knows of one item: its counts, their errors, its place."`
	Replay  replayCmd  `cmd:"" help:"Post a file's events to a server in time order."`
	Load    loadCmd    `cmd:"" help:"Generate load on a server and measure it."`
	Recount recountCmd `cmd:"" help:"Count closed hours exactly, from the archive."`
	Compare compareCmd `cmd:"" help:"Hold a server's lists against a full recount of the events."`
	Grades  gradesCmd  `cmd:"" help:"Show how published lists compared with exact counts, hour by hour."`
	Plan    planCmd    `cmd:"" help:"Work out memory, error bounds and disk for a configuration."`
}

func main() {
	os.Exit(run(context.Background(), os.Args[1:], standardStreams()))
}
