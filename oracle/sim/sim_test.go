package sim

import (
	"os"
	"testing"
	"time"

	"crest"
	"crest/internal/config"
)

// small is a node with little memory, and some traffic of few items.
func small(t *testing.T, preset, start string, length, step time.Duration, events int) Config {
	t.Helper()
	node, err := config.Preset(preset)
	if err != nil {
		t.Fatal(err)
	}
	node.Counting.Shards, node.Counting.Partitions = 8, 3
	node.Counting.Bucket, node.Counting.NarrowBucket, node.Counting.DedupMemory = config.MiB, 256*config.KiB, 32*config.MiB
	node.Counting.Checkpoint = max(2*time.Minute, step)
	for i := range node.Windows {
		node.Windows[i].Refresh = max(node.Windows[i].Refresh, step)
	}
	from, err := time.Parse(time.RFC3339, start)
	if err != nil {
		t.Fatal(err)
	}
	mix := StandardMix()
	mix.Ranks, mix.HoursLate = 3000, 0.0003
	return Config{Dir: memoryDir(t), Node: node, Start: from, Length: length, Step: step, Events: events, Mix: mix, Seed: 1}
}

// memoryDir returns a directory in memory where there is one: syncing thousands of small writes takes most of the time on a
// disk.
func memoryDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "sim") //nolint:usetesting // a TempDir is on disk
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// simulate runs, and then compares the archive, counted by SQL, with what was sent.
func simulate(t *testing.T, cfg Config) (*Result, *Proof) {
	t.Helper()
	result, err := Run(t.Context(), cfg)
	if err != nil {
		t.Fatalf("seed %d: %v", cfg.Seed, err)
	}
	t.Logf("seed %d: %d events, %d copies (%d after the dedup horizon, %d across hours), %d late; %d lists with %d entries; %d stops, %d crashes",
		cfg.Seed, result.Events, result.Copies, result.Repeats, result.Crossed, result.Late, result.Lists, result.Entries, result.Stops, result.Crashes)
	for _, v := range result.First {
		t.Errorf("seed %d: %s", cfg.Seed, v)
	}
	if result.Violations > len(result.First) {
		t.Errorf("seed %d: and %d more", cfg.Seed, result.Violations-len(result.First))
	}
	proof, err := Verify(t.Context(), cfg.Node, result, nil)
	if err != nil {
		t.Fatalf("seed %d: %v", cfg.Seed, err)
	}
	for _, d := range proof.First {
		t.Errorf("seed %d: %s", cfg.Seed, d)
	}
	if result.Entries == 0 || result.Stitched == 0 || proof.Compared == 0 || proof.Sent == 0 || proof.Grades.Lists == 0 {
		t.Errorf("seed %d: something was not checked at all: %d entries, %d stitched lists, %d compared, %d sent, %d graded",
			cfg.Seed, result.Entries, result.Stitched, proof.Compared, proof.Sent, proof.Grades.Lists)
	}
	if result.Stops+result.Crashes != cfg.Restarts {
		t.Errorf("seed %d: %d stops and %d crashes of %d restarts", cfg.Seed, result.Stops, result.Crashes, cfg.Restarts)
	}
	t.Logf("lists that lack an item of the true top 100: %v, at most %d items each", result.Lacking, result.MostLacking)
	t.Logf("%d of them stitched, largest max_overcount %d; %d counts of hours, %d of them again, until %s; %d items compared; grades: %s",
		result.Stitched, result.LargestSeam, result.Counts, result.Again, result.Until.Time(), proof.Compared, &proof.Grades)
	return result, proof
}

func TestAMorningOfViews(t *testing.T) {
	cfg := small(t, "views", "2026-11-30T09:00:00Z", 3*time.Hour, 10*time.Second, 60_000)
	cfg.Restarts = 4
	simulate(t, cfg)
}

func TestAnHourOfShares(t *testing.T) {
	cfg := small(t, "shares", "2026-11-30T09:30:00Z", 50*time.Minute, 30*time.Second, 20_000)
	cfg.Node.Windows = append(cfg.Node.Windows, crest.Window{Name: "all", Refresh: time.Minute})
	cfg.Restarts = 2
	simulate(t, cfg)
}

// span is a part of the simulated time, by when it begins after the start.
func (c *Config) span(after, length time.Duration) Span {
	return Span{From: c.Start.Add(after), To: c.Start.Add(after + length)}
}

// TestOldHoursAreDeleted goes on for longer than raw hours are kept, and the log too.
func TestOldHoursAreDeleted(t *testing.T) {
	cfg := small(t, "views", "2026-11-26T00:00:00Z", 100*time.Hour, 30*time.Minute, 40_000)
	cfg.Node.Archive.Retain = 76 * time.Hour
	cfg.Node.Log.RetainAge, cfg.Node.Log.Segment = 6*time.Hour, 64*config.KiB
	cfg.Restarts = 3
	_, proof := simulate(t, cfg)
	if proof.Unverified == 0 {
		t.Error("no raw hour was deleted")
	}
}

// TestDaysOfHours goes through days that have something special, in steps of minutes.
func TestDaysOfHours(t *testing.T) {
	for _, c := range []struct {
		name, start string
		length      time.Duration
		also        func(c *Config)
	}{
		{"the clocks go back in Europe, and for an hour nothing comes", "2026-10-24T18:00:00Z", 12 * time.Hour, func(c *Config) {
			c.Quiet = []Span{c.span(6*time.Hour, time.Hour)}
		}},
		{"the clocks go forward in Europe, and the recount is down for 3 hours", "2026-03-28T20:00:00Z", 12 * time.Hour, func(c *Config) {
			c.RecountDown = []Span{c.span(4*time.Hour, 3*time.Hour)}
		}},
		{"a leap day, and the recount is down for 30 hours", "2028-02-28T18:00:00Z", 40 * time.Hour, func(c *Config) {
			c.RecountDown = []Span{c.span(4*time.Hour, 30*time.Hour)}
			c.Restarts = 6
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := small(t, "views", c.start, c.length, 10*time.Minute, 2000*int(c.length/time.Hour))
			c.also(&cfg)
			simulate(t, cfg)
		})
	}
}
