// Package demo makes traffic that looks alive: skewed popularity, and items that rise for some seconds, stay, and fall.
// The same seed and times always give the same events, but for their ids: those are left to the client, so that a demo
// that is started again brings new events.
package demo

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"crest"
	"crest/client"
)

// Type is a kind of item that traffic is made for.
type Type struct {
	Name       string
	Hashtags   bool        // its items are hashtags, written in several ways
	Dimensions []Dimension // that its events have
}

// Dimension is an attribute of events.
type Dimension struct {
	Name   string
	Values []string // that it can have; when empty, some are made up
}

// Traffic makes events for the types that it is asked for.
type Traffic struct {
	random *rand.Rand
	kinds  []*kind
	titles map[string]string // by type and id
}

// kind is the traffic of one type.
type kind struct {
	Type
	items  []item
	bursts []burst
	sums   []float64 // running sums of the items' present weights
	until  crest.Millis
}

type item struct {
	id   string
	base float64
}

// burst multiplies one item's popularity for a while.
type burst struct {
	item             int
	start, rise, end crest.Millis
	peak             float64
}

const (
	itemsPerType   = 600
	skew           = 0.85 // exponent of Zipf's law; lower than real traffic's, so that ranks move more
	burstsAtOnce   = 7
	weightsEvery   = time.Second
	visitors       = 50_000
	shareOfVariant = 0.3
)

// New returns traffic for types.
func New(seed uint64, types []Type) *Traffic {
	t := &Traffic{random: rand.New(rand.NewPCG(seed, 0)), titles: map[string]string{}}
	for _, typ := range types {
		k := &kind{Type: typ}
		k.Dimensions = nil
		for _, d := range typ.Dimensions {
			if len(d.Values) == 0 {
				d.Values = valuesOf(d.Name)
			}
			k.Dimensions = append(k.Dimensions, d)
		}
		for i := range itemsPerType {
			k.items = append(k.items, t.newItem(k, i))
		}
		t.kinds = append(t.kinds, k)
	}
	return t
}

func (t *Traffic) newItem(k *kind, i int) item {
	it := item{base: 1 / math.Pow(float64(i+3), skew)}
	if k.Hashtags {
		it.id = tagOf(i)
		return it
	}
	it.id = idOf(t.random)
	t.titles[k.Name+"/"+it.id] = titleOf(i)
	return it
}

// Title says what an item is called. It makes Traffic a source of titles for lists.
func (t *Traffic) Title(typ, id string) (title, thumbnail string, ok bool) {
	title, ok = t.titles[typ+"/"+id]
	return title, "", ok
}

// Events returns n events that happen at now, shared evenly between the types.
func (t *Traffic) Events(n int, now crest.Millis) []client.Event {
	events := make([]client.Event, 0, n)
	for i := range n {
		k := t.kinds[i%len(t.kinds)]
		if now >= k.until {
			t.weigh(k, now)
		}
		x := t.random.Float64() * k.sums[len(k.sums)-1]
		at, _ := slices.BinarySearch(k.sums, x)
		events = append(events, t.event(k, min(at, len(k.items)-1), now))
	}
	return events
}

func (t *Traffic) event(k *kind, i int, now crest.Millis) client.Event {
	ev := client.Event{Type: k.Name, Item: k.items[i].id, Time: now.Time(), Session: "visitor" + strconv.Itoa(t.random.IntN(visitors))}
	if k.Hashtags {
		ev.Item = t.spelling(ev.Item)
	}
	for n, d := range k.Dimensions {
		value := i // the first dimension is the item's, such as its category
		if n > 0 { // the others are the visitor's, such as the region
			value = t.random.IntN(len(d.Values))
		}
		if ev.Dimensions == nil {
			ev.Dimensions = map[string]string{}
		}
		ev.Dimensions[d.Name] = d.Values[value%len(d.Values)]
	}
	return ev
}

// spelling writes a tag the way people do: mostly alike, sometimes not.
func (t *Traffic) spelling(tag string) string {
	if t.random.Float64() > shareOfVariant {
		return "#" + tag
	}
	if t.random.IntN(2) == 0 {
		return "#" + strings.ToUpper(tag)
	}
	return "#" + strings.ToLower(tag)
}

// weigh sets the items' weights for the next second, and starts a burst where one has ended.
func (t *Traffic) weigh(k *kind, now crest.Millis) {
	k.bursts = slices.DeleteFunc(k.bursts, func(b burst) bool { return now > b.end })
	for len(k.bursts) < burstsAtOnce {
		start := now.Add(time.Duration(t.random.IntN(8000)) * time.Millisecond)
		rise := start.Add(time.Duration(5000+t.random.IntN(20_000)) * time.Millisecond)
		k.bursts = append(k.bursts, burst{
			item: t.random.IntN(len(k.items)), start: start, rise: rise,
			end:  rise.Add(time.Duration(15_000+t.random.IntN(60_000)) * time.Millisecond),
			peak: k.items[0].base * (0.3 + 1.2*t.random.Float64()),
		})
	}
	weights := make([]float64, len(k.items))
	for i, it := range k.items {
		weights[i] = it.base
	}
	for _, b := range k.bursts {
		weights[b.item] += b.at(now)
	}
	k.sums = k.sums[:0]
	sum := 0.0
	for _, w := range weights {
		sum += w
		k.sums = append(k.sums, sum)
	}
	k.until = now.Add(weightsEvery)
}

// at returns the weight that the burst adds at a moment: up in a straight line, down in a curve.
func (b burst) at(now crest.Millis) float64 {
	switch {
	case now <= b.start || now >= b.end:
		return 0
	case now < b.rise:
		return b.peak * float64(now-b.start) / float64(b.rise-b.start)
	}
	left := float64(b.end-now) / float64(b.end-b.rise)
	return b.peak * left * left
}

// idOf makes an id of 11 characters, as video ids are.
func idOf(r *rand.Rand) string {
	return base64.RawURLEncoding.EncodeToString(binary.BigEndian.AppendUint64(nil, r.Uint64()))
}

// titleOf makes a title; neighbouring numbers share no part.
func titleOf(i int) string {
	s, v, o := subjects(), verbs(), objects()
	return fmt.Sprintf("%s %s %s", s[i%len(s)], v[(i/3+i)%len(v)], o[(i*7+i/5)%len(o)])
}

func tagOf(i int) string {
	w := tagWords()
	if i < len(w) {
		return w[i]
	}
	return w[i%len(w)] + w[(i/len(w)*5+i*3)%len(w)]
}
