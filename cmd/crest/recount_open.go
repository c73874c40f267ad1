package main

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"crest"
	"crest/internal/archive"
	"crest/internal/config"
	"crest/internal/recount"
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
	view, err := readArchive(recount.ArchiveDir(cfg))
	if err != nil {
		return nil, err
	}
	names := cfg.DimensionNames()
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
