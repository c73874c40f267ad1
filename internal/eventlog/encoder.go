package eventlog

import (
	"encoding/binary"

	"crest"
)

// The first byte of a batch; docs/formats/log.md draws what follows.
const batchVersion = 1

// The flags of an encoded event. The upper four bits say which of the batch's dimensions it has.
const (
	flagGenerated = 1 << iota
	flagSpelling
	flagSession
	flagWeight
	flagDimension // of dimension 0
)

// maxTime bounds event times (about 8,900 years either side of the epoch), so that arithmetic on a decoded time can't
// overflow.
const maxTime = 1 << 48

// maxTypes bounds the distinct types of one batch.
const maxTypes = 1 << 10

// Encoder builds the payload of a record: a batch of events of one partition. It is reusable, and does not allocate
// once its buffer has grown. The zero value must be Reset before use. Not for concurrent use.
type Encoder struct {
	dimensions []string
	types      []string
	lastType   int
	lastTime   crest.Millis
	count      int
	buf        []byte // headroom for the header, then the encoded events
	head       []byte // the header, before it is put there
}

// headroom is what the header of most batches fits in, so that it can be put before the events without moving them.
const headroom = 256

// Reset starts a new batch whose events have the given dimensions, in that order: at most [crest.MaxDimensions]
// names. It keeps the slice until the next Reset, and invalidates what Bytes returned.
func (e *Encoder) Reset(dimensions []string) {
	if cap(e.buf) < headroom {
		e.buf = make([]byte, headroom, 16*headroom)
	}
	e.buf = e.buf[:headroom]
	e.dimensions = dimensions[:min(len(dimensions), crest.MaxDimensions)]
	e.types = e.types[:0]
	e.lastType, e.lastTime, e.count = 0, 0, 0
}

// Len returns the number of events added.
func (e *Encoder) Len() int { return e.count }

// Size returns about how many bytes the batch has; the header, which is small, is not counted.
func (e *Encoder) Size() int { return max(0, len(e.buf)-headroom) }

// Add appends an event, or returns why a decoder would refuse it: text too long or empty, weight or time out of range.
// A refused event leaves the batch as it was. Add copies what it needs.
func (e *Encoder) Add(ev *crest.Event) error {
	if err := check(ev); err != nil {
		return err
	}
	t, err := e.typeIndex(ev.Type)
	if err != nil {
		return err
	}
	b := append(e.buf, 0)
	flags := byte(0)
	b = append(b, ev.ID[:]...)
	b = binary.AppendUvarint(b, uint64(t))
	b = appendText(b, ev.Item)
	if ev.Spelling != "" {
		flags |= flagSpelling
		b = appendText(b, ev.Spelling)
	}
	b = binary.AppendVarint(b, int64(ev.Time-e.lastTime))
	if ev.Session != 0 {
		flags |= flagSession
		b = binary.LittleEndian.AppendUint64(b, ev.Session)
	}
	for i := range e.dimensions {
		if v := ev.Dimensions[i]; v != "" {
			flags |= flagDimension << i
			b = appendText(b, v)
		}
	}
	if ev.Weight != 1 {
		flags |= flagWeight
		b = binary.AppendUvarint(b, uint64(ev.Weight))
	}
	if ev.Generated {
		flags |= flagGenerated
	}
	b[len(e.buf)] = flags
	e.buf = b
	e.lastTime = ev.Time
	e.count++
	return nil
}

// Bytes returns the batch. It belongs to the encoder and is valid until the next Add or Reset.
func (e *Encoder) Bytes() []byte {
	h := append(e.head[:0], batchVersion)
	h = binary.AppendUvarint(h, uint64(e.count))
	h = appendNames(h, e.types)
	h = appendNames(h, e.dimensions)
	e.head = h
	if len(h) <= headroom {
		start := headroom - len(h)
		copy(e.buf[start:], h)
		return e.buf[start:]
	}
	return append(h, e.buf[headroom:]...)
}

func (e *Encoder) typeIndex(name string) (int, error) {
	if e.lastType < len(e.types) && e.types[e.lastType] == name {
		return e.lastType, nil
	}
	for i, t := range e.types {
		if t == name {
			e.lastType = i
			return i, nil
		}
	}
	if len(e.types) == maxTypes {
		return 0, crest.Errorf(crest.CodeOutOfRange, "type", "is another type in a batch that has %d already", maxTypes)
	}
	if name == "" {
		return 0, crest.Errorf(crest.CodeMissingField, "type", "is empty")
	}
	if len(name) > crest.MaxTypeBytes {
		return 0, crest.Errorf(crest.CodeTooLong, "type", "has %d bytes; at most %d are allowed", len(name), crest.MaxTypeBytes)
	}
	e.types = append(e.types, name)
	e.lastType = len(e.types) - 1
	return e.lastType, nil
}

// check returns why a decoder would refuse the event. Whether text is UTF-8 is for ingest to check.
func check(ev *crest.Event) error {
	switch {
	case ev.Item == "":
		return crest.Errorf(crest.CodeMissingField, "item", "is empty")
	case len(ev.Item) > crest.MaxItemBytes:
		return crest.Errorf(crest.CodeTooLong, "item", "has %d bytes; at most %d are allowed", len(ev.Item), crest.MaxItemBytes)
	case len(ev.Spelling) > crest.MaxItemBytes:
		return crest.Errorf(crest.CodeTooLong, "item", "has %d bytes as received; at most %d are allowed", len(ev.Spelling), crest.MaxItemBytes)
	case ev.Weight < 1 || ev.Weight > crest.MaxWeight:
		return crest.Errorf(crest.CodeOutOfRange, "weight", "is %d; it must be from 1 to %d", ev.Weight, crest.MaxWeight)
	case ev.Time > maxTime || ev.Time < -maxTime:
		return crest.Errorf(crest.CodeOutOfRange, "time", "is %d milliseconds from the epoch", ev.Time)
	}
	for _, v := range ev.Dimensions {
		if len(v) > crest.MaxDimensionBytes {
			return crest.Errorf(crest.CodeTooLong, "dimensions", "has a value of %d bytes; at most %d are allowed", len(v), crest.MaxDimensionBytes)
		}
	}
	return nil
}

func appendText(b []byte, s string) []byte {
	if len(s) < 0x80 {
		b = append(b, byte(len(s)))
	} else {
		b = binary.AppendUvarint(b, uint64(len(s)))
	}
	return append(b, s...)
}

func appendNames(b []byte, names []string) []byte {
	b = binary.AppendUvarint(b, uint64(len(names)))
	for _, n := range names {
		b = appendText(b, n)
	}
	return b
}

// minEventBytes is the size of the smallest event: flags, id, type, item of one byte, time.
const minEventBytes = 1 + len(crest.EventID{}) + 1 + 2 + 1

// maxEvents bounds the events of a batch by what a record can hold.
const maxEvents = MaxRecordBytes / minEventBytes
