package exact

import (
	"os"
	"slices"
	"sync"

	"crest"
	"crest/internal/list"
)

// Snapshot is what has been counted exactly as of one manifest. It never changes and implements list.Exact. Methods may be
// called concurrently.
//
// A recounter keeps the files of the manifest before the newest one, so a snapshot should be replaced before it is two
// rounds old. What lists need is open from the beginning, and stays readable until Close or as long as it is referred to.
type Snapshot struct {
	config  Config
	m       *manifest
	version string
	until   crest.Millis // of the hours that can be used: the manifest's, or an earlier one's
	seen    os.FileInfo  // of the manifest's file; nil when there was none

	problems []Problem
	held     *hold                 // the open files, until Close
	totals   map[string]*openTotal // by window; those that are whole
	begins   beginnings
	hours    map[crest.Millis]*slot // the newest ones with events, as far back as windows reach

	mu    sync.Mutex
	bases map[string][]*baseEntry // by board, the last used last
}

var _ list.Exact = (*Snapshot)(nil)

// Version tells snapshots apart: the manifest's checksum, "" when there is none.
func (s *Snapshot) Version() string { return s.version }

// Problems says what is damaged, and why Until is not later.
func (s *Snapshot) Problems() []Problem { return slices.Clone(s.problems) }

// Reach says which hours have been counted. First is the first hour that had events.
func (s *Snapshot) Reach() list.Reach {
	if s.until == 0 {
		return list.Reach{Since: s.m.Since}
	}
	return list.Reach{First: s.m.first(), Until: s.until, Since: s.m.Since, Through: s.m.Cut}
}

// Cuts returns, of the hours in [from, Until) for which events can still come, up to which received time their counts are
// complete. Hours before First are among them: they had no events until then.
func (s *Snapshot) Cuts(from crest.Millis) []list.Cut {
	if s.until == 0 {
		return nil
	}
	var cuts []list.Cut
	oldest := s.m.Cut.Add(-eventsEnd).Floor(hourLength).Add(hourLength) // the first hour that can still get events
	for h := max(oldest, from.Add(hourLength-1).Floor(hourLength)); h < s.m.first(); h = h.Add(hourLength) {
		cuts = append(cuts, list.Cut{Hour: h, Received: s.m.Cut})
	}
	for _, h := range s.m.between(max(from, s.m.first()), s.until) {
		if !h.Settled && h.Start >= from {
			cuts = append(cuts, list.Cut{Hour: h.Start, Received: h.Checked})
		}
	}
	return cuts
}

// HourInfo is what the manifest says of an hour.
type HourInfo struct {
	Hour       crest.Millis
	Cut        crest.Millis // everything received before is in the count
	Checked    crest.Millis // nothing that is not in the count was received before; not before Cut
	Settled    bool         // no more events can come
	Rows       int64        // of the archive, received before the cut
	Weight     uint64       // of all types
	Duplicates uint64       // weight dropped as sent before
	Late       uint64       // of Weight, received after the hour's end
	Items      int64        // over all boards
	TooMany    bool         // it had too many narrowed boards, so it has none of them
	Bytes      int64        // of the hour's files
}

// Hours returns the hours from First to Until, ascending.
func (s *Snapshot) Hours() []HourInfo {
	var infos []HourInfo
	for _, h := range s.m.between(0, s.until) {
		infos = append(infos, h.info())
	}
	return infos
}

// Hour returns what the manifest says of an hour, false when it isn't in [First, Until).
func (s *Snapshot) Hour(start crest.Millis) (HourInfo, bool) {
	h, err := s.counted(start)
	if err != nil {
		return HourInfo{}, false
	}
	return h.info(), true
}

// counted returns an hour in [First, Until).
func (s *Snapshot) counted(start crest.Millis) (*hourEntry, error) {
	h := s.m.hour(start)
	if h == nil || start >= s.until {
		return nil, crest.Errorf(crest.CodeOutOfRange, "hour", "%s has not been counted", hourText(start))
	}
	return h, nil
}

func (h *hourEntry) info() HourInfo {
	i := HourInfo{
		Hour: h.Start, Cut: h.Cut, Checked: h.Checked, Settled: h.Settled,
		Rows: h.Rows, Weight: h.Weight, Duplicates: h.Duplicates, Late: h.LateWeight, Items: h.Items,
		TooMany: h.Wanted != "",
	}
	for _, f := range h.files() {
		i.Bytes += f.Bytes
	}
	return i
}
