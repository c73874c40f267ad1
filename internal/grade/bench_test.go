package grade

import (
	"fmt"
	"testing"

	"crest"
)

// BenchmarkAdd compares a list of 1,000 with a million items, of which few are frequent.
func BenchmarkAdd(b *testing.B) {
	const items = 1_000_000
	ids := make([]string, items)
	for i := range ids {
		ids[i] = fmt.Sprintf("v%07x", (i*7919)%items)
	}
	l := &crest.List{K: 1000}
	for i := range l.K {
		l.Top = append(l.Top, crest.Entry{ID: ids[i*997], Count: 1})
	}
	for b.Loop() {
		c := Compare(l)
		for i, id := range ids {
			c.Add(id, uint64(1+items/(1+(i*31)%items)), 0)
		}
		c.Grade(0)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/items, "ns/item")
}

// BenchmarkNewest reads the newest grade of one list, as the page asks for it, among a month of 200 lists an hour.
func BenchmarkNewest(b *testing.B) {
	dir := b.TempDir()
	var grades []Grade
	for i := range 200 {
		grades = append(grades, Grade{Board: fmt.Sprintf("board-%03d", i), Window: "1h", Faults: []Fault{}, Examples: []Finding{}})
	}
	for h := range crest.Millis(24 * 30) {
		asOf := endOfHour + h*3_600_000
		for i := range grades {
			grades[i].AsOf = asOf.Time()
		}
		if err := writeHour(dir, asOf-3_600_000, grades); err != nil {
			b.Fatal(err)
		}
	}
	r := NewReader(dir)
	for b.Loop() {
		if a, err := r.Read(Filter{Board: "board-100", Window: "1h", Limit: 3}); err != nil || len(a.Grades) != 3 {
			b.Fatal(len(a.Grades), err)
		}
	}
}
