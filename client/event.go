package client

import (
	"crypto/rand"
	"encoding/json"
	"strconv"
	"time"
	"unicode/utf8"

	"crest"
	"crest/proto/eventpb"
)

// Event is one occurrence of an item. Type may be empty if the server has one type only.
type Event struct {
	ID         string    // 1 to 128 bytes; random when empty. Two events with one id are one event sent twice
	Type       string    // kind of item
	Item       string    // 1 to 256 bytes of UTF-8
	Time       time.Time // when it happened; the zero time means when it is received
	Session    string    // who caused it; events of a session are de-duplicated together, so retries must keep it
	Weight     uint64    // how many occurrences it stands for, 1 to 1,000,000; 0 means 1
	Dimensions map[string]string
}

// identified returns the events with an id each.
func identified(events []Event) []Event {
	missing := 0
	for i := range events {
		if events[i].ID == "" {
			missing++
		}
	}
	if missing == 0 {
		return events
	}
	random := make([]byte, 16*missing)
	_, _ = rand.Read(random) // it never fails
	all := append([]Event(nil), events...)
	for i := range all {
		if all[i].ID == "" {
			all[i].ID = uuid(random[:16])
			random = random[16:]
		}
	}
	return all
}

// uuid makes 16 random bytes a version 4 UUID, the form of id that takes the least room on its way.
func uuid(random []byte) string {
	id := crest.EventID(random)
	id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80
	return id.String()
}

func appendProtobuf(dst []byte, events []Event) []byte {
	var dimensions []eventpb.Dimension
	for i := range events {
		e := &events[i]
		dimensions = dimensions[:0]
		for name, value := range e.Dimensions {
			dimensions = append(dimensions, eventpb.Dimension{Name: name, Value: value})
		}
		dst = eventpb.AppendEvent(dst, &eventpb.Event{
			ID: e.ID, Type: e.Type, Item: e.Item, TimeMillis: millis(e.Time), Session: e.Session, Weight: e.Weight, Dimensions: dimensions,
		})
	}
	return dst
}

func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func appendJSON(dst []byte, events []Event) []byte {
	dst = append(dst, '[')
	for i := range events {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendEventJSON(dst, &events[i])
	}
	return append(dst, ']')
}

func appendEventJSON(dst []byte, e *Event) []byte {
	dst = append(dst, `{"id":`...)
	dst = appendString(dst, e.ID)
	for _, f := range [...]struct{ name, value string }{{"type", e.Type}, {"item", e.Item}, {"session", e.Session}} {
		if f.value != "" {
			dst = append(dst, `,"`+f.name+`":`...)
			dst = appendString(dst, f.value)
		}
	}
	if !e.Time.IsZero() {
		dst = append(dst, `,"ts_ms":`...)
		dst = strconv.AppendInt(dst, e.Time.UnixMilli(), 10)
	}
	if e.Weight != 0 {
		dst = append(dst, `,"weight":`...)
		dst = strconv.AppendUint(dst, e.Weight, 10)
	}
	if len(e.Dimensions) > 0 {
		dst = append(dst, `,"dimensions":{`...)
		first := true
		for name, value := range e.Dimensions {
			if !first {
				dst = append(dst, ',')
			}
			first = false
			dst = appendString(dst, name)
			dst = append(dst, ':')
			dst = appendString(dst, value)
		}
		dst = append(dst, '}')
	}
	return append(dst, '}')
}

// appendString writes a JSON string. Text that needs no escape, which is nearly all of it, is copied.
func appendString(dst []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			escaped, err := json.Marshal(s)
			if err != nil { // it can't: a string always has a JSON form
				return append(dst, '"', '"')
			}
			return append(dst, escaped...)
		}
	}
	dst = append(dst, '"')
	dst = append(dst, s...)
	return append(dst, '"')
}
