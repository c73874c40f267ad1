package recount

import (
	"path/filepath"

	"crest/internal/config"
	"crest/internal/exact"
)

// ArchiveDir returns where a node's archive is.
func ArchiveDir(cfg *config.Config) string { return filepath.Join(cfg.Data, "archive") }

// ConfigOf returns how a node's events are counted exactly. Whoever counts and whoever reads must use the same.
func ConfigOf(cfg *config.Config) exact.Config {
	c := exact.Config{
		Dir: filepath.Join(cfg.Data, "exact"), Archive: ArchiveDir(cfg), Dimensions: cfg.DimensionNames(),
		Edge: cfg.Edge(), Memory: int64(cfg.Recount.Memory),
		Wait: cfg.Counting.Hold / 2, // lists know what came late for as long as hours are held
	}
	for _, t := range cfg.Types {
		c.Types = append(c.Types, exact.TypeBoards{Name: t.Name, Narrow: cfg.Narrowings(t)})
	}
	for _, w := range cfg.Windows {
		if cfg.Stitched(w) {
			c.Windows = append(c.Windows, w)
		}
	}
	return c
}
