package crest

import (
	"crypto/sha256"
	"encoding/hex"
	"time"
	"unicode/utf8"
)

// The limits of an event. Every input has one, so that no producer can exhaust memory.
const (
	MaxItemBytes      = 256             // item id, after and before normalisation
	MaxTypeBytes      = 64              // type name
	MaxDimensions     = 4               // dimensions that a deployment can declare
	MaxDimensionBytes = 64              // one dimension value
	MaxEventIDBytes   = 128             // event id as sent
	MaxSessionBytes   = 256             // session as sent
	MaxWeight         = 1_000_000       // one event
	MaxAge            = 72 * time.Hour  // event time before received time
	MaxAhead          = 5 * time.Second // event time after received time; within it the time is clamped
)

// Millis is a moment: milliseconds since the Unix epoch, UTC.
type Millis int64

// MillisOf returns t rounded down to the millisecond.
func MillisOf(t time.Time) Millis { return Millis(t.UnixMilli()) }

// Time returns the moment as a UTC time.
func (m Millis) Time() time.Time { return time.UnixMilli(int64(m)).UTC() }

// Add returns the moment d later, rounded down to the millisecond.
func (m Millis) Add(d time.Duration) Millis { return m + Millis(d/time.Millisecond) }

// Floor returns the latest multiple of width (counted from the epoch) that is not after m. Width must be positive.
func (m Millis) Floor(width time.Duration) Millis {
	w := Millis(width / time.Millisecond)
	r := m % w
	if r < 0 {
		r += w
	}
	return m - r
}

// EventID identifies an event. Two events with one id are one event sent twice.
type EventID [16]byte

// ParseEventID turns an id as sent by a client, 1 to MaxEventIDBytes bytes, into an EventID. A UUID in the usual
// 36-character form keeps its bytes; anything else is identified by the first 128 bits of its SHA-256, so nobody can
// make two ids that collide.
func ParseEventID(s string) EventID {
	if id, ok := parseUUID(s); ok {
		return id
	}
	sum := sha256.Sum256([]byte(s))
	return EventID(sum[:16])
}

// String returns the id in the usual form of a UUID, which ParseEventID takes back as it is.
func (id EventID) String() string { return string(id.Append(nil)) }

// Append appends what String returns, 36 bytes.
func (id EventID) Append(dst []byte) []byte {
	dst = hex.AppendEncode(dst, id[:4])
	for _, part := range [...][]byte{id[4:6], id[6:8], id[8:10], id[10:]} {
		dst = append(dst, '-')
		dst = hex.AppendEncode(dst, part)
	}
	return dst
}

func parseUUID(s string) (id EventID, ok bool) {
	if len(s) != 36 || s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-' {
		return id, false
	}
	var digits [32]byte
	n := copy(digits[:], s[:8])
	n += copy(digits[n:], s[9:13])
	n += copy(digits[n:], s[14:18])
	n += copy(digits[n:], s[19:23])
	copy(digits[n:], s[24:])
	_, err := hex.Decode(id[:], digits[:])
	return id, err == nil
}

// Dimensions are an event's dimension values, in the order in which the configuration declares the dimensions.
// An empty value means that the event has none.
type Dimensions [MaxDimensions]string

// Event is one occurrence of an item: a view, a use of a hashtag, a share.
type Event struct {
	ID         EventID
	Generated  bool // ID was made at ingest because the producer sent none, so it can't come twice
	Type       string
	Item       string     // the id that is counted; for normalised types the normal form
	Spelling   string     // the item as received, when it differs from Item; otherwise empty
	Time       Millis     // when it happened, by the producer's clock
	Session    uint64     // hash of the producer's session; 0 when it sent none
	Dimensions Dimensions // for narrowed boards
	Weight     uint32     // how many occurrences it stands for, 1 to MaxWeight
}

// CheckText reports why a text field can't be used: empty, longer than limit bytes, not UTF-8, or with a control
// character. It returns nil when nothing is wrong.
func CheckText(field, s string, limit int) *Error {
	if s == "" {
		return Errorf(CodeMissingField, field, "is empty")
	}
	if len(s) > limit {
		return Errorf(CodeTooLong, field, "has %d bytes; at most %d are allowed", len(s), limit)
	}
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if c < 0x20 || c == 0x7f {
				return Errorf(CodeControlChar, field, "has the control character U+%04X at byte %d", c, i)
			}
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size <= 1 {
			return Errorf(CodeInvalidUTF8, field, "is not valid UTF-8 at byte %d", i)
		}
		if r >= 0x80 && r <= 0x9f {
			return Errorf(CodeControlChar, field, "has the control character U+%04X at byte %d", r, i)
		}
		i += size
	}
	return nil
}

// CheckTime reports why an event time can't be used, given when the event was received. When the time is ahead of
// received by no more than MaxAhead, it returns received and clamped is true: an event never happens after it arrived.
func CheckTime(field string, event, received Millis) (t Millis, clamped bool, err *Error) {
	switch {
	case event < received.Add(-MaxAge):
		return 0, false, Errorf(CodeTooOld, field, "is %s, more than %s before it was received",
			event.Time().Format(time.RFC3339), MaxAge)
	case event > received.Add(MaxAhead):
		return 0, false, Errorf(CodeTooFarAhead, field, "is %s, more than %s after it was received; check the producer's clock",
			event.Time().Format(time.RFC3339), MaxAhead)
	case event > received:
		return received, true, nil
	}
	return event, false, nil
}
