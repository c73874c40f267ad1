package pipeline

import (
	"crest"
	"crest/internal/list"
)

// buildLists merges reports into lists and publishes them, one refresh after the other, until no more come.
func (p *Pipeline) buildLists() {
	for r := range p.build {
		began := p.options.Now()
		lists := make([]crest.List, len(r.reports))
		err := p.parallel(len(r.reports), func(i int) error {
			l, err := p.merge(r.since, r.reports[i])
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

func (p *Pipeline) merge(since crest.Millis, reports []list.Report) (crest.List, error) {
	board, win := reports[0].Board, reports[0].Window
	t, _ := p.config.Type(board.Type)
	params := list.Params{
		K: p.config.Lists.MaxK, IDField: t.IDField, Since: since,
		GeneratedAt: crest.MillisOf(p.options.Now()), Titles: p.options.Titles,
	}
	// After a restart, the list being served may be of a later moment than this one.
	if published := p.options.Lists.Current(board.String(), win.Name); published != nil && published.List().AsOf < reports[0].AsOf {
		params.Previous = published.List()
	}
	return list.Merge(reports, p.layout.Shards, params)
}
