package rank

import (
	"sync/atomic"

	"crest"
	"crest/internal/rows"
)

// event is one line to be counted, or several lines of one item. The item points into the batch's block.
type event struct {
	hash    uint64
	item    string
	weight  uint64
	time    crest.Millis // with Every alone
	arrived crest.Millis
}

// batch is a block of lines on its way from the reader over a parser to the counting.
type batch struct {
	block  rows.Block
	input  *rows.Input
	reader *rows.Reader
	ready  chan struct{} // takes one value when the batch is parsed
	users  atomic.Int32  // counting workers that have not finished with it
	tally  tally
	shards [][]event // by shard, in order of the lines

	normal []byte // normalised items
	recent []slot // finds the item's event, if the block had one already
}

// slot remembers an event of this block by its hash.
type slot struct {
	hash  uint64
	event int // position in its shard, plus 1
}

// recentSlots bounds the pre-aggregation of a block. It takes 64 KiB, so that it stays in the cache.
const recentSlots = 4096

func newBatch(shards int) *batch {
	return &batch{ready: make(chan struct{}, 1), shards: make([][]event, shards)}
}

func (b *batch) reset() {
	b.tally.reset()
	for i := range b.shards {
		b.shards[i] = b.shards[i][:0]
	}
	b.normal = b.normal[:0]
	clear(b.recent)
}

// shardOf returns an item's shard by the top bits of its hash; a summary uses the low ones.
func (b *batch) shardOf(hash uint64) int { return int(hash >> 32 * uint64(len(b.shards)) >> 32) }

// add puts an event to its shard. Lines of one item that follow each other soon become one event: most lines of a
// skewed file are of few items, and this is where they are cheapest to add up.
func (b *batch) add(e event) {
	shard := &b.shards[b.shardOf(e.hash)]
	s := &b.recent[e.hash%recentSlots]
	if s.hash == e.hash && s.event > 0 {
		if known := &(*shard)[s.event-1]; known.item == e.item {
			known.weight += e.weight
			return
		}
	}
	*shard = append(*shard, e)
	*s = slot{e.hash, len(*shard)}
}
