package grade

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"crest"
)

// gradesOf returns the grades of two boards and two windows of an hour that ended so many hours after endOfHour.
func gradesOf(hours int) []Grade {
	var grades []Grade
	for _, board := range []string{"hashtag", "video"} {
		for _, window := range []string{"5m", "1h"} {
			grades = append(grades, Grade{AsOf: endOfHour.Add(time.Duration(hours) * time.Hour).Time(), Board: board, Window: window, Items: uint64(hours), Faults: []Fault{}, Examples: []Finding{}})
		}
	}
	return grades
}

func write(t *testing.T, dir string, hours int, grades []Grade) {
	t.Helper()
	if err := writeHour(dir, endOfHour.Add(time.Duration(hours-1)*time.Hour), grades); err != nil {
		t.Fatal(err)
	}
}

// read returns "5 video 1h" for each grade, five hours after endOfHour.
func read(t *testing.T, r *Reader, f Filter) ([]string, Answer) {
	t.Helper()
	a, err := r.Read(f)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, g := range a.Grades {
		got = append(got, fmt.Sprintf("%d %s %s", (crest.MillisOf(g.AsOf)-endOfHour)/3_600_000, g.Board, g.Window))
	}
	return got, a
}

func TestFilters(t *testing.T) {
	dir := t.TempDir()
	for h := range 30 { // over midnight
		write(t, dir, h, gradesOf(h))
	}
	r := NewReader(dir)
	at := func(hours int) crest.Millis { return endOfHour.Add(time.Duration(hours) * time.Hour) }
	all, a := read(t, r, Filter{})
	if len(all) != 120 || all[0] != "29 hashtag 5m" || all[3] != "29 video 1h" || all[119] != "0 video 1h" || a.Next != 0 || a.Damaged != nil {
		t.Errorf("all: %d, %v, next %d", len(all), all, a.Next)
	}
	for _, c := range []struct {
		filter Filter
		want   []string
		next   crest.Millis
	}{
		{Filter{Board: "video", Window: "1h", Limit: 2}, []string{"29 video 1h", "28 video 1h"}, at(28)},
		{Filter{Board: "video", Window: "1h", Limit: 2, To: at(28)}, []string{"27 video 1h", "26 video 1h"}, at(26)},
		{Filter{Board: "video", Window: "5m", From: at(3), To: at(5)}, []string{"4 video 5m", "3 video 5m"}, 0},
		{Filter{Window: "5m", From: at(29)}, []string{"29 hashtag 5m", "29 video 5m"}, 0},
		{Filter{Board: "video", Window: "1h", To: at(1)}, []string{"0 video 1h"}, 0},
		{Filter{Board: "song"}, nil, 0},
		{Filter{To: at(0)}, nil, 0},
	} {
		if got, a := read(t, r, c.filter); !slices.Equal(got, c.want) || a.Next != c.next {
			t.Errorf("%+v: %v, next %d, want %v, next %d", c.filter, got, a.Next, c.want, c.next)
		}
	}
	var paged []string
	for f := (Filter{Limit: 7}); ; {
		got, a := read(t, r, f)
		paged = append(paged, got...)
		if f.To = a.Next; f.To == 0 {
			break
		}
	}
	if !slices.Equal(paged, all) {
		t.Errorf("in pages: %v", paged)
	}
	for limit, want := range map[int]int{0: 120, 9: 36, 30: 120, 31: 120} {
		calls := 0
		a, err := All(func(f Filter) (Answer, error) {
			calls++
			if f.Limit == 0 || f.Limit > 4 {
				f.Limit = 4
			}
			return r.Read(f)
		}, Filter{Limit: limit})
		if err != nil || len(a.Grades) != want || calls != (want/4+3)/4 {
			t.Errorf("all of limit %d: %d grades in %d calls, %v", limit, len(a.Grades), calls, err)
		}
	}
}

func TestAnAnswerIsBounded(t *testing.T) {
	dir := t.TempDir()
	for h := range maxFiles + 5 {
		write(t, dir, h, gradesOf(h)[:1])
	}
	got, a := read(t, NewReader(dir), Filter{Board: "nothing"})
	if len(got) != 0 || a.Next != endOfHour.Add(5*time.Hour) {
		t.Errorf("%d grades, next %s", len(got), a.Next.Time())
	}
	if got, a = read(t, NewReader(dir), Filter{Board: "nothing", To: a.Next}); len(got) != 0 || a.Next != 0 {
		t.Errorf("then %d grades, next %s", len(got), a.Next.Time())
	}
}

func TestReadGoesOn(t *testing.T) {
	dir := t.TempDir()
	for h := range maxFiles + 5 {
		write(t, dir, h, gradesOf(h)[:1])
	}
	if a, err := Read(dir, Filter{}); err != nil || len(a.Grades) != maxFiles+5 || a.Next != 0 {
		t.Errorf("%d grades, next %d, %v", len(a.Grades), a.Next, err)
	}
}

func TestNoGradesYet(t *testing.T) {
	if a, err := Read(t.TempDir()+"/none", Filter{}); err != nil || len(a.Grades) != 0 || a.Grades == nil {
		t.Errorf("%+v, %v", a, err)
	}
}

func TestDamagedGradesAreNamedAndPassedOver(t *testing.T) {
	dir := t.TempDir()
	for h := range 4 {
		write(t, dir, h, gradesOf(h))
	}
	path := func(hours int) string { return gradePath(dir, endOfHour.Add(time.Duration(hours-1)*time.Hour)) }
	data, err := os.ReadFile(path(1))
	if err != nil {
		t.Fatal(err)
	}
	for name, broken := range map[string][]byte{
		"a flipped byte":   []byte(strings.Replace(string(data), "video", "vidео", 1)),
		"a file cut short": data[:len(data)/2],
		"nothing":          {},
		"another format":   []byte(strings.Replace(string(data), `"format":1`, `"format":2`, 1)),
		"another hour":     mustRead(t, path(2)),
	} {
		if err := os.WriteFile(path(1), broken, 0o600); err != nil {
			t.Fatal(err)
		}
		got, a := read(t, NewReader(dir), Filter{Board: "video", Window: "1h"})
		if !slices.Equal(got, []string{"3 video 1h", "2 video 1h", "0 video 1h"}) || len(a.Damaged) != 1 || a.Damaged[0].Path != path(1) || a.Damaged[0].Hour != endOfHour || a.Damaged[0].Err == nil {
			t.Errorf("%s: %v, damaged %v", name, got, a.Damaged)
		}
	}
	for _, stray := range []string{"/date=2026-11-30/hour=77.json", "/date=2026-11-30/notes.txt", "/date=2026-11-30/hour=10.json.tmp", "/date=x/hour=01.json"} {
		if err := os.MkdirAll(dir+"/date=x", 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(dir+stray, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got, a := read(t, NewReader(dir), Filter{Board: "video", Window: "1h"}); len(got) != 3 || len(a.Damaged) != 1 {
		t.Errorf("with strange names: %v, damaged %v", got, a.Damaged)
	}
}

func mustRead(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestAReaderNoticesNewGrades(t *testing.T) {
	dir := t.TempDir()
	r := NewReader(dir)
	write(t, dir, 0, gradesOf(0)[:1])
	for range 2 {
		if got, _ := read(t, r, Filter{}); len(got) != 1 {
			t.Errorf("%v", got)
		}
	}
	write(t, dir, 0, gradesOf(0))
	write(t, dir, 1, gradesOf(1))
	if got, _ := read(t, r, Filter{}); len(got) != 8 {
		t.Errorf("after new ones: %v", got)
	}
}

func TestAReadersMemoryIsBounded(t *testing.T) {
	dir := t.TempDir()
	r := NewReader(dir)
	r.room = 300_000
	grades := gradesOf(0)
	grades[0].Reason = strings.Repeat("x", 100_000)
	for h := range 5 {
		for i := range grades {
			grades[i].AsOf = endOfHour.Add(time.Duration(h) * time.Hour).Time()
		}
		write(t, dir, h, grades)
	}
	for range 2 {
		if got, _ := read(t, r, Filter{Board: "video", Window: "1h"}); len(got) != 5 {
			t.Errorf("%v", got)
		}
		if len(r.cached) != 2 || r.bytes > r.room {
			t.Errorf("%d hours of %d bytes are kept", len(r.cached), r.bytes)
		}
	}
}
