package counts

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"crest"
)

var update = flag.Bool("update", false, "write the golden files anew")

// goldenRows have boards of dimensions, items in several scripts, and a row without a count.
func goldenRows() []Row {
	return append([]Row{
		{"article", "économie", 12, 0},
		{"article", "小説", 7, 1},
		{"article/category=sports", "économie", 5, 0},
		{"hashtag", "", 3, 0},
		{"hashtag", "#🦊", 0, 2},
	}, smallRows()[80:]...)
}

const goldenSlot = crest.Millis(1_796_032_800_000) // 2026-11-30T10:00:00Z

// closeSet sets a key and closes the file.
func closeSet(w interface {
	Set(key, value string) error
	Close() (Info, error)
},
) (Info, error) {
	if err := w.Set("hour", "2026-11-30T09:00:00Z"); err != nil {
		return Info{}, err
	}
	return w.Close()
}

// TestGoldenFiles: files of version 1 can be read, and the same rows still give the same bytes.
func TestGoldenFiles(t *testing.T) {
	for kind, write := range map[string]func(path string) (Info, error){
		"counts": func(path string) (Info, error) {
			w, err := Create(path)
			if err != nil {
				return Info{}, err
			}
			for _, r := range goldenRows() {
				if err := w.Append(r); err != nil {
					return Info{}, err
				}
			}
			return closeSet(w)
		},
		"late": func(path string) (Info, error) {
			w, err := CreateLateIn(nil, path)
			if err != nil {
				return Info{}, err
			}
			for i, r := range goldenRows() {
				for slot := range 1 + i%2 {
					received := goldenSlot + crest.Millis(slot)*600_000
					if err := w.Append(Late{r.Board, r.Item, received, 1 + r.Count}); err != nil {
						return Info{}, err
					}
				}
			}
			return closeSet(w)
		},
		"candidates": func(path string) (Info, error) {
			w, err := CreateCandidatesIn(nil, path)
			if err != nil {
				return Info{}, err
			}
			if err := w.AppendBoard("article", []Candidate{{"économie", 12, []uint64{5, 7}}, {"小説", 7, []uint64{0, 7}}}, 3); err != nil {
				return Info{}, err
			}
			if err := w.AppendBoard("video", []Candidate{{"video-007", 2, nil}}, 0); err != nil {
				return Info{}, err
			}
			return closeSet(w)
		},
	} {
		golden := filepath.Join("testdata", "v1."+kind+".parquet")
		path := filepath.Join(t.TempDir(), kind)
		if *update {
			path = golden
		}
		info, err := write(path)
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s: the same rows give other bytes than in the golden file", kind)
		}
		if err := openers()[kind](golden, info); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
	}
	table, _, err := Examine(filepath.Join("testdata", "v1.counts.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	defer table.Close()
	if got := readAll(t, table.All()); !slices.Equal(got, goldenRows()) {
		t.Errorf("got %v", got)
	}
	late, _, err := ExamineLate(filepath.Join("testdata", "v1.late.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	defer late.Close()
	if got := readLate(t, late.All()); len(got) == 0 || got[0] != (Late{"article", "économie", goldenSlot, 13}) {
		t.Errorf("got %v", got)
	}
}
