package crest

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
	ExactUntil   Millis // counts are known to be exact up to here; 0 when nothing is known
	MaxOverCount uint64 // the largest error on the list
	Proven       int    // ranks 1 to Proven are certainly right
	Cutoff       uint64 // no item outside the list has more than this
	Stale        bool
	Total        uint64 // weight of all events on the board in the window
	Other        uint64 // Total less the list's counts, not below 0
	Duplicates   uint64 // weight dropped as sent before
	Dedup        Dedup
	Late         uint64 // weight that came too late for this window
	Short        Short
	Since        Millis // events received before are not counted; 0 when that lies before From, and none can be missing
	IDField      string // the name of the id in JSON; empty means "id"
	Top          []Entry
}

// Slice returns the list of the first k entries, with the labels that hold for them. It may ask for more entries than
// there are, but not for more than l was made for: a list says nothing about ranks below its K. It shares entries with l.
func (l *List) Slice(k int) List {
	s := *l
	s.K = k
	if k <= len(l.Top) {
		s.Short = ""
	}
	if k < len(l.Top) {
		s.Top = l.Top[:k:k]
		s.Cutoff = max(l.Cutoff, l.Top[k].Count)
		s.Proven = min(l.Proven, k)
	}
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
// it, and of every rank before it, reaches the upper bound of the next one, and is above that of everything off the list.
// So the order of the proven ranks is that of the true counts.
func (l *List) Label() {
	l.relabel()
	l.Proven = 0
	proven := true
	for i := range l.Top {
		e := &l.Top[i]
		e.Rank = i + 1
		lower := e.Count - min(e.Error, e.Count)
		proven = proven && lower > l.Cutoff // its id can't be compared, so a tie proves nothing
		if proven && i+1 < len(l.Top) {
			next := &l.Top[i+1]
			proven = lower > next.Count || lower == next.Count && e.ID < next.ID
		}
		if proven {
			l.Proven = i + 1
		}
	}
}
