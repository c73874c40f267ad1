package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"
	"golang.org/x/term"

	"crest/internal/config"
)

// The exit codes of every command.
const (
	exitOK      = 0
	exitFailure = 1 // it was tried and did not work
	exitUsage   = 2 // it can't be tried like that
)

// streams are what a command reads and writes.
type streams struct {
	in       io.Reader
	out      io.Writer
	err      io.Writer
	inTerm   bool // in is a terminal
	outTerm  bool
	errTerm  bool
	outWidth func() (columns, lines int) // of the terminal; 0 when unknown
}

func standardStreams() *streams {
	return &streams{
		in: os.Stdin, out: os.Stdout, err: os.Stderr,
		inTerm: term.IsTerminal(int(os.Stdin.Fd())), outTerm: term.IsTerminal(int(os.Stdout.Fd())), errTerm: term.IsTerminal(int(os.Stderr.Fd())),
		outWidth: func() (int, int) {
			columns, lines, err := term.GetSize(int(os.Stdout.Fd()))
			if err != nil {
				return 0, 0
			}
			return columns, lines
		},
	}
}

// run parses the arguments, runs the command that they name, and returns the exit code.
func run(ctx context.Context, args []string, s *streams) int {
	exited, code := false, exitOK
	parser, err := kong.New(&cli{},
		kong.Name("crest"),
		kong.Description("Crest keeps the top of every stream: the K most frequent items, with counts that say how wrong they can be."),
		kong.Writers(s.out, s.err),
		kong.Exit(func(c int) { exited, code = true, c }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 110}),
		helpVars(),
		kong.BindTo(ctx, (*context.Context)(nil)),
		kong.Bind(s),
	)
	if err != nil {
		fmt.Fprintln(s.err, "crest:", err)
		return exitFailure
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	command, err := parser.Parse(args)
	if exited { // the help or the version was printed
		return code
	}
	if err != nil {
		fmt.Fprintln(s.err, "crest:", err)
		fmt.Fprintln(s.err, "Run crest --help, or crest COMMAND --help, to see what is possible.")
		return exitUsage
	}
	return exitCode(command.Run(), command.Command(), s)
}

func exitCode(err error, command string, s *streams) int {
	switch _, usage := errors.AsType[usageError](err); {
	case err == nil:
		return exitOK
	case errors.Is(err, syscall.EPIPE): // the reader of a pipe has seen enough, as head does
		return exitOK
	case usage:
		complain(s, err)
		fmt.Fprintf(s.err, "Run crest %s --help to see what is possible.\n", firstWord(command))
		return exitUsage
	default:
		complain(s, err)
		return exitFailure
	}
}

// complain prints an error, which may quote a file or a server.
func complain(s *streams, err error) {
	for line := range strings.SplitSeq(err.Error(), "\n") {
		fmt.Fprintln(s.err, "crest:", printable(line))
	}
}

// helpVars are what the help refers to.
func helpVars() kong.Vars {
	vars := kong.Vars{"version": describeBuild()}
	if c, err := config.Preset(config.DefaultPreset); err == nil {
		vars["data"], vars["listen"], vars["admin"] = c.Data, c.Listen, c.Admin
	}
	return vars
}

func firstWord(s string) string {
	for i, r := range s {
		if r == ' ' {
			return s[:i]
		}
	}
	return s
}
