// Package eventpb writes events in the protobuf form of crest/v1/events.proto, for producers. It is written by hand on
// protowire: a message this small needs no generated code, and appending to a buffer costs a producer little.
package eventpb

import "google.golang.org/protobuf/encoding/protowire"

// The field numbers of crest/v1/events.proto.
const (
	BatchEvents     protowire.Number = 1
	EventID         protowire.Number = 1
	EventType       protowire.Number = 2
	EventItem       protowire.Number = 3
	EventTime       protowire.Number = 4
	EventSession    protowire.Number = 5
	EventWeight     protowire.Number = 6
	EventDimensions protowire.Number = 7
	EventUUID       protowire.Number = 8
	DimensionName   protowire.Number = 1
	DimensionValue  protowire.Number = 2
)

// Event is one occurrence of an item as a producer knows it. Zero fields are left out.
type Event struct {
	ID         string
	UUID       [16]byte // wins over ID unless it is zero
	Type       string
	Item       string
	TimeMillis int64 // since the Unix epoch; 0 is when Crest receives it
	Session    string
	Weight     uint64 // 0 is 1
	Dimensions []Dimension
}

// Dimension is one dimension's value.
type Dimension struct {
	Name, Value string
}

// AppendBatch appends a batch of events to dst. A batch appended behind another is the batch of both.
func AppendBatch(dst []byte, events []Event) []byte {
	for i := range events {
		dst = AppendEvent(dst, &events[i])
	}
	return dst
}

// AppendEvent appends a batch of one event to dst.
func AppendEvent(dst []byte, e *Event) []byte {
	dst = appendTag(dst, BatchEvents, protowire.BytesType)
	dst = protowire.AppendVarint(dst, uint64(eventSize(e)))
	if e.UUID != [16]byte{} {
		dst = appendTag(dst, EventUUID, protowire.BytesType)
		dst = protowire.AppendBytes(dst, e.UUID[:])
	} else {
		dst = appendText(dst, EventID, e.ID)
	}
	dst = appendText(dst, EventType, e.Type)
	dst = appendText(dst, EventItem, e.Item)
	dst = appendNumber(dst, EventTime, uint64(e.TimeMillis))
	dst = appendText(dst, EventSession, e.Session)
	dst = appendNumber(dst, EventWeight, e.Weight)
	for i := range e.Dimensions {
		d := &e.Dimensions[i]
		dst = appendTag(dst, EventDimensions, protowire.BytesType)
		dst = protowire.AppendVarint(dst, uint64(dimensionSize(d)))
		dst = appendText(dst, DimensionName, d.Name)
		dst = appendText(dst, DimensionValue, d.Value)
	}
	return dst
}

func eventSize(e *Event) int {
	n := textSize(e.ID)
	if e.UUID != [16]byte{} {
		n = tagSize + protowire.SizeBytes(len(e.UUID))
	}
	n += textSize(e.Type) + textSize(e.Item) + numberSize(uint64(e.TimeMillis)) + textSize(e.Session) + numberSize(e.Weight)
	for i := range e.Dimensions {
		n += tagSize + protowire.SizeBytes(dimensionSize(&e.Dimensions[i]))
	}
	return n
}

func dimensionSize(d *Dimension) int { return textSize(d.Name) + textSize(d.Value) }

// tagSize is the size of a tag, for every field number here is below 16.
const tagSize = 1

func appendTag(dst []byte, field protowire.Number, t protowire.Type) []byte {
	return append(dst, byte(field)<<3|byte(t))
}

func textSize(s string) int {
	if s == "" {
		return 0
	}
	return tagSize + protowire.SizeBytes(len(s))
}

func numberSize(n uint64) int {
	if n == 0 {
		return 0
	}
	return tagSize + protowire.SizeVarint(n)
}

func appendText(dst []byte, field protowire.Number, s string) []byte {
	if s == "" {
		return dst
	}
	dst = appendTag(dst, field, protowire.BytesType)
	return protowire.AppendString(dst, s)
}

func appendNumber(dst []byte, field protowire.Number, n uint64) []byte {
	if n == 0 {
		return dst
	}
	dst = appendTag(dst, field, protowire.VarintType)
	return protowire.AppendVarint(dst, n)
}
