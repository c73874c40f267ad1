package pipeline

import (
	"fmt"
	"math"
	"time"

	"crest"
	"crest/internal/list"
	"crest/internal/shard"
	"crest/sketch"
)

// seam is where the exact hours of one list end and its estimates begin.
type seam struct {
	base  *list.Base
	cut   func(hour crest.Millis) crest.Millis
	split [][]string   // the candidates, by shard
	since crest.Millis // events received before are not counted
}

// of returns what a shard has to know of the seam.
func (s *seam) of(shardNumber int) *shard.Seam {
	return &shard.Seam{From: s.base.From, Until: s.base.Until, Cut: s.cut, Also: s.split[shardNumber]}
}

// adopt takes up newer exact counts as soon as nothing in them was received at or after asOf: a list must not count what
// came after the moment that it is of.
func (p *Pipeline) adopt(asOf crest.Millis) {
	if p.options.Exact == nil {
		return
	}
	newest := p.options.Exact()
	if newest != p.exact && (newest == nil || newest.Reach().Through <= asOf) {
		p.exact, p.splits = newest, map[[2]string]split{}
	}
}

// exactPart is the part of a window that has been counted exactly, as of a moment; it is the same for all boards.
type exactPart struct {
	from  crest.Millis // start of its first hour; 0 for all time
	first crest.Millis // start of the first hour in it that has been counted
	cut   func(hour crest.Millis) crest.Millis
	since crest.Millis // events received before are not counted, or not in the estimates beside it
}

// exactPartOf returns the exact part of a window, nil when all of it is estimated: nothing in it has been counted exactly,
// or the hours between the exact ones and those that are held are missing.
func (p *Pipeline) exactPartOf(s *scheduled, asOf crest.Millis) *exactPart {
	if p.exact == nil || !p.config.Stitched(s.window) {
		return nil
	}
	x := p.exact.Reach()
	if x.Through > asOf {
		return nil
	}
	begin := s.window.From(asOf)
	from := begin
	if hour := from.Floor(time.Hour); hour < from {
		from = hour.Add(time.Hour) // the window has only a part of its first hour
	}
	if x.Until <= max(from, x.First) || !p.covers(x, s.window, from) {
		return nil
	}
	ring := p.layout.Rings[s.open.ring]
	newest := (asOf - 1).Floor(ring.Width)
	held := newest.Add(-time.Duration(ring.Buckets-1) * ring.Width)
	cuts := map[crest.Millis]crest.Millis{}
	complete := x.Until
	for _, c := range p.exact.Cuts(from) {
		cuts[c.Hour] = c.Received
		complete = min(complete, c.Received)
	}
	if complete < held {
		return nil
	}
	part := &exactPart{from: from, first: max(from, x.First), since: x.Since}
	part.cut = func(hour crest.Millis) crest.Millis {
		if cut, ok := cuts[hour]; ok {
			return cut
		}
		if hour < x.First {
			return math.MinInt64 // not counted at all
		}
		return math.MaxInt64 // nothing can have come since
	}
	if s.window.AllTime() && part.since == 0 {
		part.since = x.First // nothing was received before
	}
	if p.since > complete || p.since > begin && begin < from { // what is estimated is not all there
		part.since = max(part.since, p.since)
	}
	return part
}

// seamOf returns the seam of a board's window, nil without an exact part.
func (p *Pipeline) seamOf(board string, s *scheduled, part *exactPart) *seam {
	if part == nil {
		return nil
	}
	base, err := p.exact.Base(board, part.from)
	if err != nil {
		if crest.CodeOf(err) != crest.CodeNotReady { // what is not there has been told by the recount
			p.noteSkipped(fmt.Errorf("exact counts of %s: %w", board, err))
		}
		return nil
	}
	seam := &seam{base: base, cut: part.cut, split: p.splitOf(board, s.window.Name, base), since: part.since}
	if base.From > part.first { // the board was declared later
		seam.since = max(seam.since, base.From)
	}
	return seam
}

// covers reports whether the exact hours have all that was received for a window from its start on. When archiving began
// only later, estimates know more; of all time, only when counting began much earlier still.
func (p *Pipeline) covers(x list.Reach, w crest.Window, from crest.Millis) bool {
	if w.AllTime() {
		return x.Since <= p.since.Add(time.Hour)
	}
	return x.Since <= from
}

// split is the candidates of a list's newest base, by the shard that they live on.
type split struct {
	base   *list.Base
	shards [][]string
}

// splitOf groups the candidates of a list's base by shard. It does so once for each base.
func (p *Pipeline) splitOf(board, window string, base *list.Base) [][]string {
	key := [2]string{board, window}
	if s := p.splits[key]; s.base == base {
		return s.shards
	}
	shards := make([][]string, p.layout.Shards)
	for _, c := range base.Candidates {
		s := p.layout.ShardOf(sketch.Hash(c.ID))
		shards[s] = append(shards[s], c.ID)
	}
	p.splits[key] = split{base, shards}
	return shards
}
