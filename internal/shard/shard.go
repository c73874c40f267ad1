package shard

import (
	"maps"
	"slices"
	"strings"

	"crest"
	"crest/window"
)

// spellingSeparator stands between an item and its spelling. No item has a control character.
const spellingSeparator = 0

// Shard counts the items of one range of hashes, on every board.
type Shard struct {
	layout *Layout
	boards *Boards // read only
	rings  [][]*window.Ring
	at     crest.Millis // what rings were last moved forwards to
}

// New returns a shard that has counted nothing.
func New(layout *Layout, boards *Boards) *Shard {
	return &Shard{layout: layout, boards: boards}
}

// Rings returns the rings of a board, in the order of the layout. They are made when first asked for.
func (s *Shard) Rings(board int) ([]*window.Ring, error) {
	for len(s.rings) <= board {
		s.rings = append(s.rings, nil)
	}
	if s.rings[board] != nil {
		return s.rings[board], nil
	}
	configs := s.layout.Rings
	switch b := s.boards.Board(board); {
	case b.spell:
		configs = []window.Config{s.layout.spellRing()}
	case len(b.Narrow) > 0:
		configs = s.layout.NarrowRings
	}
	rings := make([]*window.Ring, len(configs))
	for i, c := range configs {
		r, err := window.NewRing(c)
		if err != nil {
			return nil, err
		}
		if s.at != 0 {
			r.Advance(s.at) // so that it knows what is late, from its first weight on
		}
		rings[i] = r
	}
	s.rings[board] = rings
	return rings, nil
}

// Apply adds each partial once to the bucket of every ring of its board. Going through the partials ring by ring keeps
// one bucket's summary in the cache for all of them.
func (s *Shard) Apply(partials []Partial) error {
	for ring, more := 0, true; more; ring++ {
		more = false
		for i := range partials {
			p := &partials[i]
			rings, err := s.Rings(p.Board)
			if err != nil {
				return err
			}
			if ring < len(rings) {
				more = true
				rings[ring].Add(p.Time, p.Hash, p.Key, p.Weight)
			}
		}
	}
	return nil
}

// ApplyDuplicates notes weights that were dropped as sent before.
func (s *Shard) ApplyDuplicates(dropped []Duplicates) error {
	for _, d := range dropped {
		rings, err := s.Rings(d.Board)
		if err != nil {
			return err
		}
		for _, r := range rings {
			r.AddDuplicates(d.Time, d.Weight)
		}
	}
	return nil
}

// Advance moves every ring forwards to a moment before which all has been received: what is late is late by when it was
// received, not by what happened to be added before it.
func (s *Shard) Advance(received crest.Millis) {
	s.at = received
	for _, rings := range s.rings {
		for _, r := range rings {
			r.Advance(received)
		}
	}
}

// NotePartialDedup says on every board that duplicates may have been counted lately.
func (s *Shard) NotePartialDedup() error {
	for _, board := range s.boards.Rankings() {
		rings, err := s.Rings(board)
		if err != nil {
			return err
		}
		for _, r := range rings {
			r.NotePartialDedup()
		}
	}
	return nil
}

// Query says what is asked of a shard.
type Query struct {
	Board  int // its number
	Ring   int // in the layout
	Window int // in the ring
	K      int
	AsOf   crest.Millis
	Seam   *Seam // nil when nothing has been counted exactly
}

// Seam is the part of a window that is counted exactly elsewhere: the hours of [From, Until).
type Seam struct {
	From, Until crest.Millis
	Cut         func(hour crest.Millis) crest.Millis // what was received from then on is not in the hour's exact count
	Also        []string                             // items of this shard that are wanted whatever they have
}

// with returns what is wanted, and those items that came late.
func (s *Seam) with(late map[string]uint64) []string {
	if len(late) == 0 {
		return s.Also
	}
	all := slices.AppendSeq(slices.Clone(s.Also), maps.Keys(late))
	slices.Sort(all)
	return slices.Compact(all)
}

// Report is a shard's top entries for one board and window.
type Report struct {
	window.Report
	Spellings     []string    // of each entry, the most used; nil when the type has none, "" when unknown
	AlsoSpellings []string    // the same of what was wanted beside
	LateExact     window.Late // for the hours of the seam, not in their exact counts; its items are among Also
}

// Report returns the shard's own top k, not k / shards: then the top k of all is among the shards' reports, however
// items happen to hash. With a seam, counts are of the rest of the window.
func (s *Shard) Report(q Query) (Report, error) {
	rings, err := s.Rings(q.Board)
	if err != nil {
		return Report{}, err
	}
	ring := rings[q.Ring]
	ring.Advance(q.AsOf)
	var also []string
	r := Report{}
	if q.Seam != nil {
		ring.Without(q.Window, q.Seam.From, q.Seam.Until)
		r.LateExact = ring.LateSince(q.Seam.From, q.Seam.Until, q.Seam.Cut)
		also = q.Seam.with(r.LateExact.Items)
	} else {
		ring.Without(q.Window, 0, 0)
	}
	r.Report = ring.Top(q.Window, q.K, q.AsOf, also...)
	if spell := s.boards.spell[s.boards.Board(q.Board).Type]; spell >= 0 {
		best, err := s.spellings(spell, slices.Concat(r.Entries, r.Also), q.AsOf)
		if err != nil {
			return Report{}, err
		}
		r.Spellings, r.AlsoSpellings = best[:len(r.Entries)], best[len(r.Entries):]
	}
	return r, nil
}

// spellings finds the most used spelling of each entry.
func (s *Shard) spellings(board int, entries []window.Entry, asOf crest.Millis) ([]string, error) {
	rings, err := s.Rings(board)
	if err != nil {
		return nil, err
	}
	best := make([]string, len(entries))
	at := make(map[string]int, len(entries))
	for i, e := range entries {
		at[e.Key] = i
	}
	pairs := rings[0].Top(0, maxPairs, asOf) // by count, so the first of an item is its best
	for _, p := range pairs.Entries {
		item, spelling, _ := strings.Cut(p.Key, string(rune(spellingSeparator)))
		if i, ok := at[item]; ok && best[i] == "" {
			best[i] = strings.Clone(spelling)
		}
	}
	for i, e := range entries { // an item can be there twice
		best[i] = best[at[e.Key]]
	}
	return best, nil
}

// maxPairs is more than a shard's summary of spellings can hold.
const maxPairs = 1 << 20
