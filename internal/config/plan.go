package config

import (
	"math"
	"math/bits"
	"strconv"
	"time"

	"crest"
)

// The sizes that a plan reckons with.
const (
	rawEventBytes   = 100       // an event as it is kept uncompressed, assumed
	archiveRowBytes = 32        // a row of the archive, measured with ids and sessions that look like chance and items of 11 bytes
	countRowBytes   = 12        // an item in an hour's exact counts, measured with the same
	usualItems      = 5e6       // different items in an hour at most
	usualVariety    = 0.12      // of an hour's events, if that is less
	longWindow      = time.Hour // windows longer than this see the average rate, not the peak

	countMinDepth  = 5             // rows of a Count-Min sketch that is right with 99 % confidence: ln(1/0.01), rounded up
	countMinCell   = 4             // bytes
	idBytes        = 8             // a remembered event id
	plannedKey     = 16            // bytes of an item's id with its place in a summary
	entryBytes     = (128 + 4) / 8 // an entry of a summary's heavy part, with its share of the set
	totalItemBytes = 40 + 8        // an item in a window's totals, with its share of the index
	spellingsPart  = 4             // spellings of a normalised type have a bucket of this part

	maxPeak = 1e9 // events per second
)

// Traffic is what a plan is made for.
type Traffic struct {
	Peak     float64 // events per second
	Average  float64 // events per second over a day
	LogEvent float64 // bytes of an event in the log, as measured; 0 reckons with raw events
	Items    float64 // different items in an hour; 0 reckons with 12 % of its events, 5 million at most
}

// Plan is what a configuration needs at most, and what its errors would be with a classic sketch of the same size.
type Plan struct {
	Preset     string        `json:"preset"`
	Peak       float64       `json:"peak_events_per_second"`
	Average    float64       `json:"average_events_per_second"`
	PerDay     float64       `json:"events_per_day"`
	Shards     int           `json:"shards"`
	Partitions int           `json:"partitions"`
	PerPart    float64       `json:"peak_events_per_second_and_partition"`
	Boards     []BoardPlan   `json:"boards"`
	Windows    []WindowPlan  `json:"windows"`
	Dedup      DedupPlan     `json:"dedup"`
	Memory     Bytes         `json:"memory_bytes"` // of all boards and the remembered ids
	RawPerDay  Bytes         `json:"raw_bytes_per_day"`
	LogPerDay  Bytes         `json:"log_bytes_per_day"`
	LogKept    Bytes         `json:"log_bytes_kept"`
	LogReaches time.Duration `json:"log_reaches_ns"` // how far back the log goes at the average rate
	LogFull    bool          `json:"log_full"`       // log.retain_bytes is reached before log.retain_age
	Exact      *ExactPlan    `json:"exact"`          // nil without an archive
}

// ExactPlan is what the exact path needs.
type ExactPlan struct {
	ArchiveDay  Bytes         `json:"archive_bytes_per_day"`
	ArchiveKept Bytes         `json:"archive_bytes_kept"`
	Retain      time.Duration `json:"retain_ns"`
	Items       float64       `json:"items_per_hour"` // different ones, on a type's board
	CountsDay   Bytes         `json:"counts_bytes_per_day"`
	CountsYear  Bytes         `json:"counts_bytes_per_year"` // they are kept
	Memory      Bytes         `json:"recount_memory_bytes"`
	HourEvents  float64       `json:"events_per_hour"`
}

// BoardPlan is the memory of boards of one kind.
type BoardPlan struct {
	Name      string     `json:"name"` // a type, or "narrowed"
	Boards    int        `json:"boards"`
	Rings     []RingPlan `json:"rings"`
	Totals    Bytes      `json:"totals_bytes"`    // running totals of one board's windows, at most
	Spellings Bytes      `json:"spellings_bytes"` // of a normalised type
	Each      Bytes      `json:"bytes_each"`
	Bytes     Bytes      `json:"bytes"`
}

// RingPlan is the memory of one row of buckets of a board.
type RingPlan struct {
	Width       time.Duration `json:"width_ns"` // 0 for all time
	Buckets     int           `json:"buckets"`
	BucketBytes Bytes         `json:"bucket_bytes"` // over all shards
	ShardBytes  Bytes         `json:"shard_bytes"`  // of one bucket on one shard
	Bytes       Bytes         `json:"bytes"`
	Windows     []string      `json:"windows"`
	Open        bool          `json:"open"` // the open hours of all time are estimated from it
}

// WindowPlan is how wrong a classic Count-Min sketch of the same bytes would be over a window: by at most epsilon times
// the events, with 99 % confidence. It is what to be measured against, not what Crest promises: a list's own error is
// certain, and smaller.
type WindowPlan struct {
	Name    string  `json:"name"`
	Events  float64 `json:"events"` // of all time: per day
	Epsilon float64 `json:"epsilon"`
	Classic float64 `json:"classic_error"` // events
}

// DedupPlan is for how long event ids can be remembered.
type DedupPlan struct {
	Memory    Bytes         `json:"memory_bytes"`
	Horizon   time.Duration `json:"horizon_ns"`
	IDs       float64       `json:"ids"`        // that fit at once
	AtPeak    time.Duration `json:"at_peak_ns"` // how long they are kept at the peak rate, at most the horizon
	AtAverage time.Duration `json:"at_average_ns"`
}

// Plan works out what the configuration needs for a load. Memory figures are limits: summaries begin small and grow as
// items come.
func (c *Config) Plan(t Traffic) (Plan, error) {
	if !(t.Peak > 0 && t.Peak <= maxPeak) {
		return Plan{}, crest.Errorf(crest.CodeOutOfRange, "rate", "is %s events a second; it must be above 0 and at most %s", plain(t.Peak), plain(maxPeak))
	}
	if !(t.Average > 0 && t.Average <= t.Peak) {
		return Plan{}, crest.Errorf(crest.CodeOutOfRange, "average", "is %s events a second; it must be above 0 and at most the peak's %s", plain(t.Average), plain(t.Peak))
	}
	if !(t.Items >= 0 && t.Items <= t.Average*time.Hour.Seconds()) {
		return Plan{}, crest.Errorf(crest.CodeOutOfRange, "items", "are %s in an hour; there must be at most one for each of its %s events",
			plain(t.Items), plain(t.Average*time.Hour.Seconds()))
	}
	p := Plan{
		Preset: c.Preset, Peak: t.Peak, Average: t.Average, PerDay: t.Average * day.Seconds(),
		Shards: c.Counting.Shards, Partitions: c.Counting.Partitions, PerPart: t.Peak / float64(c.Counting.Partitions),
	}
	c.planMemory(&p)
	c.planErrors(&p)
	c.planDedup(&p)
	for _, b := range p.Boards {
		p.Memory += b.Bytes
	}
	p.Memory += p.Dedup.Memory
	c.planDisk(&p, t)
	c.planExact(&p, t)
	return p, nil
}

// plain writes a rate without an exponent.
func plain(rate float64) string { return strconv.FormatFloat(rate, 'f', -1, 64) }

const day = 24 * time.Hour

func (c *Config) planMemory(p *Plan) {
	for _, t := range c.Types {
		p.Boards = append(p.Boards, c.planType(t))
	}
	if c.narrows() && c.Counting.MaxBoards > 0 {
		p.Boards = append(p.Boards, c.planBoard("narrowed", c.Counting.MaxBoards, c.Counting.NarrowBucket))
	}
}

func (c *Config) planType(t Type) BoardPlan {
	b := c.planBoard(t.Name, 1, c.Counting.Bucket)
	if t.Normalize != "" {
		shards := Bytes(c.Counting.Shards)
		b.Spellings = shards * max(minSummary, c.Counting.Bucket/spellingsPart/shards)
		b.Each += b.Spellings
		b.Bytes = b.Each
	}
	return b
}

func (c *Config) planBoard(name string, boards int, bucket Bytes) BoardPlan {
	b := BoardPlan{Name: name, Boards: boards}
	entries := bucket / 2 / (entryBytes + plannedKey)
	for _, ring := range c.Rings() {
		r := RingPlan{
			Width: ring.Width, Buckets: ring.Buckets, BucketBytes: bucket, ShardBytes: bucket / Bytes(c.Counting.Shards),
			Bytes: bucket * Bytes(ring.Buckets), Open: ring.Open,
		}
		if ring.Open {
			b.Totals += entries * Bytes(ring.Buckets) * (totalItemBytes + plannedKey)
		}
		for _, w := range ring.Windows {
			r.Windows = append(r.Windows, w.Name)
			b.Totals += entries * Bytes(w.Buckets()) * (totalItemBytes + plannedKey)
		}
		b.Each += r.Bytes
		b.Rings = append(b.Rings, r)
	}
	b.Each += b.Totals
	b.Bytes = b.Each * Bytes(boards)
	return b
}

func (c *Config) planErrors(p *Plan) {
	cells := float64(c.Counting.Bucket) / countMinDepth / countMinCell
	for _, w := range c.Windows {
		plan := WindowPlan{Name: w.Name, Epsilon: math.E / cells}
		switch {
		case w.AllTime():
			plan.Events = p.PerDay
		case w.Length > longWindow:
			plan.Events = p.Average * w.Length.Seconds()
		default:
			plan.Events = p.Peak * w.Length.Seconds()
		}
		plan.Classic = plan.Epsilon * plan.Events
		p.Windows = append(p.Windows, plan)
	}
}

// planDedup reckons with both generations of ids: the younger is as old as the horizon when it becomes the older.
func (c *Config) planDedup(p *Plan) {
	n := c.Counting
	p.Dedup = DedupPlan{Memory: n.DedupMemory, Horizon: n.DedupHorizon}
	if n.DedupHorizon == 0 {
		p.Dedup.Memory = 0
		return
	}
	generation := float64(n.Partitions) * idsOfGeneration(n.DedupMemory/Bytes(n.Partitions))
	p.Dedup.IDs = 2 * generation
	kept := func(rate float64) time.Duration {
		return time.Duration(min(generation/rate, n.DedupHorizon.Seconds()) * float64(time.Second))
	}
	p.Dedup.AtPeak, p.Dedup.AtAverage = kept(p.Peak), kept(p.Average)
}

// idsOfGeneration is how many ids one of two generations can have, that share a table of a power of two of places, three
// quarters of them used.
func idsOfGeneration(memory Bytes) float64 {
	places := uint64(max(1, memory/idBytes))
	return float64(uint64(1)<<(bits.Len64(places)-1)) * 3 / 4 / 2
}

func (c *Config) planDisk(p *Plan, t Traffic) {
	inLog := t.LogEvent
	if inLog == 0 {
		inLog = rawEventBytes
	}
	p.RawPerDay = Bytes(p.PerDay * rawEventBytes)
	p.LogPerDay = Bytes(p.PerDay * inLog)
	perSecond := p.Average * inLog
	whole := perSecond * c.Log.RetainAge.Seconds()
	p.LogKept, p.LogReaches = Bytes(whole), c.Log.RetainAge
	if p.LogFull = whole > float64(c.Log.RetainBytes); p.LogFull {
		p.LogKept = c.Log.RetainBytes
		p.LogReaches = time.Duration(float64(c.Log.RetainBytes) / perSecond * float64(time.Second))
	}
}

// planExact reckons with an item on as many boards as an event of its type can be on.
func (c *Config) planExact(p *Plan, t Traffic) {
	if !c.Archive.Enabled {
		return
	}
	x := &ExactPlan{Retain: c.Archive.Retain, Memory: c.Recount.Memory, HourEvents: p.Average * time.Hour.Seconds(), Items: t.Items}
	x.ArchiveDay = Bytes(p.PerDay * archiveRowBytes)
	x.ArchiveKept = Bytes(p.PerDay * archiveRowBytes * x.Retain.Hours() / day.Hours())
	if x.Items == 0 {
		x.Items = min(usualItems, usualVariety*x.HourEvents)
	}
	boards := 1
	for _, t := range c.Types {
		boards = max(boards, 1+len(t.Boards))
	}
	perDay := x.Items * float64(boards) * day.Hours() * countRowBytes
	x.CountsDay, x.CountsYear = Bytes(perDay), Bytes(365*perDay)
	p.Exact = x
}
