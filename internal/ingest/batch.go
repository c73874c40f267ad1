package ingest

import (
	crand "crypto/rand"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/valyala/fastjson"

	"crest"
	"crest/hashtag"
	"crest/internal/eventlog"
)

const (
	// maxIgnored is how many names of unknown fields are reported, and maxIgnoredBytes how much of each.
	maxIgnored      = 10
	maxIgnoredBytes = 64
	// recordBytes is the size from which a partition's events go on in another record, far below a record's limit.
	recordBytes = 4 << 20
	// reusableBytes is the size of encoders above which a batch is left to the garbage collector.
	reusableBytes = 8 << 20
)

// batch is the work on one request: what is known of the events so far, and memory that the next request reuses.
type batch struct {
	schema    *schema
	received  crest.Millis
	fallback  *itemType // of events that name no type; nil when they must
	maxEvents int
	single    bool

	count   int // events seen
	result  Result
	refused []refusal

	fields   fields
	event    crest.Event
	current  []*eventlog.Encoder // by partition; nil while it has no events
	used     []record
	free     []*eventlog.Encoder
	appends  []eventlog.Append
	parser   fastjson.Parser
	number   []byte
	item     []byte
	hashtags hashtag.Normalizer
	random   *rand.ChaCha8

	// Methods bound once, for fastjson calls them per event.
	visitField, visitDimension func(key []byte, v *fastjson.Value)
	fieldErr                   *crest.Error
}

// record is an encoder with its partition.
type record struct {
	partition int
	encoder   *eventlog.Encoder
}

// refusal counts the events refused with a code.
type refusal struct {
	code   crest.Code
	events int
}

func newBatch(s *schema) *batch {
	var seed [32]byte
	_, _ = crand.Read(seed[:]) // it never fails
	b := &batch{schema: s, current: make([]*eventlog.Encoder, s.partitions), random: rand.NewChaCha8(seed)}
	b.fields.named = make([]string, len(s.idFields))
	b.visitField = b.readField
	b.visitDimension = b.readDimension
	return b
}

// begin makes the batch ready for a request.
func (b *batch) begin(req Request, received crest.Millis, maxEvents int) {
	b.received, b.maxEvents, b.single = received, maxEvents, req.Single
	b.count = 0
	b.result = Result{}
	b.refused = b.refused[:0]
	for _, r := range b.used {
		b.current[r.partition] = nil
		b.free = append(b.free, r.encoder)
	}
	b.used = b.used[:0]
	b.fallback = b.schema.typeNamed(req.Type)
	if req.Type == "" && len(b.schema.types) == 1 {
		b.fallback = &b.schema.types[0]
	}
}

func (b *batch) decode(req Request) error {
	switch req.Format {
	case FormatProtobuf:
		return asError(b.decodeProtobuf(req.Body))
	case FormatNDJSON:
		return asError(b.decodeLines(req.Body))
	case FormatJSON:
	}
	return asError(b.decodeJSON(req.Body))
}

// asError keeps a nil *crest.Error from becoming an error that is not nil.
func asError(err *crest.Error) error {
	if err == nil {
		return nil
	}
	return err
}

// next counts an event, or returns why the request has too many.
func (b *batch) next() *crest.Error {
	b.count++
	if b.single && b.count > 1 {
		return crest.Errorf(crest.CodeMalformed, "", "the body must be one event; more of them go to the path for batches")
	}
	if b.count > b.maxEvents {
		return crest.Errorf(crest.CodeTooManyEvents, "", "the body has more than %d events; send fewer at a time", b.maxEvents)
	}
	return nil
}

// finish encodes the event whose fields have been read, or refuses it for the given reason, or for one of its own.
func (b *batch) finish(reason *crest.Error) {
	if reason == nil {
		reason = b.check()
	}
	if reason == nil {
		reason = b.encode()
	}
	if reason == nil {
		b.result.Accepted++
		if b.fields.clamped {
			b.result.Clamped++
		}
		return
	}
	b.result.Rejected++
	if len(b.result.Rejections) < MaxRejections {
		b.result.Rejections = append(b.result.Rejections, Rejection{Index: b.count - 1, Reason: reason})
	}
	i := slices.IndexFunc(b.refused, func(r refusal) bool { return r.code == reason.Code })
	if i < 0 {
		i = len(b.refused)
		b.refused = append(b.refused, refusal{code: reason.Code})
	}
	b.refused[i].events++
}

// encode adds the event to its partition's record.
func (b *batch) encode() *crest.Error {
	p := eventlog.Partition(b.event.Session, b.event.ID, b.schema.partitions)
	e := b.current[p]
	if e == nil || e.Size() > recordBytes {
		e = b.newRecord(p)
	}
	if err := e.Add(&b.event); err != nil {
		if reason, ok := errors.AsType[*crest.Error](err); ok {
			return reason
		}
		return crest.Errorf(crest.CodeInternal, "", "%v", err)
	}
	return nil
}

func (b *batch) newRecord(partition int) *eventlog.Encoder {
	var e *eventlog.Encoder
	if n := len(b.free); n > 0 {
		e, b.free = b.free[n-1], b.free[:n-1]
	} else {
		e = new(eventlog.Encoder)
	}
	e.Reset(b.schema.dimensionNames)
	b.current[partition] = e
	b.used = append(b.used, record{partition: partition, encoder: e})
	return e
}

// records returns what is to be appended to the log. It is valid until the batch begins anew.
func (b *batch) records() []eventlog.Append {
	b.appends = b.appends[:0]
	for _, r := range b.used {
		if r.encoder.Len() > 0 {
			b.appends = append(b.appends, eventlog.Append{Partition: r.partition, Payload: r.encoder.Bytes()})
		}
	}
	return b.appends
}

// reusable reports whether the batch is small enough to be kept for another request.
func (b *batch) reusable() bool {
	size := 0
	for _, r := range b.used {
		size += r.encoder.Size()
	}
	return size <= reusableBytes
}

// newID returns an id that no other event has.
func (b *batch) newID() (id crest.EventID) {
	binary.LittleEndian.PutUint64(id[:8], b.random.Uint64())
	binary.LittleEndian.PutUint64(id[8:], b.random.Uint64())
	return id
}

// ignore notes the name of a field that no event has.
func (b *batch) ignore(prefix, name string) {
	if len(b.result.Ignored) == maxIgnored {
		return
	}
	name = clip(name, maxIgnoredBytes)
	for _, known := range b.result.Ignored {
		if len(known) == len(prefix)+len(name) && strings.HasPrefix(known, prefix) && strings.HasSuffix(known, name) {
			return
		}
	}
	b.result.Ignored = append(b.result.Ignored, prefix+strings.Clone(name)) // it aliases the body
}
