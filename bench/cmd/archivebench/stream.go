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
		if encoder.Len() == batch || i == n-1 {
			s.addRecord(&encoder, received)
		}
		s.addRow(&ev)
	}
	s.setReceived()
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

func (s *stream) addRecord(e *eventlog.Encoder, received crest.Millis) {
	payload := append([]byte(nil), e.Bytes()...)
	s.records = append(s.records, eventlog.Record{Received: received, Next: eventlog.Offset(len(s.records) + 1), Payload: payload})
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
	s.wide = append(s.wide, wide2{
		ID: r.ID, Type: r.Type, Item: r.Item, Spelling: r.Spelling, Time: r.Time, Session: r.Session, Weight: r.Weight,
		Generated: r.Generated, Dimensions: dimensions2{Category: ev.Dimensions[0], Region: ev.Dimensions[1]},
	})
}

// setReceived gives the rows the time that the log stamped on their records.
func (s *stream) setReceived() {
	var d eventlog.Decoder
	n := 0
	for _, r := range s.records {
		if err := d.Reset(r.Payload); err != nil {
			panic(err)
		}
		var ev crest.Event
		for d.Next(&ev) {
			if len(s.rows) > 0 {
				s.rows[n].Received = int64(r.Received)
			} else {
				s.wide[n].Received = int64(r.Received)
			}
			n++
		}
	}
}
