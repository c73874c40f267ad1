package pipeline

import (
	"context"

	"crest"
	"crest/internal/explain"
	"crest/internal/list"
	"crest/internal/shard"
	"crest/sketch"
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
	if !ok {
		return explain.Explanation{}, crest.Errorf(crest.CodeUnknownBoard, "board", "%s has had no events, so nothing is counted on it", board)
	}
	at := p.layout.ShardOf(sketch.Hash(item))
	x := explain.Explanation{
		Type: board.Type, Board: board.String(), ID: item, Shard: at, Shards: len(p.shards),
		AsOf: explain.Moment(p.watermark), Since: explain.Moment(p.since),
	}
	if p.watermark == 0 {
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
	x.Rings = rings
	return x, err
}

func (p *Pipeline) explainWindow(board, at int, s *scheduled, item string) (explain.Window, error) {
	asOf, name := p.watermark, p.boards.Board(board).Name
	w := explain.Window{Name: s.window.Name, From: explain.Moment(s.window.From(asOf)), AsOf: explain.Moment(asOf)}
	q := shard.Query{Board: board, Ring: s.whole.ring, Window: s.whole.window, K: 1, AsOf: asOf}
	seam := p.seamOf(name, s, asOf)
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
	open := r.Also[0]
	w.Late = r.LateExact
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
