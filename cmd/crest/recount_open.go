package main

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"crest"
	"crest/internal/archive"
	"crest/internal/config"
	"crest/internal/exact"
)

// exactFlags say which data directory's exact path a command works on.
type exactFlags struct {
	Data   string  `placeholder:"DIR" help:"Data directory. Default: the configuration's, or ${data}."`
	Preset *string `enum:"views,shares" placeholder:"NAME" help:"What the server counts: views or shares. Default: the file's, or views."`
	Config string  `type:"existingfile" placeholder:"FILE" help:"YAML file that the server runs with."`
}

// load returns the configuration that the flags name.
func (f *exactFlags) load() (*config.Config, error) {
	cfg, err := config.Load(f.Config, valueOf(f.Preset))
	if err != nil {
		return nil, usageError{err}
	}
	if f.Data != "" {
		cfg.Data = f.Data
	}
	return &cfg, nil
}

// The parts of a data directory that the exact path uses.
func archiveDir(cfg *config.Config) string { return filepath.Join(cfg.Data, "archive") }
func exactDir(cfg *config.Config) string   { return filepath.Join(cfg.Data, "exact") }

// exactConfig returns how a node's events are counted exactly. Whoever counts and whoever reads must use the same.
func exactConfig(cfg *config.Config) exact.Config {
	c := exact.Config{
		Dir: exactDir(cfg), Archive: archiveDir(cfg), Edge: cfg.Edge(), Memory: int64(cfg.Recount.Memory),
		Wait: cfg.Counting.Hold / 2, // lists know what came late for as long as hours are held
	}
	for _, d := range cfg.Dimensions {
		c.Dimensions = append(c.Dimensions, d.Name)
	}
	for _, t := range cfg.Types {
		boards := exact.TypeBoards{Name: t.Name}
		for _, set := range t.Boards {
			var places []int
			for _, name := range set {
				places = append(places, slices.Index(c.Dimensions, name))
			}
			boards.Narrow = append(boards.Narrow, places)
		}
		c.Types = append(c.Types, boards)
	}
	for _, w := range cfg.Windows {
		if cfg.Stitched(w) {
			c.Windows = append(c.Windows, w)
		}
	}
	return c
}

// setRecountMemory takes in --memory, when it is given.
func setRecountMemory(cfg *config.Config, flag *config.Bytes) error {
	if flag == nil {
		return nil
	}
	cfg.Recount.Memory = *flag
	return checkRecountMemory(*flag)
}

// checkRecountMemory refuses what the configuration would refuse.
func checkRecountMemory(flag config.Bytes) error {
	if flag < config.MinRecount || flag > config.MaxRecount {
		return usagef("--memory: is %s; it must be from %s to %s", flag, config.MinRecount, config.MaxRecount)
	}
	return nil
}

// openArchive reads an archive that must have something in it, and that must be of the configuration.
func openArchive(cfg *config.Config) (*archive.View, error) {
	view, err := readArchive(archiveDir(cfg))
	if err != nil {
		return nil, err
	}
	var names []string
	for _, d := range cfg.Dimensions {
		names = append(names, d.Name)
	}
	if !slices.Equal(names, view.State.Dimensions) {
		return nil, fmt.Errorf("the archive's events have %s, and the configuration declares %s; name what the server runs with: --preset or --config",
			dimensionsText(view.State.Dimensions), dimensionsText(names))
	}
	return view, nil
}

// readArchive reads an archive that must have something in it.
func readArchive(dir string) (*archive.View, error) {
	view, err := archive.Read(dir)
	switch {
	case err != nil:
		return nil, whoMayRead(err)
	case view.State.Watermark == 0 && len(view.Hours()) == 0:
		return nil, fmt.Errorf("there is no archive in %s yet; crest serve writes it (archive.enabled), every %.0f minutes. Name another data directory with --data",
			dir, crest.Slot.Minutes())
	}
	return view, nil
}

// whoMayRead adds to an error of permission what to do about it.
func whoMayRead(err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%w; run this as the user that runs crest serve", err)
	}
	return err
}

func dimensionsText(names []string) string {
	if len(names) == 0 {
		return "no dimensions"
	}
	if len(names) == 1 {
		return "the dimension " + names[0]
	}
	return "the dimensions " + strings.Join(names, ", ")
}

// closesAt returns the received time at which an hour closes.
func closesAt(hour crest.Millis) crest.Millis { return hour.Add(time.Hour + crest.CloseAfter) }
