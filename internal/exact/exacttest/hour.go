package exacttest

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"iter"
	"math/rand/v2"
	"strconv"
	"time"

	"crest"
)

// Hour is traffic of one event hour.
type Hour struct {
	Start      crest.Millis
	Rows       int     // duplicates included
	Universe   int     // items that there are; fewer of them occur
	Duplicates float64 // part of the rows that repeat one of the last 100,000
	Seed       uint64
	Narrowed   bool // events have a category and a region
}

// Dimensions returns the names of the dimensions that the events have.
func (h Hour) Dimensions() []string {
	if h.Narrowed {
		return []string{"category", "region"}
	}
	return nil
}

// DefaultStart is an hour for whom any will do.
const DefaultStart = crest.Millis(1_796_029_200_000) // 2026-11-30T09:00Z

const remembered = 100_000 // rows that can be repeated

// WriteHour archives an hour of traffic, and closes it: Zipf(1.05) over items of 11 characters; 99 % of the events were
// received within two seconds, the others within nine minutes, some of these after the hour's end.
func WriteHour(ctx context.Context, dir string, h Hour) error {
	return Write(ctx, dir, h.Dimensions(), h.Events(), h.Start.Add(80*time.Minute))
}

// Events makes up the hour's events.
func (h Hour) Events() iter.Seq[Received] {
	return func(yield func(Received) bool) {
		random := rand.New(rand.NewPCG(h.Seed, 1))
		zipf := rand.NewZipf(random, 1.05, 1, uint64(h.Universe-1))
		end := h.Start.Add(time.Hour)
		late := h.Rows / 500 // at the end of them
		ring := make([]crest.Event, 0, min(h.Rows, remembered))
		for i := range h.Rows {
			ev := crest.Event{Type: "video", Weight: 1}
			at := h.Start + crest.Millis(int64(i)*3_600_000/int64(max(1, h.Rows-late)))
			delay := crest.Millis(random.IntN(2000))
			if random.IntN(100) == 0 {
				delay = crest.Millis(random.IntN(9 * 60_000))
			}
			if i >= h.Rows-late {
				at = end + crest.Millis(int64(i-(h.Rows-late))*9*60_000/int64(late))
			}
			if len(ring) > 0 && random.Float64() < h.Duplicates {
				ev = ring[random.IntN(len(ring))]
			} else {
				binary.LittleEndian.PutUint64(ev.ID[:], random.Uint64())
				binary.LittleEndian.PutUint64(ev.ID[8:], random.Uint64())
				ev.Item = Item(zipf.Uint64())
				ev.Session = random.Uint64()
				if h.Narrowed {
					n := zipf.Uint64()
					ev.Dimensions[0] = "category-" + strconv.FormatUint(n%20, 10)
					ev.Dimensions[1] = "region-" + strconv.FormatUint(n/20%8, 10)
				}
				ev.Time = min(max(at-delay, h.Start), end-1)
				if len(ring) < cap(ring) {
					ring = append(ring, ev)
				} else {
					ring[i%len(ring)] = ev
				}
			}
			if !yield(Received{ev, at}) {
				return
			}
		}
	}
}

// Item returns the name of the n-th item, 11 characters that look like chance.
func Item(n uint64) string {
	var b [8]byte
	n ^= n >> 31
	n *= 0x7fb5d329728ea185
	n ^= n >> 27
	n *= 0x81dadef4bc2dd44d
	n ^= n >> 33
	binary.BigEndian.PutUint64(b[:], n)
	return base64.RawURLEncoding.EncodeToString(b[:])
}
