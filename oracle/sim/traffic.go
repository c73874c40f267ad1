package sim

import (
	"container/heap"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"crest"
	"crest/internal/config"
	"crest/internal/load"
)

// Mix says what traffic is like. Parts are of all events.
type Mix struct {
	Duplicates float64 // sent again, in one of several ways
	Late       float64 // up to 9 minutes late
	HoursLate  float64 // up to 70 hours late
	Ranks      uint64  // items of a type that are watched at a time
	Skew       float64 // exponent of Zipf's law
}

// StandardMix is what the figures in the documents were measured with.
func StandardMix() Mix {
	return Mix{Duplicates: 0.02, Late: 0.01, HoursLate: 0.001, Ranks: 300_000, Skew: 1.05}
}

// event is one event as the simulation knows it.
type event struct {
	id       crest.EventID // zero when the producer sends none
	kind     int           // of the configuration's types
	item     int32
	time     crest.Millis // by the producer's clock
	weight   uint32
	session  uint32
	values   crest.Dimensions
	spelling int
}

// again is an event that is going to be sent once more.
type again struct {
	event

	due     crest.Millis
	newTime bool         // with the time at which it is sent
	counted crest.Millis // when the fast path last counted it
	first   crest.Millis // when it happened, as sent first
}

// traffic draws events.
type traffic struct {
	mix    Mix
	random *rand.Rand
	source *rand.PCG
	zipf   *load.Zipf
	kinds  []kind
	start  crest.Millis
	waits  waiting
}

type kind struct {
	name       string
	naming     naming
	dimensions int
}

// lifetime is how long an item stays at its rank. Ranks change one after another.
const lifetime = 18 * time.Hour

// viral items come from nowhere at the beginning of an hour and are gone 20 minutes later.
const (
	viralPart = 0.02
	viralFor  = 20 * time.Minute
)

func newTraffic(cfg *config.Config, mix Mix, start crest.Millis, seed uint64) (*traffic, error) {
	zipf, err := load.NewZipf(mix.Ranks, mix.Skew)
	if err != nil {
		return nil, err
	}
	source := rand.NewPCG(seed, 1)
	t := &traffic{mix: mix, random: rand.New(source), source: source, zipf: zipf, start: start}
	for _, typ := range cfg.Types {
		k := kind{name: typ.Name, naming: codes{}, dimensions: len(cfg.Dimensions)}
		if typ.Normalize != "" {
			k.naming = tags{}
		}
		t.kinds = append(t.kinds, k)
	}
	return t, nil
}

// dayCurve is the rate at a time of day, beside the day's average: least at 3:00 UTC, most at 15:00.
func dayCurve(at crest.Millis) float64 {
	day := float64(at%crest.Millis(24*time.Hour/time.Millisecond)) / (24 * 3_600_000)
	return 1 - 0.6*math.Cos(2*math.Pi*(day-0.125))
}

// draw makes an event that is received at a moment, and plans its copies.
func (t *traffic) draw(received crest.Millis) event {
	r := t.random
	ev := event{time: received - crest.Millis(r.IntN(3000)), weight: 1, session: r.Uint32N(50_000), spelling: r.IntN(16)}
	if len(t.kinds) > 1 && r.IntN(100) < 35 {
		ev.kind = 1 + r.IntN(len(t.kinds)-1)
	}
	if r.IntN(100) == 0 {
		ev.weight = 2 + r.Uint32N(4)
	}
	what := r.Float64()
	late, veryLate := what < t.mix.Late, what >= t.mix.Late && what < t.mix.Late+t.mix.HoursLate
	switch {
	case late:
		ev.time -= crest.Millis(r.Int64N(int64(9 * time.Minute / time.Millisecond)))
	case veryLate:
		ev.time -= crest.Millis(r.Int64N(int64(70 * time.Hour / time.Millisecond)))
	case r.IntN(1000) == 0:
		ev.time = received + crest.Millis(r.IntN(4000)) // a clock that is ahead
	}
	ev.item = t.item(received)
	for d := range t.kinds[ev.kind].dimensions {
		if r.IntN(33) > 0 {
			ev.values[d] = t.value(d, ev.item)
		}
	}
	if r.IntN(20) > 0 {
		binary.BigEndian.PutUint64(ev.id[:8], r.Uint64())
		binary.BigEndian.PutUint64(ev.id[8:], r.Uint64()|1)
		t.plan(ev, received, late || veryLate)
	}
	return ev
}

// item draws an item. Its number says its rank, and how many items have been at that rank before it.
func (t *traffic) item(at crest.Millis) int32 {
	passed := time.Duration(at-t.start) * time.Millisecond
	if t.random.Float64() < viralPart && passed%time.Hour < viralFor {
		return int32(passed / time.Hour) // the numbers before the first rank's
	}
	rank := t.zipf.Draw(t.source) - 1
	phase := time.Duration(rank*2_654_435_761%1000) * lifetime / 1000
	return firstRank + int32(rank) + int32(t.mix.Ranks)*int32((passed+phase)/lifetime)
}

// firstRank leaves numbers for the viral items of 40 days.
const firstRank = 1000

func (t *traffic) value(dimension int, item int32) string {
	if dimension == 0 { // the item's, such as its category
		return fmt.Sprint("c", item%5)
	}
	return fmt.Sprint("r", t.random.IntN(4)) // the reader's, such as the region
}

// plan decides whether and how an event is sent again.
func (t *traffic) plan(ev event, received crest.Millis, late bool) {
	r := t.random
	boundary := received.Add(2*time.Minute).Floor(time.Hour) != received.Add(-2*time.Minute).Floor(time.Hour)
	part := t.mix.Duplicates
	if boundary {
		part *= 2
	}
	if r.Float64() >= part {
		return
	}
	a := again{event: ev, counted: received, first: min(ev.time, received)}
	switch n := r.IntN(20); {
	case n < 2: // in the same request
		a.due = received
	case n < 4 && !late:
		a.due = received.Add(5 * time.Minute)
	case n == 4 && !late:
		a.due = received.Add(3 * time.Hour)
	case (n < 7 || boundary && n < 14) && !late: // with another time
		a.due, a.newTime = received+crest.Millis(1000+r.IntN(89_000)), true
	default:
		a.due = received + crest.Millis(1000+r.IntN(89_000))
	}
	heap.Push(&t.waits, &a)
}

// dueBy returns the next copy that is due by a moment, nil when there is none.
func (t *traffic) dueBy(now crest.Millis) *again {
	if len(t.waits) == 0 || t.waits[0].due > now {
		return nil
	}
	return heap.Pop(&t.waits).(*again) //nolint:forcetypeassert // there is nothing else in it
}

// waiting are the copies to come, a heap by when they are due.
type waiting []*again

func (w waiting) Len() int           { return len(w) }
func (w waiting) Less(i, j int) bool { return w[i].due < w[j].due }
func (w waiting) Swap(i, j int)      { w[i], w[j] = w[j], w[i] }
func (w *waiting) Push(x any)        { *w = append(*w, x.(*again)) } //nolint:forcetypeassert // heap gets it from plan
func (w *waiting) Pop() any {
	last := (*w)[len(*w)-1]
	*w = (*w)[:len(*w)-1]
	return last
}
