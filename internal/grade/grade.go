// Package grade compares the lists that were published with the truth: after each recount of an hour, the lists as of its
// end with the exact counts of the events that had been received by then. What a list promises must hold for every entry,
// so a grade that fails is a bug, not bad luck.
package grade

import "time"

// Grade is how one list compares with the truth. Its counts are weights, its times UTC.
type Grade struct {
	AsOf    time.Time `json:"as_of"` // of the list: the end of the hour that was counted
	Board   string    `json:"board"`
	Window  string    `json:"window"`
	Missing bool      `json:"missing"`          // there was no list or no truth to compare; the figures are all 0
	Reason  string    `json:"reason,omitempty"` // why, in words for a person
	Version string    `json:"version,omitempty"`
	Since   time.Time `json:"since,omitzero"` // the list lacks what was received before, and says so; zero when it lacks nothing

	K            int    `json:"k"`             // entries that the list could have
	Entries      int    `json:"entries"`       // that it has
	Items        uint64 `json:"items"`         // that the board has in truth
	Total        uint64 `json:"total"`         // of their true counts
	Repeats      uint64 `json:"repeats"`       // what the recount dropped as sent before, or has not counted yet
	MaxOverCount uint64 `json:"max_overcount"` // as published
	Cutoff       uint64 `json:"cutoff"`        // as published
	Proven       int    `json:"proven"`        // as published

	Recall100        Recall  `json:"recall_100"`
	RecallK          Recall  `json:"recall_k"`
	Exact            int     `json:"exact"`                      // entries whose count is the truth
	LargestOverCount Finding `json:"largest_overcount,omitzero"` // of the entry that is furthest above the truth; zero when none is
	MeanDisplacement float64 `json:"mean_displacement"`          // ranks between an entry's place and its true one
	MaxDisplacement  int     `json:"max_displacement"`           // an item beyond the true top K counts as being at K + 1

	BelowTruth  int       `json:"below_truth"`  // entries that count less than the truth
	AboveError  int       `json:"above_error"`  // entries that count more than the truth, their error and their repeats
	AboveCutoff uint64    `json:"above_cutoff"` // items off the list with more than its cutoff
	WrongRanks  int       `json:"wrong_ranks"`  // proven ranks with an item that has less than one behind it
	Faults      []Fault   `json:"faults"`       // what makes the grade a failed one, in the order of the constants; empty when nothing does
	Examples    []Finding `json:"examples"`     // one for each fault that one item shows
}

// Fault is a promise that a list has broken.
type Fault string

// The faults of a grade.
const (
	FaultRecall      Fault = "recall" // recall@100 is below 99 %
	FaultBelowTruth  Fault = "below_truth"
	FaultAboveError  Fault = "above_error"
	FaultAboveCutoff Fault = "above_cutoff"
	FaultWrongRank   Fault = "wrong_rank"
)

// Recall says how many of the true top are among the first as many of the list. An item that ties with the last of the
// true top is as good as it.
type Recall struct {
	Of    int `json:"of"`
	Found int `json:"found"`
}

// Share returns the part that was found, 0 to 1; nothing was missed of nothing.
func (r Recall) Share() float64 {
	if r.Of == 0 {
		return 1
	}
	return float64(r.Found) / float64(r.Of)
}

// Finding is an item that shows something.
type Finding struct {
	Fault   Fault  `json:"fault,omitempty"`
	Rank    int    `json:"rank"` // 0 for an item that is not on the list
	ID      string `json:"id"`
	Count   uint64 `json:"count"` // as published; the cutoff for an item that is not on the list
	Error   uint64 `json:"error"` // as published
	Truth   uint64 `json:"truth"`
	Repeats uint64 `json:"repeats"` // dropped by the recount as sent before, or not counted yet
}

// Over returns by how much the count is above the truth, 0 when it is not.
func (f Finding) Over() uint64 { return f.Count - min(f.Count, f.Truth) }

// Failed reports whether the list broke a promise. A missing grade has not failed.
func (g *Grade) Failed() bool { return len(g.Faults) > 0 }
