package main

import (
	"context"
	"fmt"
	"log/slog"
	"os/signal"
	"strings"
	"syscall"

	"crest/internal/config"
	"crest/internal/demo"
)

// serveCmd runs every role in one process.
type serveCmd struct {
	Preset string `help:"What to count: views (videos and hashtags) or shares (articles)." enum:"views,shares," default:""`
	Config string `help:"YAML file that changes the preset; see docs/configuration.md." type:"existingfile" placeholder:"FILE"`
	Data   string `help:"Directory of everything that is kept." placeholder:"DIR"`
	Listen string `help:"Address of the public API and the page." placeholder:"ADDR"`
	Admin  string `help:"Address of the operator's endpoints: metrics, profiles. Keep it on loopback." placeholder:"ADDR"`
	Demo   bool   `help:"Make demo traffic, so that there is something to see."`
	JSON   bool   `help:"Log as JSON."`
}

// Help is shown by --help below the flags.
func (serveCmd) Help() string {
	return `Examples:
  crest serve --demo                                  a trending shelf that moves
  crest serve --preset shares --data /var/lib/crest   trending articles, kept in /var/lib/crest
  crest serve --config crest.yaml                     types, windows and limits of your own

Post events to /v1/events, read lists from /v1/top, or open the address in a browser.
The first interrupt stops in order: open requests end, what was accepted is counted and saved.
A second one stops at once; what was acknowledged as logged is safe all the same.`
}

// Run serves until the process is told to stop.
func (c serveCmd) Run(ctx context.Context, s *streams) error {
	cfg, err := c.settings()
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // so that the second signal has its usual effect
	logger := slog.New(slog.NewTextHandler(s.err, nil))
	if c.JSON {
		logger = slog.New(slog.NewJSONHandler(s.err, nil))
	}
	var traffic *demo.Traffic
	if c.Demo {
		traffic = demoTraffic(cfg)
	}
	n, err := newNode(cfg, logger, traffic)
	if err != nil {
		return err
	}
	fmt.Fprintf(s.out, "Crest counts %s. Open http://%s\n", typesOf(cfg), n.listener.Addr())
	logger.Info("serving", "preset", cfg.Preset, "url", "http://"+n.listener.Addr().String(),
		"admin", "http://"+n.operator.Addr().String(), "data", cfg.Data, "demo", c.Demo)
	return n.run(ctx)
}

// settings joins the preset, the file and the flags.
func (c serveCmd) settings() (*config.Config, error) {
	cfg, err := config.Load(c.Config, c.Preset)
	if err != nil {
		return nil, err
	}
	for _, f := range []struct {
		flag string
		to   *string
	}{{c.Data, &cfg.Data}, {c.Listen, &cfg.Listen}, {c.Admin, &cfg.Admin}} {
		if f.flag != "" {
			*f.to = f.flag
		}
	}
	return &cfg, cfg.Validate()
}

func typesOf(cfg *config.Config) string {
	var names strings.Builder
	for i, t := range cfg.Types {
		switch {
		case i > 0 && i == len(cfg.Types)-1:
			names.WriteString(" and ")
		case i > 0:
			names.WriteString(", ")
		}
		names.WriteString(t.Name + "s")
	}
	return names.String()
}
