package rank

import "crest"

// maxReasons is how many refused lines are kept with their reasons.
const maxReasons = 5

// Stats is what happened to the lines of a run.
type Stats struct {
	Lines    uint64      // records read, headers and blank lines not counted
	Refused  uint64      // that could not be used
	Filtered uint64      // left out by a condition, or outside the window
	Counted  uint64      // counted
	Late     uint64      // came after lists had been made that they belong on; still counted on later ones
	Skipped  uint64      // lists not made because their window had no events
	Reasons  []Refusal   // the first refused lines
	ByCode   []CodeCount // refused lines by kind, in order of appearance
	Bytes    int64       // read, as stored
	Size     int64       // of the inputs as stored; 0 when unknown
}

// Refusal says which line was refused and why.
type Refusal struct {
	Place  string
	Reason error
}

// CodeCount is how many lines were refused for one kind of reason.
type CodeCount struct {
	Code  crest.Code
	Lines uint64
}

// tally is what happened to the lines of one block.
type tally struct {
	lines, refused, filtered, counted uint64
	reasons                           []Refusal
	byCode                            []CodeCount
}

func (t *tally) reset() {
	*t = tally{reasons: t.reasons[:0], byCode: t.byCode[:0]}
}

func (t *tally) refuse(place func() string, reason error) {
	t.refused++
	t.byCode = countCode(t.byCode, crest.CodeOf(reason), 1)
	if len(t.reasons) < maxReasons {
		t.reasons = append(t.reasons, Refusal{place(), reason})
	}
}

func countCode(counts []CodeCount, code crest.Code, lines uint64) []CodeCount {
	for i := range counts {
		if counts[i].Code == code {
			counts[i].Lines += lines
			return counts
		}
	}
	return append(counts, CodeCount{code, lines})
}

func (s *Stats) add(t *tally) {
	s.Lines += t.lines
	s.Refused += t.refused
	s.Filtered += t.filtered
	s.Counted += t.counted
	room := maxReasons - len(s.Reasons)
	s.Reasons = append(s.Reasons, t.reasons[:min(room, len(t.reasons))]...)
	for _, c := range t.byCode {
		s.ByCode = countCode(s.ByCode, c.Code, c.Lines)
	}
}
