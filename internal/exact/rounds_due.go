package exact

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"crest"
	"crest/internal/archive"
)

// maxAgain is how many hours one round counts again; the others are left for rounds that follow, so that what has been done is not
// lost for long and no closed hour waits for long.
const maxAgain = 8

// eventsEnd is how long after its start an hour can get events: a log's clock and that of the check of an event's age
// may differ, by less than what an hour needs to close.
const eventsEnd = hourLength + crest.MaxAge + crest.CloseAfter

// sight is what a round goes by.
type sight struct {
	view    *archive.View
	cut     crest.Millis           // slot floor of the archive's watermark
	wait    time.Duration          // late events may have waited at most
	shapes  []string               // the kinds of boards that hours are counted for
	forced  map[crest.Millis]bool  // asked for
	damaged map[crest.Millis]error // hours whose counts can't be used
}

// plan is what a round has to do.
type plan struct {
	first crest.Millis // that the run of hours begins with: an event came for an earlier hour
	again []recount    // ascending
	next  crest.Millis // the closed hour to be counted for the first time; 0 when there is none
	judge []judgement  // of hours that aren't counted again

	// For who asks what comes next.
	open   crest.Millis // the hour to be counted after all that; 0 when the archive has none
	closes crest.Millis

	problems []Problem
}

type recount struct {
	hour   crest.Millis
	reason Reason
}

// judgement is what is known of an hour that stays as it was counted.
type judgement struct {
	hour    crest.Millis
	checked crest.Millis
	settled bool
}

// empty reports whether nothing is due.
func (p *plan) empty() bool { return p.next == 0 && len(p.again) == 0 }

// planOf decides what is due.
func planOf(m *manifest, s sight) (plan, error) {
	p := plan{}
	if s.cut < m.Cut {
		// Hours that look complete in it may not be.
		p.problems = []Problem{{Err: fmt.Errorf("the archive in %s has all received before %s, but hours were counted when it had all before %s",
			s.view.Dir(), timeText(s.view.State.Watermark), timeText(m.Cut))}}
		return p, nil
	}
	if err := p.findNext(m, s); err != nil {
		return plan{}, err
	}
	p.findDemanded(m, s)
	nothing := p
	asOf, limit := s.cut, maxAgain
	switch {
	case p.empty():
		// Late events wait for the next closed hour, so that totals aren't made for them alone; but of those that were due with the
		// last one, some may be left.
		asOf = min(s.cut, m.end0().Add(crest.CloseAfter))
	case p.next != 0 && s.view.Closed(p.open):
		limit = 0 // closed hours come first
	}
	if p.findLate(m, s, asOf, limit); p.empty() {
		return nothing, nil
	}
	if err := p.findEarlier(m, s); err != nil {
		return plan{}, err
	}
	slices.SortFunc(p.again, func(a, b recount) int { return cmp.Compare(a.hour, b.hour) })
	return p, nil
}

// findNext finds the hour that is to be counted for the first time.
func (p *plan) findNext(m *manifest, s sight) error {
	if len(m.Hours) > 0 {
		p.open = m.end()
	} else {
		first, err := firstHour(s.view, s.view.Hours())
		if err != nil {
			return err
		}
		p.open = first
	}
	if p.open == 0 {
		return nil
	}
	p.closes = p.open.Add(hourLength + crest.CloseAfter)
	if !s.view.Closed(p.open) {
		return nil
	}
	if err := countable(m, s, p.open); err != nil {
		p.refuse(p.open, err)
		return nil
	}
	p.next = p.open
	p.open = p.open.Add(hourLength)
	p.closes = p.closes.Add(hourLength)
	return nil
}

// firstHour returns the first of the hours that has events, 0 when none has.
func firstHour(view *archive.View, hours []crest.Millis) (crest.Millis, error) {
	for _, h := range hours {
		hour, err := view.Hour(h)
		if err != nil {
			if _, ok := errors.AsType[*archive.CorruptError](err); ok {
				return h, nil // it has had some
			}
			return 0, err
		}
		if len(hour.Files) > 0 {
			return h, nil
		}
	}
	return 0, nil
}

// countable reports why an hour can't be counted from the archive as it should be.
func countable(m *manifest, s sight, hour crest.Millis) error {
	kept := s.view.State.KeptFrom
	if hour < kept {
		return fmt.Errorf("its events were deleted from the archive, which goes back to %s", hourText(kept))
	}
	if len(m.Hours) > 0 && hour > m.first() && hour.Add(-hourLength) < kept {
		return errors.New("the events of the hour before were deleted from the archive, and some ids may be in both")
	}
	return nil
}

// recountable reports why an hour that has been counted can't be counted again from the archive.
func recountable(m *manifest, s sight, h *hourEntry) error {
	if err := countable(m, s, h.Start); err != nil {
		return err
	}
	hour, err := s.view.Hour(h.Start)
	if err != nil {
		return err
	}
	rows := int64(0)
	for _, f := range hour.Files {
		if f.Received.First < h.Cut {
			rows += f.Rows
		}
	}
	if rows < h.Rows {
		return fmt.Errorf("the archive has %d events of it, of which %d have been counted", rows, h.Rows)
	}
	return nil
}

// findDemanded finds hours that can't wait: damaged ones, those that somebody asked for, and those that lack boards.
func (p *plan) findDemanded(m *manifest, s sight) {
	var byReason [3][]recount
	wanted := boardsID(s.shapes)
	for i := range m.Hours {
		h := &m.Hours[i]
		switch {
		case s.damaged[h.Start] != nil:
			byReason[0] = append(byReason[0], recount{h.Start, ReasonDamaged})
		case s.forced[h.Start]:
			if err := recountable(m, s, h); err != nil {
				p.refuse(h.Start, err)
				continue
			}
			byReason[1] = append(byReason[1], recount{h.Start, ReasonForced})
		case h.ID != "" && h.Wanted != wanted && lacks(m.Boards[h.Boards], s.shapes) && recountable(m, s, h) == nil:
			byReason[2] = append(byReason[2], recount{h.Start, ReasonBoards})
		}
	}
	p.again = slices.Concat(byReason[:]...)
	p.again = p.again[:min(len(p.again), maxAgain)]
	for _, h := range slices.Sorted(maps.Keys(s.forced)) {
		switch {
		case m.hour(h) != nil || h == p.next && p.next != 0:
		case !s.view.Closed(h):
			p.refuse(h, fmt.Errorf("it is open until everything received before %s is in the archive, which has all before %s",
				timeText(h.Add(hourLength+crest.CloseAfter)), timeText(s.view.State.Watermark)))
		case p.open == 0 || h < p.open:
			p.refuse(h, errors.New("the archive has no events of it, nor of an hour before"))
		}
	}
}

func (p *plan) refuse(hour crest.Millis, err error) {
	p.problems = append(p.problems, Problem{Hour: hour, Err: err})
}

// lacks reports whether some kinds of boards are not among those that were counted.
func lacks(counted, shapes []string) bool {
	return slices.ContainsFunc(shapes, func(s string) bool { return !slices.Contains(counted, s) })
}

// findEarlier finds hours with events before the first one, and makes the run of hours begin there.
func (p *plan) findEarlier(m *manifest, s sight) error {
	if len(m.Hours) == 0 {
		p.first = p.next
		return nil
	}
	p.first = m.first()
	earlier := slices.DeleteFunc(s.view.Hours(), func(h crest.Millis) bool { return h >= m.first() })
	first, err := firstHour(s.view, earlier)
	if err != nil || first == 0 {
		return err
	}
	p.first = first
	for h := first; h < m.first(); h = h.Add(hourLength) {
		p.again = append(p.again, recount{h, ReasonEarlier})
	}
	return nil
}

// findLate judges the hours that can still get events, and finds those that were due at a moment to be counted again by that,
// as many as fit with what else is to be counted again.
func (p *plan) findLate(m *manifest, s sight, asOf crest.Millis, limit int) {
	demanded := map[crest.Millis]bool{}
	for _, a := range p.again {
		demanded[a.hour] = true
	}
	for i := range m.Hours {
		h := &m.Hours[i]
		if h.Settled || demanded[h.Start] || h.Damaged != "" {
			continue
		}
		if h.Start < s.view.State.KeptFrom {
			if h.Checked < h.Start.Add(eventsEnd) {
				p.refuse(h.Start, fmt.Errorf(
					"events received from %s on are not in its count: they were deleted from the archive first", timeText(h.Checked)))
			}
			p.judge = append(p.judge, judgement{h.Start, h.Checked, true})
			continue
		}
		changed, err := gotEvents(s.view, h, s.cut)
		if err != nil {
			p.refuse(h.Start, fmt.Errorf("look for late events: %w", err))
			continue
		}
		switch {
		case !changed:
			p.judge = append(p.judge, judgement{h.Start, max(h.Checked, s.cut), s.cut >= h.Start.Add(eventsEnd)})
		case len(p.again) < limit && s.isDue(h, asOf) && recountable(m, s, h) == nil:
			p.again = append(p.again, recount{h.Start, ReasonLate})
		}
	}
}

// gotEvents reports whether an hour may have got events after its cut and before a later one.
func gotEvents(view *archive.View, h *hourEntry, cut crest.Millis) (bool, error) {
	hour, err := view.Hour(h.Start)
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(hour.Files, func(f archive.File) bool {
		return f.Received.First < cut && f.Received.Last >= h.Cut
	}), nil
}

// isDue reports whether an hour that got events was worth counting again at a moment: no more could come, or it was twice as old
// as when it was counted, or they had waited for long.
func (s *sight) isDue(h *hourEntry, asOf crest.Millis) bool {
	return asOf >= h.Start.Add(eventsEnd) || doubled(h, asOf) || asOf.Add(-s.wait) >= h.Checked
}

// doubled reports whether an hour is twice as old as when it was counted: then it is worth counting again, and each hour
// is counted about ten times as long as events can come for it.
func doubled(h *hourEntry, cut crest.Millis) bool {
	end := h.Start.Add(hourLength)
	return cut-end >= 2*(h.Cut-end)
}

func timeText(t crest.Millis) string { return t.Time().Format(time.RFC3339) }
