// Package list makes the lists that readers get: it merges the shards' reports of one moment, keeps the current list of
// every board and window, on disk too, and holds each ready to be sent.
package list

import (
	"slices"

	"crest"
)

// Report is one shard's part of a list: its own top K of a board and window, as of one moment.
type Report struct {
	Shard        int // 0 to the number of shards - 1
	Board        crest.Board
	Window       crest.Window
	AsOf         crest.Millis
	Entries      []crest.Entry // ID, Title (the most used spelling), Count and Error; count descending, then id ascending
	Cutoff       uint64        // no item of this shard that is not in Entries has more than this
	Total        uint64        // weight of the shard's events on the board in the window
	Late         uint64        // weight that came too late for the window
	Duplicates   uint64        // weight dropped as sent before
	DedupPartial bool          // ids had to be forgotten before the dedup horizon was over

	// With exact hours, all above is of the rest of the window.
	Also      []crest.Entry     // of the candidates that live on this shard, and of the LateItems
	LateItems map[string]uint64 // weight for the exact hours that came after they had been counted
	LateRest  uint64            // such weight of which it is not known whose it is
}

// Titles says what is known about an item for people to read.
type Titles interface {
	// Title returns an item's title and the URL of its thumbnail, which may be empty; ok is false for an unknown item.
	Title(typ, id string) (title, thumbnail string, ok bool)
}

// Params is what a merge needs beside the reports.
type Params struct {
	K           int          // entries on the list, at least 1
	IDField     string       // name of the id in JSON; empty means "id"
	Previous    *crest.List  // the list before this one, nil when there is none
	Since       crest.Millis // when counting began: events received before are not in the reports
	GeneratedAt crest.Millis
	Titles      Titles // nil when nothing is known; then entries keep their spelling

	Problem func(error) // told of exact counts that could not be read; nil tells nobody
}

// Merge makes the list of a board and window out of the reports of all shards. It returns an error, and nothing may be
// published, when a shard is missing or there twice, or when reports differ in board, window or moment.
//
// The same reports and params always give the same list, in whatever order the reports come.
func Merge(reports []Report, shards int, p Params) (crest.List, error) {
	if err := checkComplete(reports, shards, p); err != nil {
		return crest.List{}, err
	}
	first := &reports[0]
	l := begin(first.Board, first.Window, first.AsOf, p)
	for i := range reports {
		l.addTotals(&reports[i])
		l.Cutoff = max(l.Cutoff, reports[i].Cutoff)
	}
	top, dropped, err := mergeEntries(reports, p.K)
	if err != nil {
		return crest.List{}, err
	}
	l.Top = top
	l.Cutoff = max(l.Cutoff, dropped)
	return l.finish(first.Window, p)
}

// draft is a list in the making.
type draft struct{ crest.List }

func begin(board crest.Board, w crest.Window, asOf crest.Millis, p Params) draft {
	return draft{crest.List{
		Type: board.Type, Window: w.Name, Board: board.String(), K: p.K, GeneratedAt: p.GeneratedAt,
		From: w.From(asOf), AsOf: asOf, Dedup: crest.DedupFull, IDField: p.IDField,
	}}
}

func (l *draft) addTotals(r *Report) {
	l.Total += r.Total
	l.Late += r.Late
	l.Duplicates += r.Duplicates
	if r.DedupPartial {
		l.Dedup = crest.DedupPartial
	}
}

// finish fills in what follows from the entries and totals.
func (l *draft) finish(w crest.Window, p Params) (crest.List, error) {
	if p.Since > l.From {
		l.Since = p.Since
	}
	l.Short = short(&l.List, w)
	rankBefore(&l.List, p.Previous)
	hydrate(&l.List, p.Titles)
	l.Label()
	var err error
	if l.Version, err = version(&l.List); err != nil {
		return crest.List{}, err
	}
	return l.List, nil
}

func checkComplete(reports []Report, shards int, p Params) error {
	if p.K < 1 {
		return crest.Errorf(crest.CodeOutOfRange, "k", "is %d; a list has at least one entry", p.K)
	}
	if shards < 1 || len(reports) != shards {
		return crest.Errorf(crest.CodeNotReady, "reports", "are %d of %d shards", len(reports), shards)
	}
	seen := make([]bool, shards)
	first := &reports[0]
	for i := range reports {
		r := &reports[i]
		switch {
		case r.Shard < 0 || r.Shard >= shards:
			return crest.Errorf(crest.CodeOutOfRange, "shard", "is %d of %d", r.Shard, shards)
		case seen[r.Shard]:
			return crest.Errorf(crest.CodeNotReady, "shard", "%d reported twice, so another one is missing", r.Shard)
		case r.Board.Type != first.Board.Type || !slices.Equal(r.Board.Narrow, first.Board.Narrow):
			return crest.Errorf(crest.CodeUnknownBoard, "board", "is %s in one report and %s in another", first.Board, r.Board)
		case r.Window != first.Window:
			return crest.Errorf(crest.CodeUnknownWindow, "window", "is %s in one report and %s in another",
				first.Window.Name, r.Window.Name)
		case r.AsOf != first.AsOf:
			return crest.Errorf(crest.CodeNotReady, "as_of", "is %d in one report and %d in another", first.AsOf, r.AsOf)
		}
		seen[r.Shard] = true
	}
	return nil
}

// short says why the list is shorter than K. While the window reaches back to before counting began, that is the
// reason; all time has no such moment.
func short(l *crest.List, w crest.Window) crest.Short {
	switch {
	case len(l.Top) >= l.K:
		return ""
	case !w.AllTime() && l.Since != 0:
		return crest.ShortWarmingUp
	case l.Total == 0:
		return crest.ShortNoTraffic
	}
	return crest.ShortFewItems
}

func rankBefore(l, previous *crest.List) {
	if previous == nil || previous.Board != l.Board || previous.Window != l.Window {
		return
	}
	ranks := make(map[string]int, len(previous.Top))
	for i := range previous.Top {
		ranks[previous.Top[i].ID] = i + 1
	}
	for i := range l.Top {
		l.Top[i].PreviousRank = ranks[l.Top[i].ID]
	}
}

func hydrate(l *crest.List, titles Titles) {
	if titles == nil {
		return
	}
	for i := range l.Top {
		e := &l.Top[i]
		if title, thumbnail, ok := titles.Title(l.Type, e.ID); ok {
			e.Title, e.Thumbnail = title, thumbnail
		}
	}
}
