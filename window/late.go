package window

import (
	"cmp"
	"encoding/binary"
	"maps"
	"slices"
	"strings"
	"time"

	"crest"
)

// maxLate bounds the items of a ring whose late weight is remembered one by one. What comes beyond them is remembered as
// a whole.
const maxLate = 2048

// arrivalBytes is about what an arrival takes in a map, without its key.
const arrivalBytes = 64

// arrival is what came for a closed hour in one slot.
type arrival struct {
	hour crest.Millis // start
	slot crest.Millis // start of the slot in which it was received
	key  string       // of the item; "" for all that found no room
}

// arrive notes weight at event time t, which is in a closed hour.
func (r *Ring) arrive(t crest.Millis, key string, weight uint64) {
	b := r.at(r.newest)
	b.changed = true
	if b.arrivals == nil {
		b.arrivals = map[arrival]uint64{}
	}
	a := arrival{t.Floor(time.Hour), r.slot, key}
	if _, known := b.arrivals[a]; !known && r.late >= maxLate {
		a.key = ""
	} else {
		if !known {
			r.late++
		}
		a.key = strings.Clone(key) // also of one that is known: assigning puts the new key in the place of the old one
	}
	b.arrivals[a] += weight
}

// Late is what came for closed hours.
type Late struct {
	Items map[string]uint64 // weight by key
	Rest  uint64            // weight of which it is not known whose it is
}

// LateSince returns what came for hours of [from, to) at or after a moment of received time that may differ from hour to
// hour, after they had closed. It knows what was received since the ring's oldest bucket began, weight for hours that are
// no longer held included.
func (r *Ring) LateSince(from, to crest.Millis, since func(hour crest.Millis) crest.Millis) Late {
	late := Late{Items: map[string]uint64{}}
	for i := range r.slots {
		for a, weight := range r.slots[i].arrivals {
			switch {
			case a.hour < from || a.hour >= to || a.slot < since(a.hour):
			case a.key == "":
				late.Rest += weight
			default:
				late.Items[a.key] += weight
			}
		}
	}
	return late
}

// countAttributed returns how many of the arrivals have a key of their own.
func countAttributed(arrivals map[arrival]uint64) int {
	n := 0
	for a := range arrivals {
		if a.key != "" {
			n++
		}
	}
	return n
}

func appendArrivals(dst []byte, arrivals map[arrival]uint64) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(arrivals)))
	sorted := slices.SortedFunc(maps.Keys(arrivals), func(a, b arrival) int {
		return cmp.Or(cmp.Compare(a.slot, b.slot), cmp.Compare(a.hour, b.hour), strings.Compare(a.key, b.key))
	})
	for _, a := range sorted {
		dst = binary.AppendVarint(dst, int64(a.hour))
		dst = binary.AppendVarint(dst, int64(a.slot))
		dst = binary.AppendUvarint(dst, uint64(len(a.key)))
		dst = append(dst, a.key...)
		dst = binary.AppendUvarint(dst, arrivals[a])
	}
	return dst
}

// readArrivals reads what appendArrivals wrote.
func (r *stateReader) readArrivals() map[arrival]uint64 {
	arrivals := map[arrival]uint64{}
	for range r.count() {
		a := arrival{hour: r.moment(), slot: r.moment(), key: r.text()}
		arrivals[a] = r.number()
		if r.failed {
			return nil
		}
	}
	return arrivals
}
