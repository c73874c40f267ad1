package recount

import (
	"path/filepath"

	"crest/internal/config"
)

// ConfigOf returns what is recounted of a node's data directory.
func ConfigOf(cfg *config.Config) Config {
	c := Config{
		Archive: filepath.Join(cfg.Data, "archive"), Exact: filepath.Join(cfg.Data, "exact"), Edge: cfg.Edge().Milliseconds(),
		Dimensions: cfg.DimensionNames(), Candidates: 3000,
	}
	for _, t := range cfg.Types {
		c.Types = append(c.Types, Type{Name: t.Name, Narrow: t.Boards})
	}
	return c
}
