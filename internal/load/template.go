package load

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"math/rand/v2"
	"strconv"

	"crest"
	"crest/proto/eventpb"
)

// reduce maps a random 64-bit number evenly to 0 … n-1.
func reduce(random, n uint64) uint64 {
	high, _ := bits.Mul64(random, n)
	return high
}

// itemDigits is how long every item's number is, so that one can be written over another.
const itemDigits = 16

// template is a request's body whose ids, times and items are written anew for each request.
type template struct {
	body   []byte
	places []place
	json   bool
	zipf   *Zipf
	random *rand.PCG
	serial [8]byte // begins every id, so that no two connections make the same
	next   uint64
}

// place says where an event's changing parts are.
type place struct{ id, time, item int }

// Placeholders of the right length that occur nowhere else in a body.
const (
	itemMark = "\x00ITEM_ITEM_ITEM\x00"
	timeMark = 1_999_999_999_999 // as long as any time until the year 2033 in JSON, 2109 in protobuf
	uuidMark = "eeeeeeee-eeee-4eee-8eee-eeeeeeeeeeee"
)

// itemPrefix begins every item; rank 1 is "v0000000000000001".
const itemPrefix = "v"

func newTemplate(o Options, zipf *Zipf, seed uint64) *template {
	t := &template{json: o.Format == "json", zipf: zipf, random: rand.NewPCG(seed, 0x9e3779b97f4a7c15)}
	binary.BigEndian.PutUint64(t.serial[:], t.random.Uint64())
	sessions := rand.New(t.random)
	for i := range o.Batch {
		session := "s" + strconv.FormatUint(sessions.Uint64N(1_000_000), 10)
		start := len(t.body)
		if t.json {
			t.appendJSON(i, o, session)
		} else {
			t.appendProtobuf(o, session)
		}
		t.places = append(t.places, t.find(start))
	}
	if t.json {
		t.body = append(t.body, ']')
	}
	return t
}

func (t *template) appendJSON(i int, o Options, session string) {
	separator := byte('[')
	if i > 0 {
		separator = ','
	}
	t.body = append(t.body, separator)
	t.body = append(t.body, `{"id":"`+uuidMark+`","type":"`+o.Type+`","item":"`+itemPrefix+itemMark+`","session":"`+session+`","ts_ms":`...)
	t.body = strconv.AppendInt(t.body, timeMark, 10)
	if len(o.Dimensions) > 0 {
		t.body = append(t.body, `,"dimensions":{`...)
		for j, d := range t.dimensions(o) {
			if j > 0 {
				t.body = append(t.body, ',')
			}
			t.body = append(t.body, `"`+d.Name+`":"`+d.Value+`"`...)
		}
		t.body = append(t.body, '}')
	}
	t.body = append(t.body, '}')
}

func (t *template) appendProtobuf(o Options, session string) {
	e := eventpb.Event{Type: o.Type, Item: itemPrefix + itemMark, TimeMillis: timeMark, Session: session, Dimensions: t.dimensions(o)}
	copy(e.UUID[:], uuidBytes())
	t.body = eventpb.AppendEvent(t.body, &e)
}

func (t *template) dimensions(o Options) []eventpb.Dimension {
	all := make([]eventpb.Dimension, len(o.Dimensions))
	for i, d := range o.Dimensions {
		all[i] = eventpb.Dimension{Name: d.Name, Value: d.Name + strconv.FormatUint(1+reduce(t.random.Uint64(), d.Values), 10)}
	}
	return all
}

func uuidBytes() []byte {
	return bytes.Repeat([]byte{0xee}, 16)
}

// find looks for the placeholders of the event that begins at start.
func (t *template) find(start int) place {
	event := t.body[start:]
	id, time := uuidBytes(), binary.AppendUvarint(nil, timeMark)
	if t.json {
		id, time = []byte(uuidMark), strconv.AppendInt(nil, timeMark, 10)
	}
	return place{
		id:   start + bytes.Index(event, id),
		time: start + bytes.Index(event, time),
		item: start + bytes.Index(event, []byte(itemMark)),
	}
}

// fill writes new events into the body.
func (t *template) fill(now crest.Millis) []byte {
	var id crest.EventID
	copy(id[:8], t.serial[:])
	var time [20]byte
	var written []byte
	if t.json {
		written = strconv.AppendInt(time[:0], int64(now), 10)
	} else {
		written = binary.AppendUvarint(time[:0], uint64(now))
	}
	for _, p := range t.places {
		t.next++
		binary.BigEndian.PutUint64(id[8:], t.next)
		if t.json {
			id.Append(t.body[p.id:p.id])
		} else {
			copy(t.body[p.id:], id[:])
		}
		copy(t.body[p.time:], written)
		putDigits(t.body[p.item:p.item+itemDigits], t.zipf.Draw(t.random))
	}
	return t.body
}

func putDigits(dst []byte, n uint64) {
	for i := len(dst) - 1; i >= 0; i-- {
		dst[i] = '0' + byte(n%10)
		n /= 10
	}
}
