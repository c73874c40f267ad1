package bench

import "testing"

func TestGradeSeesEveryKindOfMistake(t *testing.T) {
	// Ids 0 to 3 with counts 10, 5, 5, 1.
	s := &Stream{truth: []uint32{10, 5, 5, 1}}
	key := func(id uint32) string { return string(appendKey(nil, id)) }
	for _, c := range []struct {
		name    string
		entries []Entry
		want    Grade
	}{
		{"right", []Entry{{key(0), 10, 0}, {key(1), 5, 0}}, Grade{Entries: 2, Recall: 1}},
		{"a tie is right too", []Entry{{key(0), 10, 0}, {key(2), 5, 0}}, Grade{Entries: 2, Recall: 1}},
		{"certified error", []Entry{{key(0), 13, 3}, {key(1), 5, 0}}, Grade{Entries: 2, Recall: 1, MeanError: 1.5, MaxError: 3}},
		{"error too small", []Entry{{key(0), 13, 2}, {key(1), 5, 0}}, Grade{Entries: 2, Recall: 1, MeanError: 1.5, MaxError: 3, Broken: 1}},
		{"below the truth", []Entry{{key(0), 8, 0}, {key(1), 5, 0}}, Grade{Entries: 2, Recall: 1, MeanError: 1, MaxError: 2, Under: 1, Broken: 1}},
		{"wrong item", []Entry{{key(0), 10, 0}, {key(3), 6, 5}}, Grade{Entries: 2, Recall: 0.5, MeanError: 2.5, MaxError: 5}},
		{"twice the same", []Entry{{key(0), 10, 0}, {key(0), 10, 0}}, Grade{Entries: 2, Recall: 0.5}},
		{"nothing", nil, Grade{}},
	} {
		if got := GradeTop(c.entries, s, 2, true); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
	if got := GradeTop([]Entry{{key(0), 8, 0}}, s, 1, false); got.Broken != 0 || got.Under != 1 {
		t.Errorf("without certificate: %+v, want one count below the truth and no broken certificate", got)
	}
}
