package pipeline

import (
	"context"
	"slices"
	"time"

	"crest"
	"crest/internal/explain"
	"crest/internal/list"
	"crest/internal/shard"
	"crest/sketch"
	"crest/window"
)

// question asks what is known of an item on a board. The goroutine that counts answers it between two batches.
type question struct {
	board  crest.Board
	item   string
	answer chan<- answer
}

type answer struct {
	explanation explain.Explanation
	err         error
}

// Explain says what the fast path knows of an item, and where the lists have it. Items of normalised types are asked for
// in their normal form. Nothing is read from disk but exact counts of one item. It returns ctx's error when counting
// does not answer in time.
func (p *Pipeline) Explain(ctx context.Context, board crest.Board, item string) (explain.Explanation, error) {
	answers := make(chan answer, 1)
	select {
	case p.asked <- question{board, item, answers}:
	case <-ctx.Done():
		return explain.Explanation{}, ctx.Err()
	}
	select {
	case a := <-answers:
		return a.explanation, a.err
	case <-ctx.Done():
		return explain.Explanation{}, ctx.Err()
	}
}

// answer answers the questions that wait.
func (p *Pipeline) answer() {
	for {
		select {
		case q := <-p.asked:
			x, err := p.explain(q.board, q.item)
			q.answer <- answer{x, err}
		default:
			return
		}
	}
}

func (p *Pipeline) explain(board crest.Board, item string) (explain.Explanation, error) {
	number, ok := p.boards.Find(board)
	at := p.layout.ShardOf(sketch.Hash(item))
	x := explain.Explanation{
		Type: board.Type, Board: board.String(), ID: item, Shard: at, Shards: len(p.shards),
		AsOf: explain.Moment(p.watermark), Since: explain.Moment(p.since),
	}
	if !ok || p.watermark == 0 {
		return x, nil // nothing has been counted
	}
	if err := p.flush(); err != nil { // so that what is shown is as of the watermark
		return x, err
	}
	for _, w := range p.config.Windows {
		for _, s := range p.schedule {
			if s.window == w {
				figures, err := p.explainWindow(number, at, s, item)
				if err != nil {
					return x, err
				}
				x.Windows = append(x.Windows, figures)
			}
		}
	}
	rings, err := p.explainRings(number, at, item)
	if err != nil {
		return x, err
	}
	x.Rings = rings
	x.Exact, err = p.explainExact(number, item)
	return x, err
}

// shownHours is how many exact hours an explanation has.
const shownHours = 24

// explainExact says which hours are exact, and what came for them since. Their counts are for those who have them.
func (p *Pipeline) explainExact(board int, item string) (*explain.Exact, error) {
	if p.exact == nil || p.exact.Reach().Until == 0 {
		return nil, nil
	}
	reach := p.exact.Reach()
	x := &explain.Exact{First: explain.Moment(reach.First), Until: explain.Moment(reach.Until), Since: explain.Moment(reach.Since)}
	count, err := p.exact.Counts(p.boards.Board(board).Name, 0, []string{item})
	if err != nil {
		return nil, err
	}
	x.AllTime = count[0]
	from := max(reach.First, reach.Until.Add(-shownHours*time.Hour))
	cut := map[crest.Millis]crest.Millis{}
	for _, c := range p.exact.Cuts(from) {
		cut[c.Hour] = c.Received
	}
	late, err := p.lateSince(board, cut)
	if err != nil {
		return nil, err
	}
	for h := from; h < reach.Until; h = h.Add(time.Hour) {
		x.Hours = append(x.Hours, explain.Hour{Start: explain.Moment(h), Cut: explain.Moment(cut[h]), Late: late[h]})
	}
	return x, nil
}

// lateSince returns, per hour, the weight that came for it since its cut.
func (p *Pipeline) lateSince(board int, cuts map[crest.Millis]crest.Millis) (map[crest.Millis]uint64, error) {
	ring := slices.IndexFunc(p.layout.Rings, func(c window.Config) bool { return c.Late })
	late := map[crest.Millis]uint64{}
	if ring < 0 {
		return late, nil
	}
	for _, s := range p.shards {
		rings, err := s.Rings(board)
		if err != nil {
			return nil, err
		}
		for hour, cut := range cuts {
			came := rings[ring].LateSince(hour, hour.Add(time.Hour), func(crest.Millis) crest.Millis { return cut })
			late[hour] += came.Rest
			for _, n := range came.Items {
				late[hour] += n
			}
		}
	}
	return late, nil
}

func (p *Pipeline) explainWindow(board, at int, s *scheduled, item string) (explain.Window, error) {
	asOf, name := p.watermark, p.boards.Board(board).Name
	w := explain.Window{Name: s.window.Name, From: explain.Moment(s.window.From(asOf)), AsOf: explain.Moment(asOf)}
	q := shard.Query{Board: board, Ring: s.whole.ring, Window: s.whole.window, K: 1, AsOf: asOf}
	seam := p.seamOf(name, s, p.exactPartOf(s, asOf))
	q.Seam = &shard.Seam{Cut: func(crest.Millis) crest.Millis { return 0 }, Also: []string{item}}
	if seam != nil {
		q.Ring, q.Window = s.open.ring, s.open.window
		q.Seam = seam.of(at)
		q.Seam.Also = []string{item}
		exact, err := p.exact.Counts(name, seam.base.From, []string{item})
		if err != nil {
			return w, err
		}
		w.Exact, w.ExactUntil = exact[0], explain.Moment(seam.base.Until)
	}
	r, err := p.shards[at].Report(q)
	if err != nil {
		return w, err
	}
	open := r.Also[slices.IndexFunc(r.Also, func(e window.Entry) bool { return e.Key == item })]
	w.Late = r.LateExact.Items[item] + r.LateExact.Rest
	w.Estimate = explain.Estimated(w.Exact+open.Count+w.Late, open.Error+w.Late)
	w.Listing = p.explainListing(name, s.window.Name, item)
	return w, nil
}

func (p *Pipeline) explainListing(board, win, item string) *explain.Listing {
	published := p.options.Lists.Current(board, win)
	if published == nil {
		return nil
	}
	l := published.List()
	listing := &explain.Listing{
		Version: l.Version, AsOf: explain.Moment(l.AsOf), Stale: l.Stale, K: l.K, Entries: len(l.Top),
		Proven: l.Proven, Cutoff: l.Cutoff,
	}
	for i, e := range l.Top {
		if e.ID == item {
			listing.Rank, listing.Count, listing.Error = i+1, e.Count, e.Error
		}
		listing.Last = e.Count
	}
	return listing
}

func (p *Pipeline) explainRings(board, at int, item string) ([]explain.Ring, error) {
	rings, err := p.shards[at].Rings(board)
	if err != nil {
		return nil, err
	}
	var counted list.Reach
	if p.exact != nil {
		counted = p.exact.Reach()
	}
	var out []explain.Ring
	for i, r := range p.config.Rings() {
		ring := explain.Ring{Width: explain.Span(r.Width), Open: r.Open}
		for _, w := range r.Windows {
			ring.Windows = append(ring.Windows, w.Name)
		}
		for _, b := range rings[i].BucketsOf(item) {
			exact := r.Width > 0 && b.Start >= counted.First && b.Start.Add(r.Width) <= counted.Until
			ring.Buckets = append(ring.Buckets, explain.Bucket{
				Start: explain.Moment(b.Start), Estimate: explain.Estimated(b.Count, b.Error), Held: b.Held, Exact: exact,
			})
		}
		out = append(out, ring)
	}
	return out, nil
}
