package pipeline

import (
	"fmt"
	"math/rand/v2"
	"time"

	"crest/hashtag"
	"crest/internal/config"
	"crest/internal/shard"
	"crest/sketch"
	"crest/window"
)

// maxPartials is how many partials one aggregator collects before it is flushed early: about what still fits the cache
// together with its index.
const maxPartials = 1 << 15

// onlyAllTime is the width of the buckets that weights are summed by when no window has any.
const onlyAllTime = time.Minute

// layoutOf says what the configuration means for the shards.
func layoutOf(c *config.Config) *shard.Layout {
	l := &shard.Layout{
		Shards:      c.Counting.Shards,
		Partitions:  c.Counting.Partitions,
		MaxBoards:   c.Counting.MaxBoards,
		Horizon:     c.Counting.DedupHorizon,
		RecentBytes: int(c.Counting.DedupMemory) / c.Counting.Partitions,
		SpellMemory: max(sketch.MinMemory, int(c.Counting.Bucket)/4/c.Counting.Shards),
		MaxPartials: maxPartials,
		Dimensions:  c.DimensionNames(),
		Secret:      shard.Secret{rand.Uint64(), rand.Uint64()},
	}
	for _, t := range c.Types {
		st := shard.Type{Name: t.Name, Narrow: c.Narrowings(t)}
		if t.Normalize != "" {
			st.Normalizer = fmt.Sprintf("%s/%d", t.Normalize, hashtag.Version)
		}
		l.Types = append(l.Types, st)
	}
	l.Rings = rings(c, int(c.Counting.Bucket)/c.Counting.Shards)
	l.NarrowRings = rings(c, int(c.Counting.NarrowBucket)/c.Counting.Shards)
	for _, w := range c.Windows {
		if w.Bucket > 0 && (l.Grain == 0 || w.Bucket < l.Grain) {
			l.Grain = w.Bucket
		}
	}
	if l.Grain == 0 {
		l.Grain = onlyAllTime
	}
	return l
}

func rings(c *config.Config, memory int) []window.Config {
	var configs []window.Config
	for _, r := range c.Rings() {
		w := window.Config{Width: r.Width, Buckets: r.Buckets, Memory: memory}
		for _, win := range r.Windows {
			w.Windows = append(w.Windows, win.Buckets())
			w.Late = w.Late || r.Width > 0 && c.Stitched(win)
		}
		if r.Open { // one window more: the open hours of all time
			w.Windows = append(w.Windows, r.Buckets)
			w.Late = true
		}
		configs = append(configs, w)
	}
	return configs
}
