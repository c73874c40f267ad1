package window

import (
	"cmp"
	"encoding/binary"
	"slices"
	"time"

	"crest"
)

// arrival is weight that came for a closed hour.
type arrival struct {
	hour   crest.Millis // start
	slot   crest.Millis // start of the slot in which it was received
	weight uint64
}

// arrive notes weight at event time t, which is in a closed hour.
func (r *Ring) arrive(t crest.Millis, weight uint64) {
	b := r.at(r.newest)
	b.changed = true
	hour := t.Floor(time.Hour)
	i, ok := slices.BinarySearchFunc(b.arrivals, arrival{hour: hour, slot: r.slot}, func(a, b arrival) int {
		return cmp.Or(cmp.Compare(a.slot, b.slot), cmp.Compare(a.hour, b.hour))
	})
	if !ok {
		b.arrivals = slices.Insert(b.arrivals, i, arrival{hour: hour, slot: r.slot})
	}
	b.arrivals[i].weight += weight
}

// LateSince returns the weight that came for hours of [from, to) at or after a moment of received time that may differ
// from hour to hour, after they had closed. It knows what was received since the ring's oldest bucket began, weight for
// hours that are no longer held included.
func (r *Ring) LateSince(from, to crest.Millis, since func(hour crest.Millis) crest.Millis) uint64 {
	late := uint64(0)
	for i := range r.slots {
		for _, a := range r.slots[i].arrivals {
			if a.hour >= from && a.hour < to && a.slot >= since(a.hour) {
				late += a.weight
			}
		}
	}
	return late
}

func appendArrivals(dst []byte, arrivals []arrival) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(arrivals)))
	for _, a := range arrivals {
		dst = binary.AppendVarint(dst, int64(a.hour))
		dst = binary.AppendVarint(dst, int64(a.slot))
		dst = binary.AppendUvarint(dst, a.weight)
	}
	return dst
}

// readArrivals reads what appendArrivals wrote, and returns the bytes after it.
func readArrivals(data []byte) ([]arrival, []byte, error) {
	count, n := binary.Uvarint(data)
	if n <= 0 || count > uint64(len(data)) {
		return nil, nil, errState
	}
	data = data[n:]
	arrivals := make([]arrival, 0, min(count, 1<<12))
	for range count {
		var a arrival
		for _, to := range []*crest.Millis{&a.hour, &a.slot} {
			v, n := binary.Varint(data)
			if n <= 0 {
				return nil, nil, errState
			}
			*to, data = crest.Millis(v), data[n:]
		}
		w, n := binary.Uvarint(data)
		if n <= 0 {
			return nil, nil, errState
		}
		a.weight, data = w, data[n:]
		arrivals = append(arrivals, a)
	}
	return arrivals, data, nil
}
