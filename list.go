package crest

import (
	"encoding/json"
	"fmt"
	"time"
)

// Entry is one line of a list. The truth lies in [Count - Error, Count].
type Entry struct {
	Rank         int
	ID           string
	Title        string // empty when unknown; for normalised items the most used spelling
	Thumbnail    string // URL; empty when unknown
	Count        uint64
	Error        uint64
	PreviousRank int // rank on the list before this one; 0 when it was not on it
}

// Short says why a list has fewer entries than it could have. It is empty for a full list.
type Short string

// The reasons for a short list.
const (
	ShortNoTraffic Short = "no_traffic"
	ShortWarmingUp Short = "warming_up"
	ShortFewItems  Short = "few_items"
)

// Dedup says whether duplicates were recognised for as long as was promised.
type Dedup string

// The states of de-duplication.
const (
	DedupFull    Dedup = "full"
	DedupPartial Dedup = "partial" // ids had to be forgotten before the horizon was over
)

// List is the published top K of a board and window. Lists are immutable; a newer one has another Version.
// Entries are ordered by Count descending, then ID ascending by bytes.
type List struct {
	Type         string
	Window       string
	Board        string
	K            int
	Version      string
	GeneratedAt  Millis
	From         Millis // 0 for all time
	AsOf         Millis
	ExactUntil   Millis // 0 while nothing has been recounted
	MaxOverCount uint64 // the largest error on the list
	Proven       int    // ranks 1 to Proven are certainly right
	Cutoff       uint64 // no item outside the list has more than this
	Stale        bool
	Total        uint64 // weight of all events on the board in the window
	Other        uint64 // Total less the list's counts, not below 0
	Duplicates   uint64 // weight dropped as sent before
	Dedup        Dedup
	Late         uint64 // weight that came too late for this window and waits for the recount
	Short        Short
	IDField      string // the name of the id in JSON; empty means "id"
	Top          []Entry
}

// Slice returns the list of the first k entries, with the labels that hold for them. K may exceed the entries there
// are. It shares entries with l.
func (l *List) Slice(k int) List {
	s := *l
	s.K = k
	if k >= len(l.Top) {
		s.relabel()
		return s
	}
	s.Top = l.Top[:k:k]
	s.Cutoff = max(l.Cutoff, l.Top[k].Count)
	s.Proven = min(l.Proven, k)
	s.Short = ""
	s.relabel()
	return s
}

// relabel computes the labels that follow from the entries.
func (l *List) relabel() {
	l.MaxOverCount = 0
	listed := uint64(0)
	for _, e := range l.Top {
		l.MaxOverCount = max(l.MaxOverCount, e.Error)
		listed += e.Count
	}
	l.Other = 0
	if l.Total > listed {
		l.Other = l.Total - listed
	}
}

// Label fills Rank, MaxOverCount, Other and Proven from Top, Total and Cutoff. A rank is proven when the lower bound of
// it, and of every rank before it, reaches the upper bound of whatever follows, on the list or off it.
func (l *List) Label() {
	l.relabel()
	l.Proven = 0
	proven := true
	for i := range l.Top {
		l.Top[i].Rank = i + 1
		following := l.Cutoff
		if i+1 < len(l.Top) {
			following = max(following, l.Top[i+1].Count)
		}
		proven = proven && l.Top[i].Count-l.Top[i].Error >= following
		if proven {
			l.Proven = i + 1
		}
	}
}

// listJSON is the wire form of a list.
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
	Short        Short             `json:"short,omitempty"`
	IDField      string            `json:"id_field,omitempty"`
	Top          []json.RawMessage `json:"top"`
}

// entryJSON is the wire form of an entry, but for its id, whose name differs by type.
type entryJSON struct {
	Rank         int    `json:"rank"`
	Title        string `json:"title,omitempty"`
	Thumbnail    string `json:"thumbnail,omitempty"`
	Count        uint64 `json:"count"`
	Error        uint64 `json:"error"`
	PreviousRank *int   `json:"previous_rank"`
}

// MarshalJSON writes the list as readers get it.
func (l List) MarshalJSON() ([]byte, error) {
	w := listJSON{
		Type: l.Type, Window: l.Window, Board: l.Board, K: l.K, Version: l.Version,
		GeneratedAt: l.GeneratedAt.Time(), From: optionalTime(l.From), AsOf: l.AsOf.Time(),
		ExactUntil: optionalTime(l.ExactUntil), MaxOverCount: l.MaxOverCount, Proven: l.Proven, Cutoff: l.Cutoff,
		Stale: l.Stale, Total: l.Total, Other: l.Other, Duplicates: l.Duplicates, Dedup: l.Dedup, Late: l.Late,
		Short: l.Short, IDField: l.IDField, Top: make([]json.RawMessage, len(l.Top)),
	}
	for i, e := range l.Top {
		raw, err := appendEntry(nil, l.idField(), e)
		if err != nil {
			return nil, err
		}
		w.Top[i] = raw
	}
	return json.Marshal(w)
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
		Short: w.Short, IDField: w.IDField, Top: make([]Entry, len(w.Top)),
	}
	for i, raw := range w.Top {
		e, err := parseEntry(raw, l.idField())
		if err != nil {
			return fmt.Errorf("top[%d]: %w", i, err)
		}
		l.Top[i] = e
	}
	return nil
}

func (l *List) idField() string {
	if l.IDField == "" {
		return "id"
	}
	return l.IDField
}

func appendEntry(dst []byte, idField string, e Entry) ([]byte, error) {
	w := entryJSON{Rank: e.Rank, Title: e.Title, Thumbnail: e.Thumbnail, Count: e.Count, Error: e.Error}
	if e.PreviousRank != 0 {
		w.PreviousRank = &e.PreviousRank
	}
	rest, err := json.Marshal(w)
	if err != nil {
		return nil, err
	}
	name, err := json.Marshal(idField)
	if err != nil {
		return nil, err
	}
	id, err := json.Marshal(e.ID)
	if err != nil {
		return nil, err
	}
	dst = append(dst, '{')
	dst = append(dst, name...)
	dst = append(dst, ':')
	dst = append(dst, id...)
	dst = append(dst, ',')
	return append(dst, rest[1:]...), nil
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
	if err := json.Unmarshal(fields[idField], &e.ID); err != nil {
		return Entry{}, fmt.Errorf("%s: %w", idField, err)
	}
	return e, nil
}

func optionalTime(m Millis) *time.Time {
	if m == 0 {
		return nil
	}
	t := m.Time()
	return &t
}

func optionalMillis(t *time.Time) Millis {
	if t == nil {
		return 0
	}
	return MillisOf(*t)
}
