package replay

import (
	"container/heap"
	"errors"
	"fmt"
	"io"
	"time"

	"crest"
	"crest/internal/rows"
)

// maxSorted is how many events are held to sort them. At some 300 bytes each they take 150 MB.
const maxSorted = 500_000

// sorter gives a file's events in order of arrival. It holds a bounded number of them and always gives the earliest, so
// that shorter files are sorted whole, and longer ones as far as no event is out of place by more than that number.
type sorter struct {
	source *source
	stats  *Stats
	held   datedHeap
	room   int
	ended  bool
	latest crest.Millis // arrival of all events read so far
	last   crest.Millis // arrival of the last event given
}

func newSorter(in *rows.Input, c *Config, start time.Time, stats *Stats) (*sorter, error) {
	source, err := newSource(in, c, start)
	if err != nil {
		return nil, err
	}
	room := c.MaxSorted
	if room == 0 {
		room = maxSorted
	}
	return &sorter{source: source, stats: stats, room: room}, nil
}

// fill reads as many events as can be held.
func (s *sorter) fill() error {
	for !s.ended && len(s.held) < s.room {
		if err := s.source.next(); err != nil {
			if errors.Is(err, io.EOF) {
				s.ended = true
				return nil
			}
			return err
		}
		s.stats.Lines++
		d, err := s.source.event()
		if err != nil {
			s.stats.Unusable++
			s.stats.reason(fmt.Sprintf("%s: %v", s.source.place(), err))
			continue
		}
		s.latest = max(s.latest, d.arrived)
		heap.Push(&s.held, d)
	}
	return nil
}

// peek returns the earliest event held.
func (s *sorter) peek() (dated, bool) {
	if len(s.held) == 0 {
		return dated{}, false
	}
	return s.held[0], true
}

// next takes the earliest event.
func (s *sorter) next() (d dated, ok bool, err error) {
	if err := s.fill(); err != nil || len(s.held) == 0 {
		return d, false, err
	}
	d = heap.Pop(&s.held).(dated)
	if d.arrived < s.last {
		s.stats.Disorder++
	}
	s.last = max(s.last, d.arrived)
	return d, true, nil
}

// datedHeap has the earliest event on top.
type datedHeap []dated

func (h datedHeap) Len() int { return len(h) }

func (h datedHeap) Less(i, j int) bool {
	if h[i].arrived != h[j].arrived {
		return h[i].arrived < h[j].arrived
	}
	return h[i].line < h[j].line
}

func (h datedHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

// Push appends an event; use heap.Push.
func (h *datedHeap) Push(d any) { *h = append(*h, d.(dated)) }

// Pop takes the last event off; use heap.Pop.
func (h *datedHeap) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}
