package main

import (
	"encoding/binary"
	"math/rand/v2"
	"time"

	"crest"
	"crest/internal/eventlog"
)

// stream is the same events twice: as records of a log, and as rows.
type stream struct {
	dimensions []string
	records    []eventlog.Record
	rows       []row   // without dimensions
	wide       []wide2 // with two
}

// base is a full hour: all events are of it.
const base = crest.Millis(1_764_504_000_000)

// generate makes events of an hour: items by a Zipf distribution, as many ids as rows, times up to ten seconds before they
// are received, one in a hundred with another weight.
func generate(n, batch, dimensions int, seed uint64) *stream {
	r := rand.New(rand.NewPCG(seed, 1))
	zipf := rand.NewZipf(r, 1.05, 1, 5_000_000)
	s := &stream{}
	if dimensions > 0 {
		s.dimensions = []string{"category", "region"}
	}
	categories := []string{"sports", "politics", "culture", "science", "local", "weather", ""}
	regions := []string{"eu", "us", "asia", "africa", ""}
	var encoder eventlog.Encoder
	encoder.Reset(s.dimensions)
	received := base.Add(20 * time.Second)
	for i := range n {
		if i%100 == 0 {
			received++ // 100 a millisecond: five million are 50 seconds
		}
		ev := crest.Event{Type: "video", Item: item(zipf.Uint64()), Session: r.Uint64(), Weight: 1, Time: received - crest.Millis(r.IntN(10_000))}
		binary.LittleEndian.PutUint64(ev.ID[:], r.Uint64())
		binary.LittleEndian.PutUint64(ev.ID[8:], r.Uint64())
		if r.IntN(100) == 0 {
			ev.Weight = 1 + r.Uint32N(20)
		}
		if dimensions > 0 {
			ev.Dimensions = crest.Dimensions{categories[r.IntN(len(categories))], regions[r.IntN(len(regions))]}
		}
		if err := encoder.Add(&ev); err != nil {
			panic(err)
		}
		s.addRow(&ev)
		if encoder.Len() == batch || i == n-1 {
			s.addRecord(&encoder, received)
		}
	}
	return s
}

// item is an id of 11 characters.
func item(n uint64) string {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	var b [11]byte
	x := n * 0x9e3779b97f4a7c15
	for i := range b {
		b[i] = alphabet[x&63]
		x = x>>6 | n<<58
	}
	return string(b[:])
}

// addRecord makes a record of the events since the last one, and gives their rows the time that the log stamps on it.
func (s *stream) addRecord(e *eventlog.Encoder, received crest.Millis) {
	payload := append([]byte(nil), e.Bytes()...)
	s.records = append(s.records, eventlog.Record{Received: received, Next: eventlog.Offset(len(s.records) + 1), Payload: payload})
	for i := range e.Len() {
		if len(s.dimensions) == 0 {
			s.rows[len(s.rows)-1-i].Received = int64(received)
		} else {
			s.wide[len(s.wide)-1-i].Received = int64(received)
		}
	}
	e.Reset(s.dimensions)
}

func (s *stream) addRow(ev *crest.Event) {
	r := row{
		ID: ev.ID, Type: ev.Type, Item: ev.Item, Spelling: ev.Spelling, Time: int64(ev.Time), Session: ev.Session,
		Weight: ev.Weight, Generated: ev.Generated,
	}
	if len(s.dimensions) == 0 {
		s.rows = append(s.rows, r)
		return
	}
	s.wide = append(s.wide, wide2{row: r, Dimensions: dimensions2{Category: ev.Dimensions[0], Region: ev.Dimensions[1]}})
}
