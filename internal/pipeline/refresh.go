package pipeline

import (
	"slices"
	"time"

	"crest"
	"crest/internal/list"
	"crest/internal/shard"
)

// scheduled is one window's place in the schedule.
type scheduled struct {
	window crest.Window
	ring   int // its ring in the layout
	index  int // its place among the ring's windows
	at     crest.Millis
	built  time.Time // when a list was last made, by the clock
}

// refresh is the reports of all shards for everything that was due at one moment.
type refresh struct {
	asOf    crest.Millis
	since   crest.Millis    // when counting began
	reports [][]list.Report // per list, per shard
}

func (p *Pipeline) planRefreshes() {
	p.schedule = nil
	for ring, r := range p.config.Rings() {
		for i, w := range r.Windows {
			p.schedule = append(p.schedule, &scheduled{window: w, ring: ring, index: i})
		}
	}
}

// planFrom sets what is due next after a moment.
func (p *Pipeline) planFrom(t crest.Millis) {
	p.flushAt = p.nextFlush(t)
	p.checkpointAt = after(t, p.config.Counting.Checkpoint)
	for _, s := range p.schedule {
		s.at = after(t, s.window.Refresh)
	}
}

// after returns the first multiple of every after t.
func after(t crest.Millis, every time.Duration) crest.Millis { return t.Floor(every).Add(every) }

// nextFlush returns when to flush after t. All that one flush adds was received while one bucket was the newest.
func (p *Pipeline) nextFlush(t crest.Millis) crest.Millis {
	return min(after(t, p.config.Counting.Flush), after(t, p.layout.Grain))
}

// due returns the next moment at which something is to be done.
func (p *Pipeline) due() crest.Millis {
	due := p.flushAt
	for _, s := range p.schedule {
		due = min(due, s.at)
	}
	return due
}

// reach does all that is due by t. Everything received before t has been taken in, and nothing since the last moment
// that was due, so each window's newest moment by t can stand for those in between.
func (p *Pipeline) reach(t crest.Millis) error {
	if err := p.flush(); err != nil {
		return err
	}
	p.watermark = t
	p.flushAt = p.nextFlush(t)
	now := p.options.Now()
	byMoment := map[crest.Millis][]*scheduled{}
	var moments []crest.Millis
	for _, s := range p.schedule {
		if s.at > t {
			continue
		}
		asOf := t.Floor(s.window.Refresh)
		s.at = after(t, s.window.Refresh)
		if p.tooSoon(s, asOf, now) {
			continue
		}
		s.built = now
		if byMoment[asOf] == nil {
			moments = append(moments, asOf)
		}
		byMoment[asOf] = append(byMoment[asOf], s)
	}
	slices.Sort(moments) // rings move forwards only
	for _, asOf := range moments {
		if err := p.report(asOf, byMoment[asOf]); err != nil {
			return err
		}
	}
	return nil
}

// tooSoon reports whether to pass over a refresh: while counting catches up with the log, readers get lists as often as
// otherwise, not one for every moment of the past.
func (p *Pipeline) tooSoon(s *scheduled, asOf crest.Millis, now time.Time) bool {
	lags := now.Sub(asOf.Time()) > 2*s.window.Refresh
	return lags && now.Sub(s.built) < s.window.Refresh
}

// report asks every shard for its top K of all boards and the windows given, and hands them on to be built.
func (p *Pipeline) report(asOf crest.Millis, windows []*scheduled) error {
	boards := p.boards.Rankings()
	r := refresh{asOf: asOf, since: p.since, reports: make([][]list.Report, len(boards)*len(windows))}
	for i := range r.reports {
		r.reports[i] = make([]list.Report, len(p.shards))
	}
	err := p.parallel(len(p.shards), func(i int) error {
		n := 0
		for _, board := range boards {
			for _, s := range windows {
				top, err := p.shards[i].Report(board, s.ring, s.index, p.config.Lists.MaxK, asOf)
				if err != nil {
					return err
				}
				r.reports[n][i] = reportOf(top)
				r.reports[n][i].Shard = i
				r.reports[n][i].Board = p.boards.Board(board).Board
				r.reports[n][i].Window = s.window
				r.reports[n][i].AsOf = asOf
				n++
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	p.build <- r
	return nil
}

func reportOf(top shard.Report) list.Report {
	r := list.Report{
		Entries: make([]crest.Entry, len(top.Entries)), Cutoff: top.Cutoff, Total: top.Total,
		Late: top.Late, Duplicates: top.Duplicates, DedupPartial: top.DedupPartial,
	}
	for i, e := range top.Entries {
		r.Entries[i] = crest.Entry{ID: e.Key, Count: e.Count, Error: e.Error}
		if top.Spellings != nil && top.Spellings[i] != e.Key {
			r.Entries[i].Title = top.Spellings[i]
		}
	}
	return r
}
