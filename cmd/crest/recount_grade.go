package main

import (
	"crest/internal/config"
	"crest/internal/exact"
)

// graderOf returns what grades lists after each count, nil for nothing.
func graderOf(_ *config.Config, _ exact.Config) (hourGrader, error) { return nil, nil }
