package main

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"crest"
	"crest/internal/archive"
	"crest/internal/config"
	"crest/internal/counts"
	"crest/internal/exact"
	"crest/internal/explain"
	"crest/internal/grade"
	"crest/internal/httpapi"
)

// comparing is one run of crest compare.
type comparing struct {
	cfg      *config.Config
	settings exact.Config
	view     *archive.View
	lists    []crest.List
	progress *recountProgress
	report   compareReport
}

// fetch reads the lists that a server has now.
func (x *comparing) fetch(ctx context.Context, from server, windows, boards []string, k int) error {
	var catalogue struct {
		Windows []struct{ Name string }
		Lists   []struct {
			Board, Window, URL, Version string
			MaxK                        int `json:"max_k"`
		}
	}
	if _, err := from.get(ctx, "/v1/lists", "", &catalogue); err != nil {
		return err
	}
	var known []string
	for _, w := range catalogue.Windows {
		known = append(known, w.Name)
	}
	for _, w := range windows {
		if !slices.Contains(known, w) {
			return usagef("--window %s: the server has lists of %s", w, strings.Join(known, ", "))
		}
	}
	found := map[string]bool{}
	for _, l := range catalogue.Lists {
		found[l.Board] = true
		if len(windows) > 0 && !slices.Contains(windows, l.Window) || len(boards) > 0 && !slices.Contains(boards, l.Board) || l.Version == "" {
			continue
		}
		size := l.MaxK
		if k > 0 {
			size = k
		}
		var list crest.List
		if _, err := from.get(ctx, l.URL+"&k="+strconv.Itoa(size), "", &list); err != nil {
			return fmt.Errorf("the list of %s, %s: %w", l.Board, l.Window, err)
		}
		x.lists = append(x.lists, list)
	}
	for _, b := range boards {
		if !found[b] {
			return fmt.Errorf("--board %s: the server has no list of it; it has those of %s", b, someOf(found))
		}
	}
	if len(x.lists) == 0 {
		return fmt.Errorf("the server at %s has no lists yet; they come within a minute", from.url)
	}
	return nil
}

// someOf names boards, not too many.
func someOf(boards map[string]bool) string {
	const most = 12
	var names []string
	for b := range boards {
		names = append(names, b)
	}
	slices.Sort(names)
	if len(names) > most {
		names = append(names[:most], fmt.Sprintf("%d others", len(names)-most))
	}
	return strings.Join(names, ", ")
}

// archive has the server archive everything that it received, so that all events of the lists are there.
func (x *comparing) archive(ctx context.Context, admin server) error {
	if admin.url == "" {
		return nil
	}
	var done httpapi.Committed
	return admin.post(ctx, "/v1/archive:commit", &done)
}

// compareLists counts what the lists are about and compares them, all lists of one moment and window together.
func (x *comparing) compareLists(ctx context.Context) error {
	type moment struct{ from, asOf crest.Millis }
	groups := map[moment][]*crest.List{}
	for i := range x.lists {
		l := &x.lists[i]
		if reason := x.incomparable(l); reason != "" {
			x.report.Lists = append(x.report.Lists, comparedList{Grade: grade.Grade{
				AsOf: l.AsOf.Time(), Board: l.Board, Window: l.Window, Missing: true, Reason: reason, Faults: []grade.Fault{}, Examples: []grade.Finding{},
			}})
			continue
		}
		at := moment{l.From, l.AsOf}
		groups[at] = append(groups[at], l)
	}
	moments := make([]moment, 0, len(groups))
	for at := range groups {
		moments = append(moments, at)
	}
	slices.SortFunc(moments, func(a, b moment) int { return cmp.Or(cmp.Compare(b.from, a.from), cmp.Compare(a.asOf, b.asOf)) })
	for _, at := range moments {
		began := time.Now()
		if err := x.compareAt(ctx, at.from, at.asOf, groups[at]); err != nil {
			return err
		}
		x.report.Seconds += time.Since(began).Seconds()
	}
	slices.SortStableFunc(x.report.Lists, func(a, b comparedList) int {
		return cmp.Or(strings.Compare(a.Board, b.Board), cmp.Compare(x.place(a.Window), x.place(b.Window)))
	})
	return nil
}

func (x *comparing) place(window string) int {
	return slices.IndexFunc(x.cfg.Windows, func(w crest.Window) bool { return w.Name == window })
}

// incomparable says why a list can't be compared, if it can't.
func (x *comparing) incomparable(l *crest.List) string {
	state := x.view.State
	switch {
	case state.Watermark < l.AsOf:
		return fmt.Sprintf("the archive has what was received before %s only", clockOf(state.Watermark))
	case state.Since > 0 && l.Since < state.Since && l.From < state.Since:
		return fmt.Sprintf("it counts events that were received before %s, where the archive begins", clockOf(state.Since))
	case l.From != 0 && l.From < state.KeptFrom:
		return fmt.Sprintf("the archive goes back to %s only", clockOf(state.KeptFrom))
	}
	return ""
}

// lacks returns the moment before which events were received that a list lacks, 0 when it lacks none. A list that was begun
// with the log says since when it counts, and has all there is. first says when the first event of its window was received.
func (x *comparing) lacks(l *crest.List, first func() (crest.Millis, error)) (crest.Millis, error) {
	if l.Since == 0 || l.From < x.view.State.KeptFrom {
		return l.Since, nil
	}
	if received, err := first(); err != nil || received >= l.Since {
		return 0, err
	}
	return l.Since, nil
}

// firstReceived returns when the first of the archive's events of [from, …) was received.
func (x *comparing) firstReceived(from crest.Millis) (crest.Millis, error) {
	first := crest.Millis(math.MaxInt64)
	for _, start := range x.view.Hours() {
		hour, err := x.view.Hour(start)
		if err != nil {
			return 0, err
		}
		for _, f := range hour.Files {
			if f.Time.Last >= from {
				first = min(first, f.Received.First)
			}
		}
	}
	return first, nil
}

// compareAt compares the lists of one moment and window.
func (x *comparing) compareAt(ctx context.Context, from, asOf crest.Millis, lists []*crest.List) error {
	byBoard := map[string]*grade.Comparison{}
	var boards []string
	for _, l := range lists {
		byBoard[l.Board] = grade.Compare(l)
		boards = append(boards, l.Board)
	}
	slices.Sort(boards)
	source := "raw events"
	each := func(r counts.Row) error {
		if c := byBoard[r.Board]; c != nil {
			c.Add(r.Item, r.Count, r.Duplicates)
		}
		return nil
	}
	var err error
	if kept := x.view.State.KeptFrom; from == 0 && kept > 0 {
		source = fmt.Sprintf("raw events from %s on, and the exact counts of the hours before", clockOf(kept))
		err = x.truthOfAllTime(ctx, kept, asOf, boards, each)
	} else {
		err = x.truth(ctx, from, asOf, boards, each)
	}
	if err != nil {
		return fmt.Errorf("count the events of %s from %s to %s: %w", strings.Join(boards, ", "), clockOf(from), clockOf(asOf), err)
	}
	first := sync.OnceValues(func() (crest.Millis, error) { return x.firstReceived(from) })
	for _, l := range lists {
		lacks, err := x.lacks(l, first)
		if err != nil {
			return err
		}
		g := byBoard[l.Board].Grade(lacks)
		g.Faults = slices.DeleteFunc(g.Faults, func(f grade.Fault) bool { return f == grade.FaultRecall }) // that is bad, not wrong
		x.report.Lists = append(x.report.Lists, comparedList{Grade: g, From: explain.Moment(l.From), ExactUntil: explain.Moment(l.ExactUntil), Source: source})
	}
	return nil
}
