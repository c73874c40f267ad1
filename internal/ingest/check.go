package ingest

import (
	"github.com/zeebo/xxh3"

	"crest"
)

// fields are an event's fields as read, not checked yet. Absent, null and empty are the same. The strings may alias
// the memory of the body or of a parser: they are valid until the next event is read.
type fields struct {
	id         string
	uuid       crest.EventID
	hasUUID    bool
	typ        string
	item       string
	named      []string // the item under the names that types give it, by index in schema.idFields
	session    string
	dimensions crest.Dimensions
	time       crest.Millis
	hasTime    bool
	weight     uint32 // 0 when absent
	clamped    bool   // time was ahead; set by check
	seen       uint32 // bits of the JSON fields seen
}

// reset makes room for the next event.
func (f *fields) reset() {
	clear(f.named)
	*f = fields{named: f.named}
}

// check makes b.event of the fields, or returns why it can't.
func (b *batch) check() *crest.Error {
	f, ev := &b.fields, &b.event
	t, err := b.typeOf(f.typ)
	if err != nil {
		return err
	}
	ev.Type = t.name
	if err := b.checkItem(t); err != nil {
		return err
	}
	if err := b.checkID(); err != nil {
		return err
	}
	ev.Session = 0
	if f.session != "" {
		if err := checkText("session", f.session, crest.MaxSessionBytes); err != nil {
			return err
		}
		// Zero means that there is none.
		ev.Session = max(1, xxh3.HashString(f.session))
	}
	ev.Time = b.received
	if f.hasTime {
		if ev.Time, f.clamped, err = crest.CheckTime("ts", f.time, b.received); err != nil {
			return err
		}
	}
	ev.Weight = max(1, f.weight)
	ev.Dimensions = f.dimensions
	return b.checkDimensions()
}

func (b *batch) typeOf(name string) (*itemType, *crest.Error) {
	if name == "" {
		if b.fallback == nil {
			return nil, crest.Errorf(crest.CodeMissingField, "type", "is missing; valid types are %s", b.schema.typeNames())
		}
		return b.fallback, nil
	}
	if t := b.schema.typeNamed(name); t != nil {
		return t, nil
	}
	if err := checkText("type", name, crest.MaxTypeBytes); err != nil {
		return nil, err
	}
	return nil, crest.Errorf(crest.CodeUnknownType, "type", "is %s; valid types are %s", quote(name), b.schema.typeNames())
}

// checkItem finds the item under the name that its type gives it, and normalises it.
func (b *batch) checkItem(t *itemType) *crest.Error {
	item, name := b.fields.item, "item"
	for i, s := range b.fields.named {
		switch {
		case s == "":
		case i != t.idField:
			b.ignore("", b.schema.idFields[i])
		case item != "":
			return crest.Errorf(crest.CodeMalformed, b.schema.idFields[i], "names the item again, after \"item\"")
		default:
			item, name = s, b.schema.idFields[i]
		}
	}
	if item == "" && t.idField != noField {
		name = b.schema.idFields[t.idField]
	}
	if err := checkText(name, item, crest.MaxItemBytes); err != nil {
		return err
	}
	b.event.Item, b.event.Spelling = item, ""
	if !t.hashtag {
		return nil
	}
	b.item = b.hashtags.Append(b.item[:0], item)
	switch normal := view(b.item); {
	case normal == "":
		return crest.Errorf(crest.CodeEmptyAfterNormalization, name, "is %s, of which nothing is left after normalisation", quote(item))
	case len(normal) > crest.MaxItemBytes:
		return crest.Errorf(crest.CodeTooLong, name, "has %d bytes after normalisation; at most %d are allowed", len(normal), crest.MaxItemBytes)
	case normal != item:
		b.event.Item, b.event.Spelling = normal, item
	}
	return nil
}

func (b *batch) checkID() *crest.Error {
	f, ev := &b.fields, &b.event
	ev.Generated = false
	switch {
	case f.hasUUID:
		ev.ID = f.uuid
	case f.id == "":
		ev.ID, ev.Generated = b.newID(), true
	default:
		if err := checkText("id", f.id, crest.MaxEventIDBytes); err != nil {
			return err
		}
		ev.ID = crest.ParseEventID(f.id)
	}
	return nil
}

func (b *batch) checkDimensions() *crest.Error {
	for i := range b.schema.dimensions {
		d, v := &b.schema.dimensions[i], b.event.Dimensions[i]
		if v == "" {
			continue
		}
		if _, ok := d.allowed[v]; ok {
			continue
		}
		if err := crest.CheckName(d.name, v, crest.MaxDimensionBytes); err != nil {
			return err
		}
		if d.allowed != nil {
			return crest.Errorf(crest.CodeUnknownValue, d.name, "is %s, which the configuration does not list", quote(v))
		}
	}
	return nil
}

// checkWeight returns a weight, or why it can't be one.
func checkWeight(n int64) (uint32, *crest.Error) {
	if n < 1 || n > crest.MaxWeight {
		return 0, crest.Errorf(crest.CodeOutOfRange, "weight", "is %d; it must be from 1 to %d", n, crest.MaxWeight)
	}
	return uint32(n), nil
}
