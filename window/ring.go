package window

import (
	"fmt"
	"time"

	"crest"
	"crest/sketch"
)

// Config sizes a ring.
type Config struct {
	Width   time.Duration // of a bucket; 0 for one bucket that never ends
	Buckets int           // held: as many as the longest window has
	Windows []int         // how many of the newest buckets each window has, 1 to Buckets
	Memory  int           // most bytes of one bucket's summary
	Late    bool          // remember what comes for closed hours, see LateSince; for widths that divide an hour
}

// Validate reports what is wrong with the configuration.
func (c Config) Validate() error {
	if c.Width < 0 || c.Width%time.Millisecond != 0 {
		return crest.Errorf(crest.CodeOutOfRange, "width", "is %s; it must be a positive number of milliseconds, or 0 for all time", c.Width)
	}
	if c.Width == 0 && c.Buckets != 1 {
		return crest.Errorf(crest.CodeOutOfRange, "buckets", "is %d; all time has exactly 1", c.Buckets)
	}
	if c.Buckets < 1 || c.Buckets > maxBuckets {
		return crest.Errorf(crest.CodeOutOfRange, "buckets", "is %d; it must be from 1 to %d", c.Buckets, maxBuckets)
	}
	if c.Memory > maxBytes/c.Buckets {
		return crest.Errorf(crest.CodeOutOfRange, "memory", "is %d bytes for each of %d buckets; together they may have at most %d",
			c.Memory, c.Buckets, maxBytes)
	}
	for i, n := range c.Windows {
		if n < 1 || n > c.Buckets {
			return crest.Errorf(crest.CodeOutOfRange, fmt.Sprintf("windows[%d]", i), "is %d; it must be from 1 to %d buckets", n, c.Buckets)
		}
	}
	return nil
}

// maxBuckets bounds a ring: a minute in each of 45 days.
const maxBuckets = 1<<16 - 1

// maxBytes bounds the summaries of a ring together, so that positions in its totals fit 32 bits.
const maxBytes = 8 << 30

// open is how many of the newest buckets are not in the running totals. The newest takes nearly all weights and the
// one before it most of the rest, so adjusting totals for each of them would cost more than reading them at a refresh.
const open = 2

// Ring holds the newest buckets of one board on one shard.
type Ring struct {
	config  Config
	newest  int64 // number of the newest bucket: its start divided by the width
	started bool
	slots   []bucket     // bucket n is slots[n mod Buckets]
	windows []*totals    // one per window: its settled buckets
	without []span       // per window, the buckets that it leaves out
	closed  crest.Millis // what happened before belongs to hours that are closed
	slot    crest.Millis // of what is being received
	late    int          // arrivals that have a key
	free    []*sketch.Summary

	ranking ranking        // scratch of Top
	set     []sketch.Entry // scratch of addLate
	floors  []uint64       // scratch of addLate
}

// bucket is one slice of event time.
type bucket struct {
	number       int64
	summary      *sketch.Summary    // nil while the bucket has no weight
	late         []uint64           // per window, the weight that came while this was the newest bucket but was too late for it
	arrivals     map[arrival]uint64 // weight that came for closed hours while this was the newest bucket
	duplicates   uint64
	dedupPartial bool
	changed      bool // since AppendBucket saved it
}

// NewRing returns an empty ring.
func NewRing(config Config) (*Ring, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	if _, err := sketch.New(sketch.Config{Memory: config.Memory}); err != nil {
		return nil, err
	}
	r := &Ring{
		config: config, slots: make([]bucket, config.Buckets),
		windows: make([]*totals, len(config.Windows)), without: make([]span, len(config.Windows)),
	}
	for i := range r.slots {
		r.slots[i].late = make([]uint64, len(config.Windows))
	}
	for i := range r.windows {
		r.windows[i] = &totals{}
	}
	return r, nil
}

// Number returns which bucket the moment belongs to: the bucket's start divided by the width, 0 for all time.
func (c Config) Number(t crest.Millis) int64 {
	if c.Width == 0 {
		return 0
	}
	return int64(t.Floor(c.Width)) / c.Width.Milliseconds()
}

// at returns the bucket of that number, which must be held.
func (r *Ring) at(number int64) *bucket {
	n := int64(len(r.slots))
	return &r.slots[((number%n)+n)%n]
}

// oldest returns the number of the oldest bucket held.
func (r *Ring) oldest() int64 { return r.newest - int64(r.config.Buckets) + 1 }

// Add counts weight for the item of that key at event time t. The hash must be sketch.Hash(key). A time after the
// newest bucket moves the ring forwards. It reports whether the weight was counted: it is not when its bucket is no
// longer held, and then it is part of Report.Late.
func (r *Ring) Add(t crest.Millis, hash uint64, key string, weight uint64) bool {
	n := r.config.Number(t)
	if !r.started || n > r.newest {
		r.advance(n)
	}
	r.countLate(n, weight)
	if t < r.closed {
		r.arrive(t, key, weight)
	}
	if n < r.oldest() {
		return false
	}
	b := r.at(n)
	b.changed = true
	if b.summary == nil {
		b.summary = r.summary()
	}
	if n > r.newest-open {
		b.summary.AddHash(hash, key, weight)
		return true
	}
	r.addLate(b, hash, key, weight)
	return true
}

// countLate notes a weight for every window that the bucket is too old for.
func (r *Ring) countLate(number int64, weight uint64) {
	for i, buckets := range r.config.Windows {
		if number <= r.newest-int64(buckets) {
			now := r.at(r.newest)
			now.late[i] += weight
			now.changed = true
		}
	}
}

// AddDuplicates notes weight at event time t that was dropped as sent before.
func (r *Ring) AddDuplicates(t crest.Millis, weight uint64) {
	n := r.config.Number(t)
	if !r.started || n > r.newest {
		r.advance(n)
	}
	if n < r.oldest() {
		return
	}
	b := r.at(n)
	b.duplicates += weight
	b.changed = true
}

// NotePartialDedup says that duplicates may have been counted while the newest bucket was the newest.
func (r *Ring) NotePartialDedup() {
	if !r.started {
		return
	}
	b := r.at(r.newest)
	b.dedupPartial = true
	b.changed = true
}

// addLate adds to a settled bucket and keeps the totals of its windows right. One Add changes nothing outside the
// item's set, so the set is taken out of the totals before and put back after.
func (r *Ring) addLate(b *bucket, hash uint64, key string, weight uint64) {
	s := b.summary
	setsBefore, fullBefore := s.Sets(), s.Full()
	set := s.SetOf(hash)
	floorBefore := s.Floor(set)
	r.set = s.AppendSet(r.set[:0], set)
	for i, w := range r.windows {
		if r.has(i, b.number) {
			for _, e := range r.set {
				w.removeEntry(e, floorBefore)
			}
		}
	}
	s.AddHash(hash, key, weight)

	// Growing splits a set into those whose numbers have the same low bits.
	r.set, r.floors = r.set[:0], r.floors[:0]
	for i := set; i < s.Sets(); i += setsBefore {
		r.set = s.AppendSet(r.set, i)
		for range len(r.set) - len(r.floors) {
			r.floors = append(r.floors, s.Floor(i))
		}
	}
	for i, w := range r.windows {
		if !r.has(i, b.number) {
			continue
		}
		if !fullBefore && s.Full() {
			w.refine(s.Sets())
		}
		for j := set; j < s.Sets(); j += setsBefore {
			w.shiftFloor(j, s.Sets(), int64(s.Floor(j)-floorBefore))
		}
		for j, e := range r.set {
			w.addEntry(e, r.floors[j])
		}
	}
}

// Advance moves the ring forwards so that its newest bucket is the one that ends at or after asOf. Moving back, or not
// at all, changes nothing.
func (r *Ring) Advance(asOf crest.Millis) {
	if slot := (asOf - 1).Floor(crest.Slot); r.config.Late && slot > r.slot {
		r.slot, r.closed = slot, slot.Add(-crest.CloseAfter).Floor(time.Hour)
	}
	if n := r.config.Number(asOf - 1); !r.started || n > r.newest {
		r.advance(n)
	}
}

func (r *Ring) advance(to int64) {
	if !r.started || to-r.newest >= int64(r.config.Buckets) {
		r.restart(to)
		return
	}
	for r.newest < to {
		r.step()
	}
}

// restart empties the ring and makes to its newest bucket.
func (r *Ring) restart(to int64) {
	for _, w := range r.windows {
		w.reset()
	}
	r.newest, r.started = to, true
	for i := range int64(r.config.Buckets) {
		r.recycle(r.at(to-i), to-i)
	}
}

// step makes the next bucket the newest: one bucket settles, and each window loses its last.
func (r *Ring) step() {
	settling := r.newest - open + 1
	for i, w := range r.windows {
		buckets := int64(r.config.Windows[i])
		if buckets <= open {
			continue // all of its buckets are open
		}
		if s := r.at(settling).summary; s != nil && r.has(i, settling) {
			w.addBucket(s)
		}
		expiring := r.newest - buckets + 1
		if s := r.at(expiring).summary; s != nil && r.has(i, expiring) {
			w.removeBucket(s)
		}
	}
	r.newest++
	r.recycle(r.at(r.newest), r.newest)
}

// recycle turns the slot of an expired bucket into an empty one.
func (r *Ring) recycle(b *bucket, number int64) {
	if b.summary != nil {
		b.summary.Reset()
		r.free = append(r.free, b.summary)
	}
	clear(b.late)
	r.late -= countAttributed(b.arrivals)
	*b = bucket{number: number, late: b.late}
}

func (r *Ring) summary() *sketch.Summary {
	if n := len(r.free); n > 0 {
		s := r.free[n-1]
		r.free = r.free[:n-1]
		return s
	}
	s, err := sketch.New(sketch.Config{Memory: r.config.Memory})
	if err != nil {
		panic("window: " + err.Error()) // NewRing made one of the same configuration
	}
	return s
}

// Bytes returns the memory that the ring's counting takes now.
func (r *Ring) Bytes() int {
	n := 0
	for i := range r.slots {
		if s := r.slots[i].summary; s != nil {
			n += s.Bytes()
		}
	}
	for _, s := range r.free {
		n += s.Bytes()
	}
	for _, w := range r.windows {
		n += w.bytes()
	}
	for i := range r.slots {
		for a := range r.slots[i].arrivals {
			n += arrivalBytes + len(a.key)
		}
	}
	return n
}
