package config

import (
	"math"
	"testing"
	"time"
)

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if math.Abs(got-want) > tolerance*want {
		t.Errorf("%s is %g, want %g within %g %%", what, got, want, tolerance*100)
	}
}

// The figures that views are planned for: 5.4 MB a bucket, 330 MB for an hour of them, an error of 1e-5 of the events (600 views of the
// 60 M of a peak minute), 30 G events a day, 3 TB of them raw.
func TestPlanOfViews(t *testing.T) {
	c, err := Load("", "views")
	if err != nil {
		t.Fatal(err)
	}
	p, err := c.Plan(Traffic{Peak: 1e6, Average: 350e3})
	if err != nil {
		t.Fatal(err)
	}
	minutes := p.Boards[0].Rings[1]
	if minutes.Width != time.Minute || minutes.Buckets != 60 || minutes.Windows[0] != "1h" {
		t.Fatalf("the second ring is %+v", minutes)
	}
	near(t, "a bucket", float64(minutes.BucketBytes), 5.4e6, 0.01)
	near(t, "a bucket on a shard", float64(minutes.ShardBytes), 85e3, 0.01)
	near(t, "an hour of buckets", float64(minutes.Bytes), 330e6, 0.02)
	near(t, "epsilon", p.Windows[0].Epsilon, 1e-5, 0.001)
	near(t, "events of a peak minute", p.Windows[0].Events, 60e6, 0)
	near(t, "classic error of a peak minute", p.Windows[0].Classic, 600, 0.001)
	near(t, "events a day", p.PerDay, 30e9, 0.01)
	near(t, "raw bytes a day", float64(p.RawPerDay), 3e12, 0.01)
	near(t, "archive a day", float64(p.Exact.ArchiveDay), 0.97e12, 0.01)
	near(t, "archive of 30 days", float64(p.Exact.ArchiveKept), 29e12, 0.01)
	near(t, "exact counts a day", float64(p.Exact.CountsDay), 24*5e6*12, 0.001)
	near(t, "events of an hour", p.Exact.HourEvents, 1.26e9, 0.001)
	if hours := p.Boards[0].Rings[2]; !hours.Open || hours.Buckets != 48 || hours.Windows[0] != "24h" {
		t.Errorf("the ring of hours is %+v", hours)
	}
	if s := p.Boards[1].Spellings; s != 64*(c.Counting.Bucket/4/64) || p.Boards[1].Bytes != p.Boards[0].Bytes+s || p.Boards[0].Spellings != 0 {
		t.Errorf("spellings of hashtags have %s, those of videos %s", s, p.Boards[0].Spellings)
	}
	if p.LogKept != c.Log.RetainBytes || !p.LogFull {
		t.Errorf("the log keeps %s; it is bounded to %s", p.LogKept, c.Log.RetainBytes)
	}
	near(t, "how far the log reaches", p.LogReaches.Seconds(), float64(64*GiB)/35e6, 0.001)
	if p.Dedup.AtPeak >= c.Counting.DedupHorizon {
		t.Errorf("1 GiB of ids can't last %s at a million a second", p.Dedup.AtPeak)
	}
}

func TestPlanOfSharesHasTheDesignsFigures(t *testing.T) {
	c, err := Load("", "shares")
	if err != nil {
		t.Fatal(err)
	}
	p, err := c.Plan(Traffic{Peak: 100e3, Average: 1e9 / 86400.0})
	if err != nil {
		t.Fatal(err)
	}
	near(t, "events a day", p.PerDay, 1e9, 0.0001)
	if len(p.Boards) != 2 || p.Boards[1].Name != "narrowed" || p.Boards[1].Boards != 64 {
		t.Fatalf("boards: %+v", p.Boards)
	}
	if p.Boards[1].Bytes != 64*p.Boards[1].Each {
		t.Errorf("64 narrowed boards of %s are %s", p.Boards[1].Each, p.Boards[1].Bytes)
	}
	if p.Memory != p.Boards[0].Bytes+p.Boards[1].Bytes+p.Dedup.Memory {
		t.Errorf("the parts don't add up to %s", p.Memory)
	}
	if p.Dedup.AtPeak != c.Counting.DedupHorizon {
		t.Errorf("ids last %s at the peak", p.Dedup.AtPeak)
	}
	small, err := c.Plan(Traffic{Peak: 100, Average: 10, LogEvent: 50})
	if err != nil {
		t.Fatal(err)
	}
	if small.LogFull || small.LogReaches != c.Log.RetainAge || small.LogKept != Bytes(10*50*c.Log.RetainAge.Seconds()) {
		t.Errorf("a small log keeps %s, the last %s", small.LogKept, small.LogReaches)
	}
	if small.Memory != p.Memory {
		t.Error("memory depends on the rate")
	}
	near(t, "items of a quiet hour", small.Exact.Items, 0.12*36000, 0.001)
	near(t, "exact counts of articles on four boards", float64(p.Exact.CountsDay), 4*24*12*min(5e6, 0.12*1e9/24), 0.001)
	c.Archive.Enabled = false
	if without, err := c.Plan(Traffic{Peak: 100, Average: 10}); err != nil || without.Exact != nil {
		t.Errorf("without an archive: %+v, %v", without.Exact, err)
	}
}

func TestSpellingsHaveALeastSummaryOnEveryShard(t *testing.T) {
	c, _ := Preset("views")
	c.Counting.Bucket = minSummary * Bytes(c.Counting.Shards)
	p, err := c.Plan(Traffic{Peak: 2, Average: 1})
	if err != nil || p.Boards[1].Spellings != c.Counting.Bucket {
		t.Errorf("spellings have %s of a bucket of %s, %v", p.Boards[1].Spellings, c.Counting.Bucket, err)
	}
}

func TestPlanRefusesNonsense(t *testing.T) {
	c, _ := Preset("views")
	if _, err := c.Plan(Traffic{Peak: 1, Average: 2}); err == nil || err.Error() != "average: is 2 events a second; it must be above 0 and at most the peak's 1 (out_of_range)" {
		t.Error(err)
	}
	if _, err := c.Plan(Traffic{Peak: 2e9, Average: 2}); err == nil || err.Error() != "rate: is 2000000000 events a second; it must be above 0 and at most 1000000000 (out_of_range)" {
		t.Error(err)
	}
	if _, err := c.Plan(Traffic{Peak: 2, Average: 1, Items: 3601}); err == nil || err.Error() != "items: are 3601 in an hour; there must be at most one for each of its 3600 events (out_of_range)" {
		t.Error(err)
	}
	for _, bad := range []Traffic{{}, {Peak: 1, Average: 1, Items: -1}, {Peak: 1}, {Peak: 1, Average: 2}, {Peak: -1, Average: -1}, {Peak: math.NaN(), Average: 1}, {Peak: 1e12, Average: 1}} {
		if _, err := c.Plan(bad); err == nil {
			t.Errorf("%+v was planned", bad)
		}
	}
}
