package pipeline

import (
	"crest"
	"crest/internal/list"
)

// buildLists merges reports into lists and publishes them, one refresh after the other, until no more come.
func (p *Pipeline) buildLists() {
	for r := range p.build {
		began := p.options.Now()
		lists := make([]crest.List, len(r.lists))
		err := p.parallel(len(r.lists), func(i int) error {
			l, err := p.merge(&r, &r.lists[i])
			lists[i] = l
			return err
		})
		if err != nil { // a report is missing or contradicts another: the last good lists stay
			p.noteSkipped(err)
			continue
		}
		p.options.Lists.Publish(lists)
		if p.options.Observer.Refreshed != nil {
			now := p.options.Now()
			p.options.Observer.Refreshed(r.asOf, len(lists), now.Sub(r.asOf.Time()), now.Sub(began))
		}
	}
}

func (p *Pipeline) merge(r *refresh, l *listing) (crest.List, error) {
	board, win := l.reports[0].Board, l.reports[0].Window
	t, _ := p.config.Type(board.Type)
	params := list.Params{
		K: p.config.Lists.MaxK, IDField: t.IDField, Since: r.since, Problem: p.noteSkipped,
		GeneratedAt: crest.MillisOf(p.options.Now()), Titles: p.options.Titles,
	}
	// After a restart, the list being served may be of a later moment than this one.
	if published := p.options.Lists.Current(board.String(), win.Name); published != nil && published.List().AsOf < r.asOf {
		params.Previous = published.List()
	}
	if l.seam == nil {
		return list.Merge(l.reports, p.layout.Shards, params)
	}
	params.Since = l.seam.since
	return list.Stitch(l.reports, p.layout.Shards, r.exact, l.seam.base, params)
}
