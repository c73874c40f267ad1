package archive

import (
	"unsafe"

	"crest"
)

// The size of a block. Up to one for each of the 73 hours that events can come for waits to be filled.
const (
	blockRows = 512
	blockText = 32 << 10 // bytes
	rowText   = 2*crest.MaxItemBytes + crest.MaxDimensions*crest.MaxDimensionBytes
)

// block is rows of one hour on their way from the log to a file, with the text that they point into.
type block struct {
	hour     crest.Millis
	rows     []row
	text     []byte // never grows: rows point into it
	received Span
	time     Span
	weight   uint64
}

func newBlock() *block {
	return &block{rows: make([]row, 0, blockRows), text: make([]byte, 0, blockText)}
}

func (b *block) reset(hour crest.Millis) {
	b.hour, b.rows, b.text, b.weight = hour, b.rows[:0], b.text[:0], 0
}

// full reports whether there may be no room for another row.
func (b *block) full() bool {
	return len(b.rows) == cap(b.rows) || cap(b.text)-len(b.text) < rowText
}

// add copies an event that fits, with as many dimensions as are declared. The type is kept as it is.
func (b *block) add(ev *crest.Event, dimensions int, t, received crest.Millis) {
	if len(b.rows) == 0 {
		b.received = Span{received, received}
		b.time = Span{t, t}
	}
	b.received.Last = received
	b.time.add(t)
	b.weight += uint64(ev.Weight)
	b.rows = b.rows[:len(b.rows)+1]
	r := &b.rows[len(b.rows)-1]
	r.ID, r.Type, r.Time, r.Received = ev.ID, ev.Type, t, received
	r.Session, r.Weight, r.Generated = ev.Session, ev.Weight, ev.Generated
	r.Item = b.keep(ev.Item)
	r.Spelling = b.keep(ev.Spelling)
	if dimensions > 0 {
		r.Dimensions.V0 = b.keep(ev.Dimensions[0])
		r.Dimensions.V1 = b.keep(ev.Dimensions[1])
	}
	if dimensions > 2 {
		r.Dimensions.V2 = b.keep(ev.Dimensions[2])
		r.Dimensions.V3 = b.keep(ev.Dimensions[3])
	}
}

func (b *block) keep(s string) string {
	if s == "" {
		return ""
	}
	at := len(b.text)
	b.text = append(b.text, s...)
	return unsafe.String(&b.text[at], len(s)) //nolint:gosec // its bytes stay as they are until all rows are written
}
