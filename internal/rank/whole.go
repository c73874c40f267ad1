package rank

import (
	"slices"
	"strings"

	"crest"
	"crest/sketch"
)

// whole counts everything that it is given into one summary per shard.
type whole struct {
	config    *Config
	summaries []*sketch.Summary
	emit      func(List) error
}

func newWhole(c *Config, emit func(List) error) (*whole, error) {
	w := &whole{config: c, summaries: make([]*sketch.Summary, c.shards()), emit: emit}
	for i := range w.summaries {
		s, err := sketch.New(sketch.Config{Memory: c.Memory / len(w.summaries)})
		if err != nil {
			return nil, err
		}
		w.summaries[i] = s
	}
	return w, nil
}

func (w *whole) workers() int { return max(1, min(w.config.Workers, len(w.summaries))) }

func (w *whole) apply(worker int, b *batch) error {
	for i := worker; i < len(w.summaries); i += w.workers() {
		s := w.summaries[i]
		events := b.shards[i]
		for j := range events {
			s.AddHash(events[j].hash, events[j].item, events[j].weight)
		}
	}
	return nil
}

// finish merges the shards' tops. Each gives one more than is wanted, so that the merge knows the best item left out.
func (w *whole) finish(*Stats) error {
	k := w.config.K
	var all []sketch.Entry
	list := List{List: crest.List{K: k}}
	for _, s := range w.summaries {
		all = append(all, s.Top(k+1)...)
		list.Total += s.Total()
		list.Cutoff = max(list.Cutoff, s.Cutoff())
	}
	slices.SortFunc(all, func(a, b sketch.Entry) int {
		if a.Count != b.Count {
			if a.Count > b.Count {
				return -1
			}
			return 1
		}
		return strings.Compare(a.Key, b.Key)
	})
	if len(all) > k {
		list.Cutoff = max(list.Cutoff, all[k].Count)
		all = all[:k]
	}
	for _, e := range all {
		list.Top = append(list.Top, crest.Entry{ID: e.Key, Count: e.Count, Error: e.Error})
	}
	if w.config.At != nil {
		list.AsOf = *w.config.At
		if w.config.Window > 0 {
			list.From = list.AsOf.Add(-w.config.Window)
		}
	}
	list.label()
	return w.emit(list)
}

// label fills what follows from the entries.
func (l *List) label() {
	l.Label()
	l.Exact = l.MaxOverCount == 0 && (len(l.Top) == 0 || l.Top[len(l.Top)-1].Count >= l.Cutoff)
}
