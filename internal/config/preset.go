package config

import (
	"time"

	"crest"
)

// Presets names the presets.
func Presets() []string { return []string{"views", "shares"} }

// Preset returns the configuration of a preset: "views", a trending shelf of videos and hashtags, or "shares",
// trending articles with boards per category and region.
func Preset(name string) (Config, error) {
	switch name {
	case "views":
		return views(), nil
	case "shares":
		return shares(), nil
	}
	return Config{}, crest.Errorf(crest.CodeUnknownValue, "preset", "is %q; valid presets are %v", name, Presets())
}

// countMinBucket is the size of a Count-Min sketch that over-counts by at most 1e-5 of a bucket's weight with 99 %
// confidence: 271,829 x 5 cells of 4 bytes. Buckets of the views preset get the same, and do better with it.
const countMinBucket = 271_829 * 5 * 4

func common(preset string) Config {
	return Config{
		Preset: preset,
		Listen: "127.0.0.1:8080",
		Admin:  "127.0.0.1:8081",
		Data:   "data",
		Counting: Counting{
			Partitions: 8, DedupHorizon: 2 * time.Minute, DedupMemory: GiB, MaxBoards: 64, Checkpoint: 10 * time.Second,
			Hold: 48 * time.Hour,
		},
		Ingest:  Ingest{MaxBody: 8 * MiB, MaxDecompressed: 32 * MiB, MaxEvents: 10_000},
		Log:     Log{Segment: 256 * MiB, RetainAge: 72 * time.Hour, RetainBytes: 64 * GiB, MaxPending: 64 * MiB},
		Archive: Archive{Enabled: true, Retain: 30 * 24 * time.Hour},
		Recount: Recount{Memory: 512 * MiB},
	}
}

func views() Config {
	c := common("views")
	c.Types = []Type{{Name: "video"}, {Name: "hashtag", Normalize: "hashtag"}}
	c.Windows = []crest.Window{
		{Name: "1m", Length: time.Minute, Bucket: 10 * time.Second, Refresh: 10 * time.Second},
		{Name: "1h", Length: time.Hour, Bucket: time.Minute, Refresh: time.Minute},
		{Name: "24h", Length: 24 * time.Hour, Bucket: time.Hour, Refresh: time.Minute},
		{Name: "all", Refresh: time.Minute},
	}
	c.Lists = Lists{MaxK: 1000, Sizes: []int{10, 100, 1000}}
	c.Counting.Shards = 64
	c.Counting.Flush = 2 * time.Second
	c.Counting.Bucket = countMinBucket
	c.Counting.NarrowBucket = countMinBucket / 16
	c.Ingest.Ack = AckLogged
	return c
}

func shares() Config {
	c := common("shares")
	c.Types = []Type{{
		Name: "article", IDField: "article_id",
		Boards: [][]string{{"category"}, {"region"}, {"category", "region"}},
	}}
	c.Dimensions = []Dimension{{Name: "category"}, {Name: "region"}}
	c.Windows = []crest.Window{
		{Name: "5m", Length: 5 * time.Minute, Bucket: 10 * time.Second, Refresh: time.Second},
		{Name: "1h", Length: time.Hour, Bucket: 10 * time.Second, Refresh: time.Second},
		{Name: "24h", Length: 24 * time.Hour, Bucket: 5 * time.Minute, Refresh: time.Second},
	}
	c.Lists = Lists{MaxK: 100}
	c.Counting.Shards = 16
	c.Counting.Flush = 250 * time.Millisecond
	c.Counting.Bucket = MiB
	c.Counting.NarrowBucket = MiB / 16
	c.Ingest.Ack = AckEnqueued
	c.Ingest.Shares = true
	return c
}
