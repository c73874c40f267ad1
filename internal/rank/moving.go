package rank

import (
	"container/heap"
	"strings"

	"crest"
	"crest/window"
)

// maxAhead is how many events dated after their arrival are kept until their time comes.
const maxAhead = 10_000

// moving makes a list at every multiple of a step, in order of arrival, out of a ring of buckets of event time.
type moving struct {
	config *Config
	ring   *window.Ring
	emit   func(List) error

	clock crest.Millis // the latest arrival so far: an event arrives no earlier than the one before it
	next  crest.Millis // as_of of the next list
	begun bool
	ahead ahead // events whose time is at or after next

	late, skipped uint64
}

func newMoving(c *Config, emit func(List) error) (*moving, error) {
	ring, err := window.NewRing(c.ring())
	if err != nil {
		return nil, err
	}
	return &moving{config: c, ring: ring, emit: emit}, nil
}

func (m *moving) workers() int { return 1 }

func (m *moving) apply(_ int, b *batch) error {
	for _, e := range b.shards[0] {
		if !m.begun {
			m.begun = true
			m.next = e.arrived.Floor(m.config.Every).Add(m.config.Every)
		}
		if e.arrived < m.next.Add(-m.config.Every) {
			m.late++
		}
		m.clock = max(m.clock, e.arrived)
		if err := m.listUntil(m.clock); err != nil {
			return err
		}
		m.add(e)
	}
	return nil
}

func (m *moving) add(e event) {
	if e.time < m.next {
		m.ring.Add(e.time, e.hash, e.item, e.weight)
		return
	}
	if len(m.ahead) < maxAhead {
		e.item = strings.Clone(e.item) // it outlives its block
		heap.Push(&m.ahead, e)
		return
	}
	m.ring.Add(min(e.time, m.clock), e.hash, e.item, e.weight)
}

// listUntil makes the lists that are due when the clock shows now.
func (m *moving) listUntil(now crest.Millis) error {
	for m.next <= now {
		empty, err := m.list()
		if err != nil {
			return err
		}
		if last := now.Floor(m.config.Every); empty && len(m.ahead) == 0 && last > m.next {
			m.skipped += uint64(int64(last-m.next) / m.config.Every.Milliseconds())
			m.next = last
		}
		m.next = m.next.Add(m.config.Every)
	}
	return nil
}

// list makes the list as of next. A window without events gets none.
func (m *moving) list() (empty bool, err error) {
	for len(m.ahead) > 0 && m.ahead[0].time < m.next {
		e := heap.Pop(&m.ahead).(event)
		m.ring.Add(e.time, e.hash, e.item, e.weight)
	}
	report := m.ring.Top(0, m.config.K, m.next)
	if report.Total == 0 {
		m.skipped++
		return true, nil
	}
	l := List{List: crest.List{K: m.config.K, AsOf: m.next, Total: report.Total, Cutoff: report.Cutoff}}
	if m.config.Window > 0 {
		l.From = m.next.Add(-m.config.Window)
	}
	for _, e := range report.Entries {
		l.Top = append(l.Top, crest.Entry{ID: e.Key, Count: e.Count, Error: e.Error})
	}
	l.label()
	return false, m.emit(l)
}

// finish makes the list that holds the last events.
func (m *moving) finish(s *Stats) error {
	if m.begun {
		if _, err := m.list(); err != nil {
			return err
		}
	}
	s.Late, s.Skipped = m.late, m.skipped
	return nil
}

// ahead is a heap of events, the earliest first.
type ahead []event

func (a ahead) Len() int           { return len(a) }
func (a ahead) Less(i, j int) bool { return a[i].time < a[j].time }
func (a ahead) Swap(i, j int)      { a[i], a[j] = a[j], a[i] }

// Push appends an event; use heap.Push.
func (a *ahead) Push(e any) { *a = append(*a, e.(event)) }

// Pop takes the last event off; use heap.Pop.
func (a *ahead) Pop() any {
	last := (*a)[len(*a)-1]
	*a = (*a)[:len(*a)-1]
	return last
}
