package sim

import (
	"math"
	"os"
	"testing"
	"time"

	"crest"
	"crest/internal/config"
	"crest/oracle/recount"
)

// small is a node with little memory, and a morning of traffic.
func small(t *testing.T, preset string) Config {
	t.Helper()
	node, err := config.Preset(preset)
	if err != nil {
		t.Fatal(err)
	}
	node.Counting.Shards, node.Counting.Partitions = 4, 3
	node.Counting.DedupMemory = 32 * config.MiB
	node.Counting.Checkpoint = 2 * time.Minute
	mix := StandardMix()
	mix.Ranks = 3000
	return Config{
		Dir: memoryDir(t), Node: node, Start: time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC), Length: 3 * time.Hour,
		Step: 10 * time.Second, Events: 60_000, Mix: mix, Seed: 1, Restarts: 4,
	}
}

// memoryDir returns a directory in memory where there is one: syncing thousands of small writes takes most of the time on a
// disk.
func memoryDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "sim")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// simulate runs, and then compares the archive, counted by SQL, with what was sent.
func simulate(t *testing.T, cfg Config) *Result {
	t.Helper()
	result, err := Run(t.Context(), cfg)
	if err != nil {
		t.Fatalf("seed %d: %v", cfg.Seed, err)
	}
	t.Logf("seed %d: %d events, %d copies of which %d after the dedup horizon, %d late; %d lists with %d entries; %d stops, %d crashes",
		cfg.Seed, result.Events, result.Copies, result.Repeats, result.Late, result.Lists, result.Entries, result.Stops, result.Crashes)
	for _, v := range result.First {
		t.Errorf("seed %d: %s", cfg.Seed, v)
	}
	if result.Violations > len(result.First) {
		t.Errorf("seed %d: and %d more", cfg.Seed, result.Violations-len(result.First))
	}
	node := cfg.Node
	node.Data = result.Data
	compareArchive(t, &node, result)
	return result
}

func compareArchive(t *testing.T, node *config.Config, result *Result) {
	t.Helper()
	r, err := recount.Open(t.Context(), recount.ConfigOf(node))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	want := result.Truth.All()
	err = r.Sums(t.Context(), 0, math.MaxInt64, math.MaxInt64, func(row recount.Row) error {
		if n := want[row.Board][row.Item]; n != row.Count {
			t.Errorf("%s %s: the oracle has %d, sent were %d", row.Board, row.Item, row.Count, n)
		}
		delete(want[row.Board], row.Item)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for board, items := range want {
		for item, n := range items {
			t.Errorf("%s %s: the oracle has nothing, sent were %d", board, item, n)
		}
	}
}

func TestAMorningOfViews(t *testing.T) {
	simulate(t, small(t, "views"))
}

func TestAnHourOfShares(t *testing.T) {
	cfg := small(t, "shares")
	cfg.Length, cfg.Step, cfg.Events, cfg.Restarts = time.Hour, 5*time.Second, 20_000, 2
	for i := range cfg.Node.Windows {
		cfg.Node.Windows[i].Refresh = 5 * time.Second
	}
	cfg.Node.Windows = append(cfg.Node.Windows, crest.Window{Name: "all", Refresh: time.Minute})
	simulate(t, cfg)
}
