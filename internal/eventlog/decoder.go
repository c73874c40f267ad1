package eventlog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"unsafe"

	"crest"
)

// ErrMalformed is wrapped by the errors of a [Decoder].
var ErrMalformed = errors.New("malformed batch of events")

// Decoder reads the payload of a record, event by event. It is reusable and does not allocate, whatever the payload
// says. Not for concurrent use.
//
// It checks the shape and the limits of what it reads, but not that text is UTF-8, which ingest has done.
type Decoder struct {
	types      []string // the caller's
	dimensions []string // the caller's

	rest     []byte
	left     int                       // events still to come
	lastTime crest.Millis              // of the event before
	kinds    []kind                    // the batch's types
	places   [crest.MaxDimensions]int8 // where the batch's dimensions go in an event; -1 for nowhere
	known    byte                      // the flags that an event of this batch can have
	typ      int
	err      error
}

// kind is one type of a batch.
type kind struct {
	name  string
	index int // among the caller's types; -1 when it isn't one of them
}

// NewDecoder returns a decoder for a caller who knows these types and dimensions. Events get their dimensions in the
// order given here, at most [crest.MaxDimensions]; dimensions that the caller doesn't know are left out.
func NewDecoder(types, dimensions []string) *Decoder {
	return &Decoder{types: types, dimensions: dimensions[:min(len(dimensions), crest.MaxDimensions)]}
}

// Reset starts on a payload. Its error wraps ErrMalformed, as does that of Err.
func (d *Decoder) Reset(payload []byte) error {
	d.left, d.lastTime, d.typ, d.err = 0, 0, -1, nil
	d.rest = payload
	if err := d.header(); err != nil {
		d.left, d.rest = 0, nil
		d.err = fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	return d.err
}

// Next fills ev with the next event, and returns false after the last one or when the rest is malformed, which Err
// tells.
//
// Item, Spelling, Dimensions and a Type that the caller doesn't know are not copied: they are the payload's bytes and
// valid only as long as these are. Use strings.Clone on what is kept for longer.
func (d *Decoder) Next(ev *crest.Event) bool {
	if d.left == 0 {
		if len(d.rest) > 0 && d.err == nil {
			d.fail("bytes after the last event")
		}
		return false
	}
	d.left--
	if what := d.event(ev); what != "" {
		d.fail(what)
		return false
	}
	return true
}

// Type returns which of the caller's types the last event has, -1 when it is none of them.
func (d *Decoder) Type() int { return d.typ }

// Err returns what was wrong, nil after a whole batch.
func (d *Decoder) Err() error { return d.err }

func (d *Decoder) fail(what string) {
	d.err = fmt.Errorf("%w: %s", ErrMalformed, what)
	d.left, d.rest = 0, nil
}

func (d *Decoder) header() error {
	if len(d.rest) == 0 {
		return errors.New("empty")
	}
	if v := d.rest[0]; v != batchVersion {
		return fmt.Errorf("version %d; this program knows version %d", v, batchVersion)
	}
	d.rest = d.rest[1:]
	count, ok := d.number(maxEvents)
	if !ok {
		return errors.New("bad count of events")
	}
	types, ok := d.number(maxTypes)
	if !ok {
		return errors.New("bad count of types")
	}
	d.kinds = d.kinds[:0]
	for range types {
		name, ok := d.text(crest.MaxTypeBytes)
		if !ok {
			return errors.New("bad type name")
		}
		d.kinds = append(d.kinds, d.kindOf(name))
	}
	dimensions, ok := d.number(crest.MaxDimensions)
	if !ok {
		return errors.New("bad count of dimensions")
	}
	for i := range dimensions {
		name, ok := d.text(crest.MaxDimensionBytes)
		if !ok {
			return errors.New("bad dimension name")
		}
		d.places[i] = int8(index(d.dimensions, name))
	}
	d.known = byte(flagDimension<<dimensions - 1)
	if count > len(d.rest)/minEventBytes {
		return errors.New("more events than there is room for")
	}
	d.left = count
	return nil
}

func (d *Decoder) kindOf(name string) kind {
	i := index(d.types, name)
	if i >= 0 {
		name = d.types[i]
	}
	return kind{name: name, index: i}
}

func index(names []string, name string) int {
	for i, n := range names {
		if n == name {
			return i
		}
	}
	return -1
}

// event reads one event, or says what is wrong with it.
func (d *Decoder) event(ev *crest.Event) (wrong string) {
	const fixed = 1 + len(ev.ID)
	if len(d.rest) < minEventBytes {
		return "cut short"
	}
	flags := d.rest[0]
	if flags&^d.known != 0 {
		return "unknown flag"
	}
	ev.ID = crest.EventID(d.rest[1:fixed])
	ev.Generated = flags&flagGenerated != 0
	d.rest = d.rest[fixed:]
	t, ok := d.number(len(d.kinds) - 1)
	if !ok {
		return "bad type"
	}
	d.typ, ev.Type = d.kinds[t].index, d.kinds[t].name
	if ev.Item, ok = d.text(crest.MaxItemBytes); !ok {
		return "bad item"
	}
	ev.Spelling = ""
	if flags&flagSpelling != 0 {
		if ev.Spelling, ok = d.text(crest.MaxItemBytes); !ok {
			return "bad spelling"
		}
	}
	if ev.Time, ok = d.time(); !ok {
		return "bad time"
	}
	ev.Session = 0
	if flags&flagSession != 0 {
		if len(d.rest) < 8 {
			return "bad session"
		}
		ev.Session = binary.LittleEndian.Uint64(d.rest)
		d.rest = d.rest[8:]
	}
	ev.Dimensions = crest.Dimensions{}
	if flags >= flagDimension && !d.dims(flags/flagDimension, &ev.Dimensions) {
		return "bad dimension"
	}
	ev.Weight = 1
	if flags&flagWeight != 0 {
		w, ok := d.number(crest.MaxWeight)
		if !ok || w == 0 {
			return "bad weight"
		}
		ev.Weight = uint32(w)
	}
	return ""
}

func (d *Decoder) dims(has byte, dims *crest.Dimensions) bool {
	for i := 0; has != 0; i, has = i+1, has>>1 {
		if has&1 == 0 {
			continue
		}
		v, ok := d.text(crest.MaxDimensionBytes)
		if !ok {
			return false
		}
		if place := d.places[i]; place >= 0 {
			dims[place] = v
		}
	}
	return true
}

func (d *Decoder) time() (crest.Millis, bool) {
	delta, n := binary.Varint(d.rest)
	if n <= 0 || delta > 2*maxTime || delta < -2*maxTime {
		return 0, false
	}
	d.rest = d.rest[n:]
	d.lastTime += crest.Millis(delta)
	return d.lastTime, d.lastTime <= maxTime && d.lastTime >= -maxTime
}

// number reads an unsigned varint of at most limit.
func (d *Decoder) number(limit int) (int, bool) {
	if len(d.rest) > 0 && d.rest[0] < 0x80 {
		v := int(d.rest[0])
		d.rest = d.rest[1:]
		return v, v <= limit
	}
	v, n := binary.Uvarint(d.rest)
	if n <= 0 || limit < 0 || v > uint64(limit) {
		return 0, false
	}
	d.rest = d.rest[n:]
	return int(v), true
}

// text reads a string of 1 to limit bytes, sharing the payload's memory.
func (d *Decoder) text(limit int) (string, bool) {
	n, ok := d.number(min(limit, len(d.rest)))
	if !ok || n == 0 || n > len(d.rest) {
		return "", false
	}
	s := unsafe.String(&d.rest[0], n) //nolint:gosec // n bytes are there; copying them would cost more than decoding does
	d.rest = d.rest[n:]
	return s, true
}
