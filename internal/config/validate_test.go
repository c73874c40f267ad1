package config

import (
	"errors"
	"strings"
	"testing"
	"time"

	"crest"
	"crest/internal/eventlog/disklog"
)

func TestValidateNamesTheField(t *testing.T) {
	for _, test := range []struct {
		field  string
		break_ func(*Config)
	}{
		{"preset", func(c *Config) { c.Preset = "" }},
		{"listen", func(c *Config) { c.Listen = "8080" }},
		{"admin", func(c *Config) { c.Admin = "x" }},
		{"data", func(c *Config) { c.Data = "" }},
		{"types", func(c *Config) { c.Types = nil }},
		{"types[0].name", func(c *Config) { c.Types[0].Name = "a/b" }},
		{"types[0].name", func(c *Config) { c.Types[0].Name = "" }},
		{"types[1].name", func(c *Config) { c.Types = append(c.Types, c.Types[0]) }},
		{"types[0].normalize", func(c *Config) { c.Types[0].Normalize = "lower" }},
		{"types[0].id_field", func(c *Config) { c.Types[0].IDField = "count" }},
		{"types[0].id_field", func(c *Config) { c.Types[0].IDField = "ts" }},
		{"types[0].id_field", func(c *Config) { c.Types[0].IDField = "region" }},
		{"types[0].boards[0]", func(c *Config) { c.Types[0].Boards[0] = []string{"colour"} }},
		{"types[0].boards[0]", func(c *Config) { c.Types[0].Boards[0] = nil }},
		{"types[0].boards[2]", func(c *Config) { c.Types[0].Boards[2] = []string{"region", "category"} }},
		{"types[0].boards[1]", func(c *Config) { c.Types[0].Boards[1] = []string{"category"} }},
		{"dimensions", func(c *Config) {
			c.Dimensions = append(c.Dimensions, Dimension{Name: "a"}, Dimension{Name: "b"}, Dimension{Name: "c"})
		}},
		{"dimensions[1].name", func(c *Config) { c.Dimensions[1].Name = "category" }},
		{"dimensions[0].name", func(c *Config) { c.Dimensions[0].Name = "window" }},
		{"dimensions[0].values[0]", func(c *Config) { c.Dimensions[0].Values = []string{"a=b"} }},
		{"dimensions[0].values[1]", func(c *Config) { c.Dimensions[0].Values = []string{"a", "a"} }},
		{"windows", func(c *Config) { c.Windows = nil }},
		{"windows[0].name", func(c *Config) { c.Windows[0].Name = "5 min" }},
		{"windows[0].name", func(c *Config) { c.Windows[0].Name = ".." }},
		{"windows[1].name", func(c *Config) { c.Windows[1].Name = "5m" }},
		{"windows[0].length", func(c *Config) { c.Windows[0].Length = -time.Minute }},
		{"windows[0].bucket", func(c *Config) { c.Windows[0].Bucket = 0 }},
		{"windows[0].bucket", func(c *Config) { c.Windows[0].Bucket = 7 * time.Second }},
		{"windows[0].bucket", func(c *Config) { c.Windows[0].Length = 0 }},
		{"windows[2].bucket", func(c *Config) { c.Windows[2].Bucket = 15 * time.Second }},
		{"windows[2].bucket", func(c *Config) { c.Windows[2].Bucket = time.Second }},
		{"windows[0].refresh", func(c *Config) { c.Windows[0].Refresh = 0 }},
		{"windows[0].refresh", func(c *Config) { c.Windows[0].Refresh = 3 * time.Second }},
		{"windows[0].refresh", func(c *Config) { c.Windows[0].Refresh = 1500 * time.Microsecond }},
		{"lists.max_k", func(c *Config) { c.Lists.MaxK = 1001 }},
		{"lists.sizes[1]", func(c *Config) { c.Lists.Sizes = []int{10, 10} }},
		{"lists.sizes[0]", func(c *Config) { c.Lists.Sizes = []int{101} }},
		{"counting.shards", func(c *Config) { c.Counting.Shards = 12 }},
		{"counting.shards", func(c *Config) { c.Counting.Shards = 2048 }},
		{"counting.partitions", func(c *Config) { c.Counting.Partitions = 0 }},
		{"counting.flush", func(c *Config) { c.Counting.Flush = 2 * time.Second }},
		{"counting.flush", func(c *Config) { c.Counting.Flush = 0 }},
		{"counting.bucket", func(c *Config) { c.Counting.Bucket = KiB }},
		{"counting.narrow_bucket", func(c *Config) { c.Counting.NarrowBucket = 0 }},
		{"counting.max_boards", func(c *Config) { c.Counting.MaxBoards = -1 }},
		{"counting.dedup_horizon", func(c *Config) { c.Counting.DedupHorizon = -1 }},
		{"counting.dedup_memory", func(c *Config) { c.Counting.DedupMemory = KiB }},
		{"counting.checkpoint", func(c *Config) { c.Counting.Checkpoint = 0 }},
		{"ingest.ack", func(c *Config) { c.Ingest.Ack = "maybe" }},
		{"ingest.max_body", func(c *Config) { c.Ingest.MaxBody = 0 }},
		{"ingest.max_decompressed", func(c *Config) { c.Ingest.MaxDecompressed = KiB }},
		{"ingest.max_events", func(c *Config) { c.Ingest.MaxEvents = 0 }},
		{"log.segment", func(c *Config) { c.Log.Segment = 0 }},
		{"log.retain_age", func(c *Config) { c.Log.RetainAge = 0 }},
		{"log.retain_bytes", func(c *Config) { c.Log.RetainBytes = 0 }},
		{"log.max_pending", func(c *Config) { c.Log.MaxPending = MiB }},
		{"log.max_pending", func(c *Config) { c.Log.MaxPending = GiB + 1 }},
	} {
		t.Run(test.field, func(t *testing.T) {
			c, err := Preset("shares")
			if err != nil {
				t.Fatal(err)
			}
			test.break_(&c)
			err = c.Validate()
			if err == nil || !hasField(err, test.field) {
				t.Errorf("got %v, want an error of field %s", err, test.field)
			}
		})
	}
}

// TestTheLogTakesWhatIsValid opens a log with the most that may wait, so that both have one limit.
func TestTheLogTakesWhatIsValid(t *testing.T) {
	c, _ := Preset("views")
	c.Log.MaxPending = MaxPending
	if err := c.Validate(); err != nil {
		t.Error(err)
	}
	if err := (disklog.Config{Dir: "x", MaxPendingBytes: int(MaxPending)}).Validate(); err != nil {
		t.Error(err)
	}
	if err := (disklog.Config{Dir: "x", MaxPendingBytes: int(MaxPending) + 1}).Validate(); err == nil {
		t.Error("the log takes more than a configuration may say")
	}
}

func hasField(err error, field string) bool {
	var joined interface{ Unwrap() []error }
	if !errors.As(err, &joined) {
		return false
	}
	for _, e := range joined.Unwrap() {
		if e, ok := errors.AsType[*crest.Error](e); ok && e.Field == field {
			return true
		}
	}
	return false
}

func TestValidateReportsEverything(t *testing.T) {
	c, _ := Preset("views")
	c.Data, c.Counting.Shards, c.Lists.MaxK = "", 5, 0
	err := c.Validate()
	for _, field := range []string{"data: ", "counting.shards: ", "lists.max_k: "} {
		if err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("%v does not mention %s", err, field)
		}
	}
}
