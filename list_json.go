package crest

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"
)

// AppendJSON appends the list as readers get it: its head, its entries with commas between them, and "]}".
func (l *List) AppendJSON(dst []byte) []byte {
	dst = l.AppendJSONHead(dst)
	for i := range l.Top {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = l.AppendJSONEntry(dst, &l.Top[i])
	}
	return append(dst, "]}"...)
}

// AppendJSONHead appends what comes before the first entry, the bracket of "top" included.
func (l *List) AppendJSONHead(dst []byte) []byte {
	dst = appendString(append(dst, `{"type":`...), l.Type)
	dst = appendString(append(dst, `,"window":`...), l.Window)
	dst = appendString(append(dst, `,"board":`...), l.Board)
	dst = strconv.AppendInt(append(dst, `,"k":`...), int64(l.K), 10)
	dst = appendString(append(dst, `,"version":`...), l.Version)
	dst = appendTime(append(dst, `,"generated_at":`...), l.GeneratedAt)
	dst = appendOptionalTime(append(dst, `,"from":`...), l.From)
	dst = appendTime(append(dst, `,"as_of":`...), l.AsOf)
	dst = appendOptionalTime(append(dst, `,"exact_until":`...), l.ExactUntil)
	dst = strconv.AppendUint(append(dst, `,"max_overcount":`...), l.MaxOverCount, 10)
	dst = strconv.AppendInt(append(dst, `,"proven":`...), int64(l.Proven), 10)
	dst = strconv.AppendUint(append(dst, `,"cutoff":`...), l.Cutoff, 10)
	dst = strconv.AppendBool(append(dst, `,"stale":`...), l.Stale)
	dst = strconv.AppendUint(append(dst, `,"total":`...), l.Total, 10)
	dst = strconv.AppendUint(append(dst, `,"other":`...), l.Other, 10)
	dst = strconv.AppendUint(append(dst, `,"duplicates":`...), l.Duplicates, 10)
	dst = appendString(append(dst, `,"dedup":`...), string(l.Dedup))
	dst = strconv.AppendUint(append(dst, `,"late":`...), l.Late, 10)
	if l.Short != "" {
		dst = appendString(append(dst, `,"short":`...), string(l.Short))
	}
	if l.Since != 0 {
		dst = appendTime(append(dst, `,"since":`...), l.Since)
	}
	if l.IDField != "" {
		dst = appendString(append(dst, `,"id_field":`...), l.IDField)
	}
	return append(dst, `,"top":[`...)
}

// AppendJSONEntry appends one entry of the list.
func (l *List) AppendJSONEntry(dst []byte, e *Entry) []byte {
	dst = strconv.AppendInt(append(dst, `{"rank":`...), int64(e.Rank), 10)
	dst = append(appendString(append(dst, ','), l.IDName()), ':')
	dst = appendString(dst, e.ID)
	if e.Title != "" {
		dst = appendString(append(dst, `,"title":`...), e.Title)
	}
	if e.Thumbnail != "" {
		dst = appendString(append(dst, `,"thumbnail":`...), e.Thumbnail)
	}
	dst = strconv.AppendUint(append(dst, `,"count":`...), e.Count, 10)
	dst = strconv.AppendUint(append(dst, `,"error":`...), e.Error, 10)
	dst = append(dst, `,"previous_rank":`...)
	if e.PreviousRank == 0 {
		return append(dst, "null}"...)
	}
	return append(strconv.AppendInt(dst, int64(e.PreviousRank), 10), '}')
}

// MarshalJSON writes the list as readers get it.
func (l List) MarshalJSON() ([]byte, error) { return l.AppendJSON(nil), nil }

// IDName returns the name that an entry's id has in JSON: IDField, or "id".
func (l *List) IDName() string {
	if l.IDField == "" {
		return "id"
	}
	return l.IDField
}

// appendString appends s as a JSON string, byte for byte as encoding/json writes it: invalid UTF-8 becomes U+FFFD, and
// what could end a script element or a line of JavaScript is escaped.
func appendString(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if c >= 0x20 && c != '"' && c != '\\' && c != '<' && c != '>' && c != '&' {
				i++
				continue
			}
			dst = append(dst, s[start:i]...)
			switch c {
			case '"', '\\':
				dst = append(dst, '\\', c)
			case '\b':
				dst = append(dst, `\b`...)
			case '\f':
				dst = append(dst, `\f`...)
			case '\n':
				dst = append(dst, `\n`...)
			case '\r':
				dst = append(dst, `\r`...)
			case '\t':
				dst = append(dst, `\t`...)
			default:
				dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
			}
			i++
			start = i
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			dst = append(append(dst, s[start:i]...), `\ufffd`...)
			start = i + size
		case r == '\u2028' || r == '\u2029':
			dst = append(append(dst, s[start:i]...), '\\', 'u', '2', '0', '2', hex[r&15])
			start = i + size
		}
		i += size
	}
	return append(append(dst, s[start:]...), '"')
}

func appendTime(dst []byte, m Millis) []byte {
	return append(m.Time().AppendFormat(append(dst, '"'), time.RFC3339Nano), '"')
}

func appendOptionalTime(dst []byte, m Millis) []byte {
	if m == 0 {
		return append(dst, "null"...)
	}
	return appendTime(dst, m)
}

// listJSON is what a list is read from.
type listJSON struct {
	Type         string            `json:"type"`
	Window       string            `json:"window"`
	Board        string            `json:"board"`
	K            int               `json:"k"`
	Version      string            `json:"version"`
	GeneratedAt  time.Time         `json:"generated_at"`
	From         *time.Time        `json:"from"`
	AsOf         time.Time         `json:"as_of"`
	ExactUntil   *time.Time        `json:"exact_until"`
	MaxOverCount uint64            `json:"max_overcount"`
	Proven       int               `json:"proven"`
	Cutoff       uint64            `json:"cutoff"`
	Stale        bool              `json:"stale"`
	Total        uint64            `json:"total"`
	Other        uint64            `json:"other"`
	Duplicates   uint64            `json:"duplicates"`
	Dedup        Dedup             `json:"dedup"`
	Late         uint64            `json:"late"`
	Short        Short             `json:"short"`
	Since        *time.Time        `json:"since"`
	IDField      string            `json:"id_field"`
	Top          []json.RawMessage `json:"top"`
}

// entryJSON is what an entry is read from, but for its id, whose name differs by type.
type entryJSON struct {
	Rank         int    `json:"rank"`
	Title        string `json:"title"`
	Thumbnail    string `json:"thumbnail"`
	Count        uint64 `json:"count"`
	Error        uint64 `json:"error"`
	PreviousRank *int   `json:"previous_rank"`
}

// UnmarshalJSON reads what MarshalJSON writes.
func (l *List) UnmarshalJSON(data []byte) error {
	var w listJSON
	if err := json.Unmarshal(data, &w); err != nil {
		return err
	}
	*l = List{
		Type: w.Type, Window: w.Window, Board: w.Board, K: w.K, Version: w.Version,
		GeneratedAt: MillisOf(w.GeneratedAt), From: optionalMillis(w.From), AsOf: MillisOf(w.AsOf),
		ExactUntil: optionalMillis(w.ExactUntil), MaxOverCount: w.MaxOverCount, Proven: w.Proven, Cutoff: w.Cutoff,
		Stale: w.Stale, Total: w.Total, Other: w.Other, Duplicates: w.Duplicates, Dedup: w.Dedup, Late: w.Late,
		Short: w.Short, Since: optionalMillis(w.Since), IDField: w.IDField, Top: make([]Entry, len(w.Top)),
	}
	for i, raw := range w.Top {
		e, err := parseEntry(raw, l.IDName())
		if err != nil {
			return fmt.Errorf("top[%d]: %w", i, err)
		}
		l.Top[i] = e
	}
	return nil
}

func parseEntry(raw []byte, idField string) (Entry, error) {
	var w entryJSON
	if err := json.Unmarshal(raw, &w); err != nil {
		return Entry{}, err
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil {
		return Entry{}, err
	}
	e := Entry{Rank: w.Rank, Title: w.Title, Thumbnail: w.Thumbnail, Count: w.Count, Error: w.Error}
	if w.PreviousRank != nil {
		e.PreviousRank = *w.PreviousRank
	}
	id, ok := fields[idField]
	if !ok {
		return Entry{}, Errorf(CodeMissingField, idField, "is missing")
	}
	if err := json.Unmarshal(id, &e.ID); err != nil {
		return Entry{}, fmt.Errorf("%s: %w", idField, err)
	}
	return e, nil
}

func optionalMillis(t *time.Time) Millis {
	if t == nil {
		return 0
	}
	return MillisOf(*t)
}
