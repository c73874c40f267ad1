package config

import (
	"errors"
	"fmt"
	"math/bits"
	"net"
	"slices"
	"strings"
	"time"

	"crest"
)

// The limits of a configuration.
const (
	MaxTypes        = 256
	MaxWindows      = 16
	MaxShards       = 1024
	MaxPartitions   = 256
	MaxK            = 1000
	MaxBoards       = 10_000
	MaxRingBuckets  = 4096
	MaxWindowLength = 366 * 24 * time.Hour
	MinRefresh      = 100 * time.Millisecond
	MinBucketWidth  = time.Second
	MaxDedupHorizon = time.Hour
	MaxDedupMemory  = TiB
	MaxPending      = GiB // what the event log takes
	MinRecount      = 64 * MiB
	MaxRecount      = TiB
	MinHold         = 4 * time.Hour // an hour closes, is counted, and that can fail a few times
	MaxHold         = 31 * 24 * time.Hour
	MinRetain       = crest.MaxAge + 3*time.Hour // events come for an hour for as long as this

	maxArchivedHorizon = 10 * time.Minute // the edge of an hour is twice as long, see Config.Edge

	minSummary       = 4 * KiB // what sketch.New accepts
	maxSummary       = GiB
	minDedupOfOne    = 64 * KiB // remembered ids of one partition
	maxWindowNameLen = 32
)

// problems collects what is wrong, so that an operator can mend a file in one go.
type problems []error

func (p *problems) add(code crest.Code, field, format string, args ...any) {
	*p = append(*p, crest.Errorf(code, field, format, args...))
}

func (p *problems) check(ok bool, field, format string, args ...any) {
	if !ok {
		p.add(crest.CodeOutOfRange, field, format, args...)
	}
}

func (p *problems) name(field, s string) {
	if err := crest.CheckName(field, s, crest.MaxTypeBytes); err != nil {
		*p = append(*p, err)
	}
}

// Validate reports everything that a node can't run with, as [crest.Error]s joined into one error, each with the YAML
// name of its field.
func (c *Config) Validate() error {
	var p problems
	c.checkPlaces(&p)
	c.checkDimensions(&p)
	c.checkTypes(&p)
	c.checkWindows(&p)
	c.checkLists(&p)
	c.checkCounting(&p)
	c.checkIngest(&p)
	c.checkLog(&p)
	c.checkExact(&p)
	return errors.Join(p...)
}

func (c *Config) checkPlaces(p *problems) {
	p.check(slices.Contains(Presets(), c.Preset), "preset", "is %q; valid presets are %s", c.Preset, strings.Join(Presets(), ", "))
	for _, a := range []struct{ field, address string }{{"listen", c.Listen}, {"admin", c.Admin}} {
		if a.field == "admin" && a.address == "" {
			continue // no operator's endpoints
		}
		if _, _, err := net.SplitHostPort(a.address); err != nil {
			p.add(crest.CodeMalformed, a.field, "is %q; write host:port, such as 127.0.0.1:8080 or :8080", a.address)
		}
	}
	p.check(c.Data != "", "data", "is empty; name a directory")
}

// reserved reports whether an event or a query already uses the name, so that no dimension can be called so.
func reserved(name string) bool {
	return slices.Contains([]string{"id", "type", "item", "ts", "ts_ms", "session", "weight", "dimensions", "window", "k"}, name)
}

func (c *Config) checkDimensions(p *problems) {
	p.check(len(c.Dimensions) <= crest.MaxDimensions, "dimensions", "has %d dimensions; at most %d are possible",
		len(c.Dimensions), crest.MaxDimensions)
	seen := map[string]bool{}
	for i, d := range c.Dimensions {
		field := fmt.Sprintf("dimensions[%d]", i)
		p.name(field+".name", d.Name)
		p.check(!seen[d.Name], field+".name", "%q is declared twice", d.Name)
		p.check(!reserved(d.Name), field+".name", "%q has a meaning of its own in events or queries; choose another name", d.Name)
		seen[d.Name] = true
		values := map[string]bool{}
		for j, v := range d.Values {
			at := fmt.Sprintf("%s.values[%d]", field, j)
			p.name(at, v)
			p.check(!values[v], at, "%q is listed twice", v)
			values[v] = true
		}
	}
}

// entryField reports whether an entry of a list has a field of that name beside its id.
func entryField(name string) bool {
	return slices.Contains([]string{"rank", "title", "thumbnail", "count", "error", "previous_rank"}, name)
}

func (c *Config) checkTypes(p *problems) {
	if len(c.Types) == 0 {
		p.add(crest.CodeMissingField, "types", "is empty; declare at least one type")
	}
	p.check(len(c.Types) <= MaxTypes, "types", "has %d types; at most %d are possible", len(c.Types), MaxTypes)
	seen := map[string]bool{}
	for i, t := range c.Types {
		field := fmt.Sprintf("types[%d]", i)
		p.name(field+".name", t.Name)
		p.check(!seen[t.Name], field+".name", "%q is declared twice", t.Name)
		seen[t.Name] = true
		p.check(t.Normalize == "" || t.Normalize == "hashtag", field+".normalize",
			`is %q; valid are hashtag and "" (items are counted as they come)`, t.Normalize)
		c.checkIDField(p, field+".id_field", t.IDField)
		c.checkBoards(p, field, t)
	}
}

func (c *Config) checkIDField(p *problems, field, name string) {
	if name == "" || name == "item" || name == "id" {
		return
	}
	p.name(field, name)
	taken := entryField(name) || reserved(name) ||
		slices.ContainsFunc(c.Dimensions, func(d Dimension) bool { return d.Name == name })
	p.check(!taken, field, "%q is already the name of another field; choose another name", name)
}

func (c *Config) checkBoards(p *problems, field string, t Type) {
	seen := map[string]bool{}
	for i, board := range t.Boards {
		at := fmt.Sprintf("%s.boards[%d]", field, i)
		p.check(len(board) > 0, at, "is empty; the whole type has a board anyway")
		last := -1
		for _, name := range board {
			d := slices.IndexFunc(c.Dimensions, func(d Dimension) bool { return d.Name == name })
			if d < 0 {
				p.add(crest.CodeUnknownValue, at, "names %q, which is not among the dimensions", name)
				continue
			}
			p.check(d > last, at, "names %q out of order or twice; keep the order of dimensions", name)
			last = max(last, d)
		}
		key := strings.Join(board, "/")
		p.check(!seen[key], at, "repeats an earlier board")
		seen[key] = true
	}
}

func (c *Config) checkWindows(p *problems) {
	if len(c.Windows) == 0 {
		p.add(crest.CodeMissingField, "windows", "is empty; declare at least one window")
	}
	p.check(len(c.Windows) <= MaxWindows, "windows", "has %d windows; at most %d are possible", len(c.Windows), MaxWindows)
	finest := c.finestBucket()
	seen := map[string]bool{}
	for i, w := range c.Windows {
		field := fmt.Sprintf("windows[%d]", i)
		checkWindowName(p, field+".name", w.Name)
		p.check(!seen[w.Name], field+".name", "%q is declared twice", w.Name)
		seen[w.Name] = true
		checkRefresh(p, field+".refresh", w)
		if w.AllTime() {
			p.check(w.Bucket == 0, field+".bucket", "is %s, but a window without a length counts all time in one bucket; leave it out", w.Bucket)
			continue
		}
		checkSpan(p, field, w, finest)
	}
}

func (c *Config) finestBucket() time.Duration {
	finest := time.Duration(0)
	for _, w := range c.Windows {
		if w.Bucket > 0 && (finest == 0 || w.Bucket < finest) {
			finest = w.Bucket
		}
	}
	return finest
}

// checkWindowName keeps names to what a URL and a directory take as they are.
func checkWindowName(p *problems, field, name string) {
	odd := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_'
	}
	if name == "" {
		p.add(crest.CodeMissingField, field, "is empty; name the window, such as 5m")
		return
	}
	p.check(len(name) <= maxWindowNameLen, field, "has %d bytes; at most %d are allowed", len(name), maxWindowNameLen)
	p.check(!strings.ContainsFunc(name, odd), field, "is %q; use letters, digits, - and _ alone", name)
}

func checkSpan(p *problems, field string, w crest.Window, finest time.Duration) {
	p.check(w.Length > 0 && w.Length <= MaxWindowLength, field+".length", "is %s; it must be positive and at most %s, or left out for all time", w.Length, MaxWindowLength)
	if w.Bucket < MinBucketWidth || w.Bucket%time.Millisecond != 0 {
		p.check(false, field+".bucket", "is %s; it must be at least %s, in whole milliseconds", w.Bucket, MinBucketWidth)
		return
	}
	p.check(w.Length%w.Bucket == 0, field+".bucket", "is %s, which does not divide the window's length of %s", w.Bucket, w.Length)
	p.check(w.Length/w.Bucket <= MaxRingBuckets, field+".bucket", "is %s, which cuts %s into %d buckets; at most %d are possible",
		w.Bucket, w.Length, w.Length/w.Bucket, MaxRingBuckets)
	p.check(w.Bucket%finest == 0, field+".bucket", "is %s, which is not a multiple of the finest bucket, %s", w.Bucket, finest)
}

func checkRefresh(p *problems, field string, w crest.Window) {
	if w.Refresh < MinRefresh || w.Refresh%time.Millisecond != 0 {
		p.check(false, field, "is %s; it must be at least %s, in whole milliseconds", w.Refresh, MinRefresh)
		return
	}
	p.check(w.Refresh <= 24*time.Hour, field, "is %s; at most 24h are possible", w.Refresh)
	if w.Bucket > 0 {
		p.check(w.Bucket%w.Refresh == 0 || w.Refresh%w.Bucket == 0, field,
			"is %s, which neither divides the bucket of %s nor is a multiple of it", w.Refresh, w.Bucket)
	}
}

func (c *Config) checkLists(p *problems) {
	p.check(c.Lists.MaxK >= 1 && c.Lists.MaxK <= MaxK, "lists.max_k", "is %d; it must be from 1 to %d", c.Lists.MaxK, MaxK)
	last := 0
	for i, k := range c.Lists.Sizes {
		field := fmt.Sprintf("lists.sizes[%d]", i)
		p.check(k > last, field, "is %d; sizes must be positive and ascend", k)
		p.check(k <= c.Lists.MaxK, field, "is %d, above max_k, which is %d", k, c.Lists.MaxK)
		last = k
	}
}

func (c *Config) checkCounting(p *problems) {
	n := c.Counting
	shardsFit := n.Shards >= 1 && n.Shards <= MaxShards && bits.OnesCount(uint(n.Shards)) == 1
	p.check(shardsFit, "counting.shards", "is %d; it must be a power of two from 1 to %d", n.Shards, MaxShards)
	partitionsFit := n.Partitions >= 1 && n.Partitions <= MaxPartitions
	p.check(partitionsFit, "counting.partitions", "is %d; it must be from 1 to %d", n.Partitions, MaxPartitions)
	for _, w := range c.Windows {
		p.check(n.Flush <= w.Refresh, "counting.flush", "is %s, longer than the refresh of window %s, %s", n.Flush, w.Name, w.Refresh)
	}
	p.check(n.Flush >= 10*time.Millisecond, "counting.flush", "is %s; it must be at least 10ms", n.Flush)
	if shardsFit {
		checkSummary(p, "counting.bucket", n.Bucket, n.Shards)
		if c.narrows() {
			checkSummary(p, "counting.narrow_bucket", n.NarrowBucket, n.Shards)
		}
	}
	p.check(n.MaxBoards >= 0 && n.MaxBoards <= MaxBoards, "counting.max_boards", "is %d; it must be from 0 to %d", n.MaxBoards, MaxBoards)
	p.check(n.DedupHorizon >= 0 && n.DedupHorizon <= MaxDedupHorizon, "counting.dedup_horizon",
		"is %s; it must be from 0 (off) to %s", n.DedupHorizon, MaxDedupHorizon)
	if n.DedupHorizon > 0 && partitionsFit {
		least := minDedupOfOne * Bytes(n.Partitions)
		p.check(n.DedupMemory >= least, "counting.dedup_memory", "is %s; %d partitions need at least %s", n.DedupMemory, n.Partitions, least)
		p.check(n.DedupMemory <= MaxDedupMemory, "counting.dedup_memory", "is %s; at most %s are possible", n.DedupMemory, MaxDedupMemory)
	}
	p.check(n.Checkpoint >= time.Second && n.Checkpoint <= time.Hour, "counting.checkpoint", "is %s; it must be from 1s to 1h", n.Checkpoint)
}

func (c *Config) narrows() bool {
	return slices.ContainsFunc(c.Types, func(t Type) bool { return len(t.Boards) > 0 })
}

func checkSummary(p *problems, field string, bucket Bytes, shards int) {
	least, most := minSummary*Bytes(shards), maxSummary*Bytes(shards)
	p.check(bucket >= least && bucket <= most, field, "is %s; with %d shards it must be from %s to %s", bucket, shards, least, most)
}

func (c *Config) checkExact(p *problems) {
	if !c.Archive.Enabled {
		return
	}
	p.check(c.Archive.Retain >= MinRetain, "archive.retain", "is %s; late events can come for %s, so it must be at least %s",
		c.Archive.Retain, crest.MaxAge, MinRetain)
	p.check(c.Recount.Memory >= MinRecount && c.Recount.Memory <= MaxRecount, "recount.memory", "is %s; it must be from %s to %s",
		c.Recount.Memory, MinRecount, MaxRecount)
	p.check(c.Counting.DedupHorizon <= maxArchivedHorizon, "counting.dedup_horizon", "is %s; with an archive at most %s are possible",
		c.Counting.DedupHorizon, maxArchivedHorizon)
	finest := c.finestBucket()
	p.check(finest == 0 || time.Hour%finest == 0 || !slices.ContainsFunc(c.Windows, c.Stitched), "windows",
		"have buckets of %s, which don't divide an hour; with an archive they must", finest)
	hold := c.Counting.Hold
	p.check(hold >= MinHold && hold <= MaxHold && hold%time.Hour == 0, "counting.hold", "is %s; it must be from %s to %s, in whole hours",
		hold, MinHold, MaxHold)
}

func (c *Config) checkIngest(p *problems) {
	in := c.Ingest
	p.check(in.Ack == AckLogged || in.Ack == AckEnqueued, "ingest.ack", "is %q; valid are %s and %s", in.Ack, AckLogged, AckEnqueued)
	p.check(in.MaxBody >= KiB && in.MaxBody <= GiB, "ingest.max_body", "is %s; it must be from %s to %s", in.MaxBody, KiB, GiB)
	p.check(in.MaxDecompressed >= in.MaxBody && in.MaxDecompressed <= GiB, "ingest.max_decompressed",
		"is %s; it must be at least max_body, %s, and at most %s", in.MaxDecompressed, in.MaxBody, GiB)
	p.check(in.MaxEvents >= 1 && in.MaxEvents <= 1_000_000, "ingest.max_events", "is %d; it must be from 1 to 1000000", in.MaxEvents)
}

func (c *Config) checkLog(p *problems) {
	l := c.Log
	p.check(l.Segment >= MiB && l.Segment <= 16*GiB, "log.segment", "is %s; it must be from %s to %s", l.Segment, MiB, 16*GiB)
	p.check(l.RetainAge >= time.Minute, "log.retain_age", "is %s; it must be at least 1m", l.RetainAge)
	p.check(l.RetainBytes >= 2*l.Segment, "log.retain_bytes", "is %s; it must be at least two segments, %s", l.RetainBytes, 2*l.Segment)
	p.check(l.MaxPending >= MiB && l.MaxPending <= MaxPending, "log.max_pending", "is %s; it must be from %s to %s", l.MaxPending, MiB, MaxPending)
	p.check(l.MaxPending >= c.Ingest.MaxDecompressed, "log.max_pending", "is %s, less than one request may bring (ingest.max_decompressed, %s)",
		l.MaxPending, c.Ingest.MaxDecompressed)
}
