package ingest

import (
	"bytes"

	"github.com/valyala/fastjson"

	"crest"
)

const (
	// maxEventBytes is the most JSON of one event: many times what its longest fields need, and little enough that
	// what a parser makes of it stays small.
	maxEventBytes = 32 << 10
	// maxNesting is how deep an event's JSON may go. Two are used; fields to be ignored may be deeper.
	maxNesting = 16
)

// decodeJSON reads an array, one object, or, when more follows the first object, an object a line.
func (b *batch) decodeJSON(body []byte) *crest.Error {
	start := contentStart(body)
	if start == len(body) {
		return emptyBody()
	}
	switch body[start] {
	case '[':
		return b.decodeArray(body, start)
	case '{':
		switch end := objectEnd(body, start); {
		case end < 0:
			return crest.Errorf(crest.CodeMalformed, "", "the body is cut off: the object that begins at byte %d does not end", start)
		case len(trimSpace(body[end:])) == 0:
			return b.decodeEvent(body[start:end])
		}
		return b.decodeLines(body[start:])
	}
	return crest.Errorf(crest.CodeMalformed, "", "the body must be a JSON array of events, one event, or an event a line; byte %d begins none of them", start)
}

// decodeLines reads an object a line; blank lines are skipped.
func (b *batch) decodeLines(body []byte) *crest.Error {
	body = body[contentStart(body):]
	if len(body) == 0 {
		return emptyBody()
	}
	for len(body) > 0 {
		line := body
		if end := bytes.IndexByte(body, '\n'); end >= 0 {
			line, body = body[:end], body[end+1:]
		} else {
			body = nil
		}
		if line = trimSpace(line); len(line) == 0 {
			continue
		}
		if err := b.decodeEvent(line); err != nil {
			return err
		}
	}
	return nil
}

func (b *batch) decodeArray(body []byte, start int) *crest.Error {
	s := splitter{body: body, pos: start}
	for more := s.openArray(); more; {
		var element []byte
		var err *crest.Error
		if element, more, err = s.next(); err != nil {
			return err
		}
		if err := b.decodeEvent(element); err != nil {
			return err
		}
	}
	return s.finish()
}

// decodeEvent takes one event's JSON. It fails only when the request has too many events.
func (b *batch) decodeEvent(text []byte) *crest.Error {
	if err := b.next(); err != nil {
		return err
	}
	b.fields.reset()
	b.finish(b.parseEvent(text))
	return nil
}

func (b *batch) parseEvent(text []byte) *crest.Error {
	switch {
	case len(text) == 0:
		return crest.Errorf(crest.CodeMalformed, "", "there is no event between two commas, or after the last one")
	case len(text) > maxEventBytes:
		return crest.Errorf(crest.CodeTooLong, "", "the event has %d bytes of JSON; at most %d are allowed", len(text), maxEventBytes)
	case text[0] != '{':
		return crest.Errorf(crest.CodeMalformed, "", "an event must be a JSON object, with braces around it")
	case !nestingWithin(text, maxNesting):
		return crest.Errorf(crest.CodeMalformed, "", "the event is nested more than %d deep", maxNesting)
	}
	if err := checkEscapes(text); err != nil {
		return err
	}
	v, err := b.parser.ParseBytes(text)
	if err != nil {
		return crest.Errorf(crest.CodeMalformed, "", "the event is not valid JSON: %s", clip(err.Error(), 200))
	}
	b.fieldErr = nil
	v.GetObject().Visit(b.visitField)
	return b.fieldErr
}

// The bits of fields.seen.
const (
	seenID = 1 << iota
	seenType
	seenItem
	seenTime
	seenTimeMillis
	seenSession
	seenWeight
	seenDimensions
	seenDimension                                        // of dimension 0
	seenNamed     = seenDimension << crest.MaxDimensions // of schema.idFields[0]
)

// readField takes one field of an event.
func (b *batch) readField(key []byte, v *fastjson.Value) {
	if b.fieldErr != nil || v.Type() == fastjson.TypeNull {
		return
	}
	f, name := &b.fields, view(key)
	switch name {
	case "item":
		b.readText("item", seenItem, &f.item, v)
	case "type":
		b.readText("type", seenType, &f.typ, v)
	case "id":
		b.readText("id", seenID, &f.id, v)
	case "session":
		b.readText("session", seenSession, &f.session, v)
	case "ts":
		b.readTime("ts", seenTime, v)
	case "ts_ms":
		b.readTime("ts_ms", seenTimeMillis, v)
	case "weight":
		b.readWeight(v)
	case "dimensions":
		if v.Type() != fastjson.TypeObject {
			b.fieldErr = wrongType("dimensions", "an object", v)
			return
		}
		if b.once("dimensions", seenDimensions) {
			v.GetObject().Visit(b.visitDimension)
		}
	default:
		b.readOther(name, v)
	}
}

// readOther takes a field that is named by the configuration, or by nobody.
func (b *batch) readOther(name string, v *fastjson.Value) {
	if i := b.schema.dimensionNamed(name); i >= 0 {
		b.readText(b.schema.dimensionNames[i], seenDimension<<i, &b.fields.dimensions[i], v)
		return
	}
	if i := b.schema.idFieldNamed(name); i >= 0 {
		b.readText(b.schema.idFields[i], seenNamed<<i, &b.fields.named[i], v)
		return
	}
	b.ignore("", name)
}

// readDimension takes one field of an event's dimensions.
func (b *batch) readDimension(key []byte, v *fastjson.Value) {
	if b.fieldErr != nil || v.Type() == fastjson.TypeNull {
		return
	}
	if i := b.schema.dimensionNamed(view(key)); i >= 0 {
		b.readText(b.schema.dimensionNames[i], seenDimension<<i, &b.fields.dimensions[i], v)
		return
	}
	b.ignore("dimensions.", view(key))
}

func (b *batch) readText(field string, bit uint32, to *string, v *fastjson.Value) {
	if v.Type() != fastjson.TypeString {
		b.fieldErr = wrongType(field, "text", v)
		return
	}
	if b.once(field, bit) {
		*to = view(v.GetStringBytes())
	}
}

func (b *batch) readTime(field string, bit uint32, v *fastjson.Value) {
	if !b.once(field, bit) {
		return
	}
	f := &b.fields
	if f.hasTime {
		b.fieldErr = crest.Errorf(crest.CodeMalformed, field, "can't be given with the other time: ts and ts_ms exclude each other; send one of them")
		return
	}
	switch v.Type() {
	case fastjson.TypeNumber:
		f.time, b.fieldErr = parseTime(field, b.numberText(v), field == "ts_ms")
	case fastjson.TypeString:
		f.time, b.fieldErr = parseMoment(field, view(v.GetStringBytes()))
	default:
		b.fieldErr = wrongType(field, "a number or a time as text", v)
	}
	f.hasTime = true
}

func (b *batch) readWeight(v *fastjson.Value) {
	if v.Type() != fastjson.TypeNumber {
		b.fieldErr = wrongType("weight", "a number", v)
		return
	}
	if b.once("weight", seenWeight) {
		b.fields.weight, b.fieldErr = parseWeight(b.numberText(v))
	}
}

// numberText returns a number as it was written; it is valid until the next one.
func (b *batch) numberText(v *fastjson.Value) string {
	b.number = v.MarshalTo(b.number[:0])
	return view(b.number)
}

// once refuses an event that has a field twice, for which of them is meant can't be known.
func (b *batch) once(field string, bit uint32) bool {
	if b.fields.seen&bit != 0 {
		b.fieldErr = crest.Errorf(crest.CodeMalformed, field, "is given twice")
		return false
	}
	b.fields.seen |= bit
	return true
}

func wrongType(field, want string, v *fastjson.Value) *crest.Error {
	return crest.Errorf(crest.CodeMalformed, field, "must be %s; it is of the JSON type %s", want, v.Type())
}

func emptyBody() *crest.Error {
	return crest.Errorf(crest.CodeEmptyBody, "", "the body is empty; it should hold events")
}

// contentStart returns the position of the first byte that is neither white space nor part of a byte order mark.
func contentStart(body []byte) int {
	i := 0
	if bytes.HasPrefix(body, []byte("\ufeff")) {
		i = len("\ufeff")
	}
	for i < len(body) && isSpace(body[i]) {
		i++
	}
	return i
}

// nestingWithin reports whether JSON is nested at most limit deep. Few brackets can't be deep.
func nestingWithin(text []byte, limit int) bool {
	if bytes.Count(text, []byte{'{'})+bytes.Count(text, []byte{'['}) <= limit {
		return true
	}
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			if i = stringEnd(text, i); i < 0 {
				return true // parsing will say what is wrong
			}
		case '{', '[':
			if depth++; depth > limit {
				return false
			}
		case '}', ']':
			depth--
		}
	}
	return true
}
