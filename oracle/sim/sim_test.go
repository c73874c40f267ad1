package sim

import (
	"testing"
	"time"

	"crest/internal/config"
)

func small(t *testing.T, preset string) Config {
	t.Helper()
	node, err := config.Preset(preset)
	if err != nil {
		t.Fatal(err)
	}
	node.Counting.Shards, node.Counting.Partitions = 4, 3
	node.Counting.DedupMemory = 32 * config.MiB
	mix := StandardMix()
	mix.Ranks = 3000
	return Config{
		Dir: t.TempDir(), Node: node, Start: time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC), Length: 6 * time.Hour,
		Step: 10 * time.Second, Events: 300_000, Mix: mix, Seed: 1, Restarts: 6,
	}
}

func TestHours(t *testing.T) {
	result, err := Run(t.Context(), small(t, "views"))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", result)
	for _, v := range result.First {
		t.Error(v)
	}
}
