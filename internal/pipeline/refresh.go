package pipeline

import (
	"slices"
	"time"

	"crest"
	"crest/internal/list"
	"crest/internal/shard"
	"crest/window"
)

// place is where a window's counts are: a ring of the layout, and which of the ring's windows.
type place struct{ ring, window int }

// scheduled is one window's place in the schedule.
type scheduled struct {
	window crest.Window
	whole  place // of estimates of the whole window
	open   place // of estimates of its hours that are not counted exactly; for all time, hour by hour
	at     crest.Millis
	built  time.Time // when a list was last made, by the clock
}

// refresh is the reports of all shards for everything that was due at one moment.
type refresh struct {
	asOf  crest.Millis
	since crest.Millis // when counting began
	exact list.Exact   // nil when nothing is
	lists []listing
}

// listing is what one list is made of.
type listing struct {
	seam    *seam         // nil when nothing in the window is exact
	reports []list.Report // per shard
}

func (p *Pipeline) planRefreshes() {
	p.schedule = nil
	open := place{-1, 0}
	for ring, r := range p.config.Rings() {
		for i, w := range r.Windows {
			p.schedule = append(p.schedule, &scheduled{window: w, whole: place{ring, i}, open: place{ring, i}})
		}
		if r.Open {
			open = place{ring, len(r.Windows)}
		}
	}
	for _, s := range p.schedule {
		if s.window.AllTime() {
			s.open = open
		}
	}
}

// planFrom sets what is due next after a moment.
func (p *Pipeline) planFrom(t crest.Millis) {
	p.flushAt = p.nextFlush(t)
	p.checkpointAt = after(t, p.config.Counting.Checkpoint)
	p.hourAt = after(t-1, time.Hour)
	for _, s := range p.schedule {
		s.at = after(t, s.window.Refresh)
	}
}

// after returns the first multiple of every after t.
func after(t crest.Millis, every time.Duration) crest.Millis { return t.Floor(every).Add(every) }

// nextFlush returns when to flush after t. All that one flush adds was received while one bucket was the newest, and in
// one slot.
func (p *Pipeline) nextFlush(t crest.Millis) crest.Millis {
	return min(after(t, p.config.Counting.Flush), after(t, p.layout.Grain), after(t, crest.Slot))
}

// due returns the next moment at which something is to be done.
func (p *Pipeline) due() crest.Millis {
	due := min(p.flushAt, p.hourAt)
	for _, s := range p.schedule {
		due = min(due, s.at)
	}
	return due
}

// maxHours is how many hours without events get lists of their own. Above it, the clock was wrong or nothing ran.
const maxHours = 100

// reach does all that is due by t. Everything received before t has been taken in, and nothing since the last moment
// that was due, so each window's newest moment by t can stand for those in between; but every hour has its own last
// lists, which are graded when it has been counted exactly.
func (p *Pipeline) reach(t crest.Millis) error {
	p.hourAt = max(p.hourAt, t.Floor(time.Hour).Add(-maxHours*time.Hour))
	for p.hourAt < t {
		hour := p.hourAt
		p.hourAt = hour.Add(time.Hour)
		if err := p.reachMoment(hour); err != nil {
			return err
		}
	}
	if p.hourAt == t {
		p.hourAt = t.Add(time.Hour)
	}
	return p.reachMoment(t)
}

func (p *Pipeline) reachMoment(t crest.Millis) error {
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
// otherwise, not one for every moment of the past. The last lists of an hour are made all the same, to be graded.
func (p *Pipeline) tooSoon(s *scheduled, asOf crest.Millis, now time.Time) bool {
	if asOf == asOf.Floor(time.Hour) {
		return false
	}
	lags := now.Sub(asOf.Time()) > 2*s.window.Refresh
	return lags && now.Sub(s.built) < s.window.Refresh
}

// report asks every shard for its top K of all boards and the windows given, and hands them on to be built.
func (p *Pipeline) report(asOf crest.Millis, windows []*scheduled) error {
	boards := p.boards.Rankings()
	p.adopt(asOf)
	r := refresh{asOf: asOf, since: p.since, exact: p.exact}
	parts := make([]*exactPart, len(windows))
	for i, s := range windows {
		parts[i] = p.exactPartOf(s, asOf)
	}
	for _, board := range boards {
		for i, s := range windows {
			r.lists = append(r.lists, listing{
				seam: p.seamOf(p.boards.Board(board).Name, s, parts[i]), reports: make([]list.Report, len(p.shards)),
			})
		}
	}
	err := p.parallel(len(p.shards), func(i int) error {
		n := 0
		for _, board := range boards {
			for _, s := range windows {
				l := &r.lists[n]
				n++
				q := shard.Query{Board: board, Ring: s.whole.ring, Window: s.whole.window, K: p.config.Lists.MaxK, AsOf: asOf}
				if l.seam != nil {
					q.Ring, q.Window, q.Seam = s.open.ring, s.open.window, l.seam.of(i)
				}
				top, err := p.shards[i].Report(q)
				if err != nil {
					return err
				}
				l.reports[i] = reportOf(top)
				l.reports[i].Shard = i
				l.reports[i].Board = p.boards.Board(board).Board
				l.reports[i].Window = s.window
				l.reports[i].AsOf = asOf
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
	return list.Report{
		Entries: entriesOf(top.Entries, top.Spellings), Cutoff: top.Cutoff, Total: top.Total,
		Late: top.Late, Duplicates: top.Duplicates, DedupPartial: top.DedupPartial,
		Also: entriesOf(top.Also, top.AlsoSpellings), LateItems: top.LateExact.Items, LateRest: top.LateExact.Rest,
	}
}

func entriesOf(from []window.Entry, spellings []string) []crest.Entry {
	entries := make([]crest.Entry, len(from))
	for i, e := range from {
		entries[i] = crest.Entry{ID: e.Key, Count: e.Count, Error: e.Error}
		if spellings != nil && spellings[i] != e.Key {
			entries[i].Title = spellings[i]
		}
	}
	return entries
}
