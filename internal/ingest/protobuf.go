package ingest

import (
	"google.golang.org/protobuf/encoding/protowire"

	"crest"
	"crest/proto/eventpb"
)

// decodeProtobuf reads a crest.v1.Batch. What is known of the wire format is used in place: nothing is copied, and no
// message is built. Unknown fields are skipped, as protobuf has it.
func (b *batch) decodeProtobuf(body []byte) *crest.Error {
	if len(body) == 0 {
		return emptyBody()
	}
	for rest := body; len(rest) > 0; {
		number, kind, n := consumeTag(rest)
		if n < 0 {
			return brokenBatch(body, rest)
		}
		value := rest[n:]
		if number != eventpb.BatchEvents || kind != protowire.BytesType {
			skip := protowire.ConsumeFieldValue(number, kind, value)
			if skip < 0 {
				return brokenBatch(body, rest)
			}
			rest = value[skip:]
			continue
		}
		event, n := protowire.ConsumeBytes(value)
		if n < 0 {
			return brokenBatch(body, rest)
		}
		rest = value[n:]
		if err := b.next(); err != nil {
			return err
		}
		b.fields.reset()
		b.finish(b.parseMessage(event))
	}
	return nil
}

func brokenBatch(body, rest []byte) *crest.Error {
	return crest.Errorf(crest.CodeMalformed, "", "the body is not a crest.v1.Batch: the field at byte %d is broken or cut off; nothing was counted",
		len(body)-len(rest))
}

// parseMessage reads the fields of a crest.v1.Event.
func (b *batch) parseMessage(message []byte) *crest.Error {
	f := &b.fields
	for rest := message; len(rest) > 0; {
		number, kind, n := consumeTag(rest)
		if n < 0 {
			return brokenEvent(message, rest)
		}
		value := rest[n:]
		switch kind {
		case protowire.BytesType:
			text, n := protowire.ConsumeBytes(value)
			if n < 0 {
				return brokenEvent(message, rest)
			}
			if err := b.readBytes(number, text); err != nil {
				return err
			}
			rest = value[n:]
		case protowire.VarintType:
			x, n := protowire.ConsumeVarint(value)
			if n < 0 {
				return brokenEvent(message, rest)
			}
			switch number {
			case eventpb.EventTime:
				f.time, f.hasTime = crest.Millis(x), x != 0
			case eventpb.EventWeight:
				if x > crest.MaxWeight {
					return crest.Errorf(crest.CodeOutOfRange, "weight", "is %d; it must be from 1 to %d", x, crest.MaxWeight)
				}
				f.weight = uint32(x)
			default:
				// Not known here.
			}
			rest = value[n:]
		default:
			n := protowire.ConsumeFieldValue(number, kind, value)
			if n < 0 {
				return brokenEvent(message, rest)
			}
			rest = value[n:]
		}
	}
	return nil
}

func brokenEvent(message, rest []byte) *crest.Error {
	return crest.Errorf(crest.CodeMalformed, "", "the event is not a crest.v1.Event: the field at its byte %d is broken or cut off",
		len(message)-len(rest))
}

// readBytes takes a field that is text or a message.
func (b *batch) readBytes(number protowire.Number, value []byte) *crest.Error {
	f := &b.fields
	switch number {
	case eventpb.EventID:
		f.id = view(value)
	case eventpb.EventType:
		f.typ = view(value)
	case eventpb.EventItem:
		f.item = view(value)
	case eventpb.EventSession:
		f.session = view(value)
	case eventpb.EventDimensions:
		return b.readDimensionMessage(value)
	case eventpb.EventUUID:
		if len(value) != len(f.uuid) && len(value) != 0 {
			return crest.Errorf(crest.CodeOutOfRange, "uuid", "has %d bytes; it must have %d", len(value), len(f.uuid))
		}
		f.hasUUID = len(value) != 0
		copy(f.uuid[:], value)
	default:
		// Not known here.
	}
	return nil
}

// readDimensionMessage takes an entry of the map of dimensions.
func (b *batch) readDimensionMessage(entry []byte) *crest.Error {
	var name, text string
	for rest := entry; len(rest) > 0; {
		number, kind, n := consumeTag(rest)
		if n < 0 {
			return brokenDimension()
		}
		value := rest[n:]
		n = protowire.ConsumeFieldValue(number, kind, value)
		if n < 0 {
			return brokenDimension()
		}
		if kind == protowire.BytesType {
			content, _ := protowire.ConsumeBytes(value)
			switch number {
			case eventpb.DimensionName:
				name = view(content)
			case eventpb.DimensionValue:
				text = view(content)
			default:
				// Not known here.
			}
		}
		rest = value[n:]
	}
	if i := b.schema.dimensionNamed(name); i >= 0 {
		b.fields.dimensions[i] = text
		return nil
	}
	b.ignore("dimensions.", name)
	return nil
}

func brokenDimension() *crest.Error {
	return crest.Errorf(crest.CodeMalformed, "dimensions", "an entry is broken or cut off")
}

// consumeTag is [protowire.ConsumeTag], quicker for the tags of one byte that all known fields have. b isn't empty.
func consumeTag(b []byte) (protowire.Number, protowire.Type, int) {
	if c := b[0]; 8 <= c && c < 0x80 {
		return protowire.Number(c >> 3), protowire.Type(c & 7), 1
	}
	return protowire.ConsumeTag(b)
}
