package recount

import (
	"errors"
	"fmt"

	"crest"
	"crest/internal/config"
	"crest/internal/list"
)

// Lists publishes lists of exact hours alone.
type Lists struct {
	Config *config.Config
	Store  Store
	Titles list.Titles         // nil when items have no titles
	Now    func() crest.Millis // the clock, for generated_at
}

// Store is where lists are published and found; a *list.Store is one.
type Store interface {
	Publish(lists []crest.List)
	Current(board, window string) *list.Published
	All() []*list.Published
}

// wanted is a list that only exact counts can give.
type wanted struct {
	board  crest.Board
	window crest.Window
}

// wanted returns the lists as of the last exact hour that are newer than what is served: counting is down, or far behind.
func (l *Lists) wanted(reach list.Reach) []wanted {
	var all []wanted
	for _, board := range l.boards() {
		for _, w := range l.Config.Windows {
			current := l.Store.Current(board.String(), w.Name)
			if l.Config.Stitched(w) && reach.Until > max(w.From(reach.Until), reach.First) &&
				(current == nil || current.List().AsOf < reach.Until) {
				all = append(all, wanted{board, w})
			}
		}
	}
	return all
}

// publish publishes lists. Every event of their hours that was received before the cut is in their counts.
func (l *Lists) publish(x list.Exact, all []wanted) error {
	var lists []crest.List
	var errs error
	for _, one := range all {
		made, err := l.make(x, one.board, one.window, l.Store.Current(one.board.String(), one.window.Name))
		if err != nil {
			errs = errors.Join(errs, fmt.Errorf("list of exact hours of %s, %s: %w", one.board, one.window.Name, err))
			continue
		}
		lists = append(lists, made)
	}
	if len(lists) > 0 {
		l.Store.Publish(lists)
	}
	return errs
}

func (l *Lists) make(x list.Exact, board crest.Board, w crest.Window, current *list.Published) (crest.List, error) {
	reach := x.Reach()
	base, err := x.Base(board.String(), w.From(reach.Until))
	if err != nil {
		return crest.List{}, err
	}
	t, _ := l.Config.Type(board.Type)
	params := list.Params{
		K: l.Config.Lists.MaxK, IDField: t.IDField, Since: reach.Since, GeneratedAt: l.Now(), Titles: l.Titles,
	}
	if w.AllTime() && params.Since == 0 {
		params.Since = reach.First
	}
	if base.From > max(w.From(reach.Until), reach.First) { // the board was declared later
		params.Since = max(params.Since, base.From)
	}
	if current != nil {
		params.Previous = current.List()
	}
	return list.OnlyExact(board, w, base, params)
}

// counted reports whether counting has made lists as of a moment or later. Then the lists as of it are kept, if there
// were any.
func (l *Lists) counted(t crest.Millis) bool {
	for _, p := range l.Store.All() {
		if p.List().AsOf >= t && p.List().ExactUntil < p.List().AsOf {
			return true
		}
	}
	return false
}

// boards are those of the types, and all others that have a list.
func (l *Lists) boards() []crest.Board {
	var boards []crest.Board
	seen := map[string]bool{}
	add := func(b crest.Board) {
		if name := b.String(); !seen[name] {
			seen[name] = true
			boards = append(boards, b)
		}
	}
	for _, t := range l.Config.Types {
		add(crest.Board{Type: t.Name})
	}
	for _, p := range l.Store.All() {
		add(crest.ParseBoard(p.List().Board))
	}
	return boards
}
