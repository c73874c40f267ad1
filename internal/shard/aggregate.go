package shard

import (
	"math/bits"
	"time"
	"unsafe"

	"github.com/zeebo/xxh3"

	"crest"
)

// Partial is the weight of one item on one board in one bucket, summed over the events of one partition.
type Partial struct {
	Board  int
	Hash   uint64       // of Key
	Key    string       // valid until the aggregator that flushed it is reset
	Time   crest.Millis // start of the finest bucket
	Weight uint64
}

// Duplicates is the weight that one partition dropped from one board and bucket as sent before.
type Duplicates struct {
	Board  int
	Time   crest.Millis
	Weight uint64
}

// Aggregator sums the events of one partition until it is flushed.
type Aggregator struct {
	layout *Layout
	boards *Boards // read only, but for Flush
	recent *recentIDs

	table []cell
	index []uint32 // open addressing with linear probing: position in table plus one, 0 for free
	keys  []byte

	fresh      []crest.Board  // narrowed boards that Boards does not have yet; number i is used as -1-i
	freshNames map[string]int // their numbers
	refused    uint64         // weight that found no room for its narrowed board
	duplicates map[dupKey]uint64
	scratch    []byte // a board's name
	spelled    []byte // an item and its spelling
	eventOn    []int  // boards of the current event

	order  []uint32 // positions in table, grouped by shard
	groups []int    // where each shard's group begins in order, and the end

	touched uint64 // what fetch read; kept so that reading is not for nothing
}

type cell struct {
	hash   uint64 // of the key
	time   crest.Millis
	weight uint64
	board  int32
	key    uint32
	length uint16
	shard  uint16
}

type dupKey struct {
	board int
	time  crest.Millis
}

const tableStart = 1 << 10

// NewAggregator returns an empty aggregator for the partition of that number.
func NewAggregator(layout *Layout, boards *Boards, partition int) *Aggregator {
	phase := layout.Horizon * time.Duration(partition) / time.Duration(layout.Partitions)
	return &Aggregator{
		layout: layout, boards: boards, recent: newRecentIDs(layout.Horizon, phase, layout.RecentBytes, layout.Secret),
		index: make([]uint32, 2*tableStart), freshNames: map[string]int{}, duplicates: map[dupKey]uint64{},
		groups: make([]int, layout.Shards+1),
	}
}

// Remember notes an event's id without counting it: so that, after a restart, one that was counted before is known when
// it comes again.
func (a *Aggregator) Remember(id crest.EventID, received crest.Millis) { a.recent.seen(id, received) }

// Event is an event with the number of its type in the layout.
type Event struct {
	crest.Event
	Type int

	hash uint64 // of Item
}

// Add takes in events that were received at a moment which never goes back. It copies what it keeps. A few dozen at a
// time are best: the tables of ids and of sums are larger than the caches, and all of their places that the events need
// are asked of the memory at once.
func (a *Aggregator) Add(events []Event, received crest.Millis) {
	a.recent.fetch(events)
	for len(events) > 0 {
		n := min(len(events), fetchAhead)
		a.fetch(events[:n], received)
		for i := range n {
			a.addEvent(&events[i], received)
		}
		events = events[n:]
	}
}

// fetchAhead is how many places are asked for at once: more than a processor keeps under way.
const fetchAhead = 64

// fetch hashes the items and reads the places of their types' boards in the table, as recentIDs.fetch does for ids.
func (a *Aggregator) fetch(events []Event, received crest.Millis) {
	mask := uint64(len(a.index) - 1)
	var cells [fetchAhead]uint32
	for i := range events {
		ev := &events[i]
		ev.hash = xxh3.HashString(ev.Item)
		cells[i] = a.index[a.probe(ev.hash, a.boards.base[ev.Type], a.layout.grain(min(ev.Time, received)))&mask]
	}
	a.touched = 0
	for _, c := range cells[:len(events)] {
		if c != 0 {
			a.touched |= a.table[c-1].hash
		}
	}
}

func (a *Aggregator) addEvent(e *Event, received crest.Millis) {
	ev, typ, hash := &e.Event, e.Type, e.hash
	t := a.layout.grain(min(ev.Time, received))
	a.eventOn = a.boardsOf(a.eventOn[:0], ev, typ)
	if !ev.Generated && a.recent.seen(ev.ID, received) {
		for _, board := range a.eventOn {
			a.duplicates[dupKey{board, t}] += uint64(ev.Weight)
		}
		return
	}
	shard := uint16(a.layout.ShardOf(hash))
	for _, board := range a.eventOn {
		a.add(board, hash, shard, ev.Item, t, uint64(ev.Weight))
	}
	if board := a.boards.spell[typ]; board >= 0 {
		a.addSpelling(board, shard, ev, t)
	}
}

// boardsOf appends the numbers of the boards that the event counts on.
func (a *Aggregator) boardsOf(dst []int, ev *crest.Event, typ int) []int {
	dst = append(dst, a.boards.base[typ])
	for _, set := range a.layout.Types[typ].Narrow {
		if n, ok := a.narrowed(ev, typ, set); ok {
			dst = append(dst, n)
		}
	}
	return dst
}

// narrowed finds the board for the event's values of a set of dimensions, if it has them all.
func (a *Aggregator) narrowed(ev *crest.Event, typ int, set []int) (board int, ok bool) {
	name := append(a.scratch[:0], a.layout.Types[typ].Name...)
	for _, d := range set {
		v := ev.Dimensions[d]
		if v == "" {
			return 0, false
		}
		name = append(name, '/')
		name = append(name, a.layout.Dimensions[d]...)
		name = append(name, '=')
		name = append(name, v...)
	}
	a.scratch = name
	if n, ok := a.boards.byName[string(name)]; ok {
		return n, true
	}
	if n, ok := a.freshNames[string(name)]; ok {
		return n, true
	}
	if len(a.fresh) >= a.layout.MaxBoards-a.boards.narrowed {
		a.refused += uint64(ev.Weight)
		return 0, false
	}
	b := crest.Board{Type: a.layout.Types[typ].Name}
	for _, d := range set {
		b.Narrow = append(b.Narrow, crest.Narrowing{Dimension: a.layout.Dimensions[d], Value: string([]byte(ev.Dimensions[d]))})
	}
	n := -1 - len(a.fresh)
	a.fresh = append(a.fresh, b)
	a.freshNames[string(name)] = n
	return n, true
}

// addSpelling counts how the item was written. The pair lives on the item's shard.
func (a *Aggregator) addSpelling(board int, shard uint16, ev *crest.Event, t crest.Millis) {
	spelling := ev.Spelling
	if spelling == "" {
		spelling = ev.Item
	}
	if len(ev.Item)+1+len(spelling) > crest.MaxItemBytes {
		return // a summary's keys are no longer; such an item is shown in its normal form
	}
	a.spelled = append(a.spelled[:0], ev.Item...)
	a.spelled = append(a.spelled, spellingSeparator)
	a.spelled = append(a.spelled, spelling...)
	pair := unsafe.String(&a.spelled[0], len(a.spelled)) //nolint:gosec // add copies it
	a.add(board, xxh3.HashString(pair), shard, pair, t, uint64(ev.Weight))
}

// add sums weight into the cell of the board, key and bucket.
func (a *Aggregator) add(board int, hash uint64, shard uint16, key string, t crest.Millis, weight uint64) {
	if 2*len(a.table) >= len(a.index) {
		a.grow()
	}
	mask := uint64(len(a.index) - 1)
	for slot := a.probe(hash, board, t) & mask; ; slot = (slot + 1) & mask {
		i := a.index[slot]
		if i == 0 {
			a.index[slot] = uint32(len(a.table) + 1)
			a.table = append(a.table, cell{
				hash: hash, time: t, weight: weight, board: int32(board),
				key: uint32(len(a.keys)), length: uint16(len(key)), shard: shard,
			})
			a.keys = append(a.keys, key...)
			return
		}
		c := &a.table[i-1]
		if c.hash == hash && int(c.board) == board && c.time == t && a.key(c) == key {
			c.weight += weight
			return
		}
	}
}

// probe mixes what identifies a cell with the secret.
func (a *Aggregator) probe(hash uint64, board int, t crest.Millis) uint64 {
	high, low := bits.Mul64(hash^a.layout.Secret[0], uint64(board)*0x9e3779b97f4a7c15^uint64(t)^a.layout.Secret[1])
	return high ^ low
}

func (a *Aggregator) key(c *cell) string {
	if c.length == 0 {
		return ""
	}
	return unsafe.String(&a.keys[c.key], c.length) //nolint:gosec // keys only grow until Reset
}

func (a *Aggregator) grow() {
	a.index = make([]uint32, 2*len(a.index))
	mask := uint64(len(a.index) - 1)
	for i := range a.table {
		c := &a.table[i]
		slot := a.probe(c.hash, int(c.board), c.time) & mask
		for a.index[slot] != 0 {
			slot = (slot + 1) & mask
		}
		a.index[slot] = uint32(i + 1)
	}
}

// Len returns how many partials a flush would give now.
func (a *Aggregator) Len() int { return len(a.table) }

// Empty reports whether a flush would give nothing at all.
func (a *Aggregator) Empty() bool {
	return len(a.table) == 0 && len(a.duplicates) == 0 && !a.recent.forgot
}

// Flush admits the narrowed boards that were new. It writes to Boards, so no other aggregator may run meanwhile.
func (a *Aggregator) Flush() {
	if len(a.fresh) == 0 {
		return
	}
	numbers := make([]int32, len(a.fresh))
	for i, b := range a.fresh {
		numbers[i] = int32(a.boards.Admit(b))
	}
	for i := range a.table {
		c := &a.table[i]
		if c.board < 0 {
			c.board = numbers[-1-c.board]
			if c.board < 0 {
				a.refused += c.weight
			}
		}
	}
	for k, w := range a.duplicates {
		if k.board < 0 {
			delete(a.duplicates, k)
			if n := int(numbers[-1-k.board]); n >= 0 {
				a.duplicates[dupKey{n, k.time}] += w
			}
		}
	}
	a.fresh = a.fresh[:0]
	clear(a.freshNames)
}

// Group sorts the partials by shard, after Flush and before Shard.
func (a *Aggregator) Group() {
	clear(a.groups)
	for i := range a.table {
		a.groups[a.table[i].shard+1]++
	}
	for s := range a.layout.Shards {
		a.groups[s+1] += a.groups[s]
	}
	if cap(a.order) < len(a.table) {
		a.order = make([]uint32, len(a.table), cap(a.table))
	}
	a.order = a.order[:len(a.table)]
	next := append([]int(nil), a.groups...)
	for i := range a.table {
		s := a.table[i].shard
		a.order[next[s]] = uint32(i)
		next[s]++
	}
}

// Shard appends the partials for one shard in the order of their first events. Several goroutines may call it at once.
func (a *Aggregator) Shard(dst []Partial, shard int) []Partial {
	for _, i := range a.order[a.groups[shard]:a.groups[shard+1]] {
		if c := &a.table[i]; c.board >= 0 {
			dst = append(dst, Partial{Board: int(c.board), Hash: c.hash, Key: a.key(c), Time: c.time, Weight: c.weight})
		}
	}
	return dst
}

// Dropped returns the duplicates since the last Reset, in no order.
func (a *Aggregator) Dropped() []Duplicates {
	var d []Duplicates
	for k, w := range a.duplicates {
		d = append(d, Duplicates{Board: k.board, Time: k.time, Weight: w})
	}
	return d
}

// Refused returns the weight that found no room for its narrowed board since the last Reset.
func (a *Aggregator) Refused() uint64 { return a.refused }

// TakeForgot reports whether ids were forgotten too early since it was last asked.
func (a *Aggregator) TakeForgot() bool { return a.recent.takeForgot() }

// Reset empties the aggregator after a flush. Ids stay remembered.
func (a *Aggregator) Reset() {
	a.table = a.table[:0]
	a.keys = a.keys[:0]
	a.refused = 0
	clear(a.index)
	clear(a.duplicates)
}
