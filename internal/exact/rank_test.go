package exact

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"crest"
	"crest/internal/archive"
	"crest/internal/counts"
)

// ranked collects what Rank gives.
func ranked(t *testing.T, view *archive.View, config RankConfig) ([]counts.Row, RankStats) {
	t.Helper()
	var rows []counts.Row
	s, err := Rank(t.Context(), view, config, func(r counts.Row) error {
		rows = append(rows, r)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return rows, s
}

func TestRankAgainstNaiveCount(t *testing.T) {
	seed := seedOf(t)
	random := rand.New(rand.NewPCG(seed, 0))
	all := traffic(random, 1500)
	view := archived(t, testDimensions, all)
	plain := testConfig()
	for n := range 30 {
		config := RankConfig{
			Types: plain.Types, Dimensions: plain.Dimensions, Edge: plain.Edge, Memory: 64 << 20, Workers: 1 + n%4, Dir: t.TempDir(),
		}
		config.From = testHour - crest.Millis(random.Int64N(2*time.Hour.Milliseconds()))
		config.To = config.From + 1 + crest.Millis(random.Int64N(4*time.Hour.Milliseconds()))
		cut := all[len(all)-1].At + 1
		if n%3 > 0 {
			cut = config.To - crest.Millis(random.Int64N(40*60_000)) + 20*60_000
			config.By = cut
		}
		want := countNaively(plain, all, config.From, config.To, cut)
		got, s := ranked(t, view, config)
		if !slices.Equal(got, want.sorted()) {
			t.Fatalf("window %d: other rows:\n%v\n%v", n, got, want.sorted())
		}
		if s.Rows != want.stats.rows || s.Weight != want.stats.weight || s.Duplicates != want.stats.duplicates || s.Items != int64(len(got)) || s.Boards != want.boards() {
			t.Fatalf("window %d: stats %+v, want %+v", n, s, want.stats)
		}
		// One board alone.
		board := crest.Board{Type: "article", Narrow: []crest.Narrowing{{Dimension: "region", Value: "eu"}, {Dimension: "category", Value: "news"}}}
		if n%2 == 0 {
			board.Narrow = board.Narrow[:n/2%2]
		}
		config.Board = board
		got, _ = ranked(t, view, config)
		name := board.String()
		if len(board.Narrow) == 2 { // the configuration has them the other way round
			name = "article/category=news/region=eu"
		}
		var wanted []counts.Row
		for _, r := range want.sorted() {
			if r.Board == name {
				r.Board = board.String()
				wanted = append(wanted, r)
			}
		}
		if !slices.Equal(got, wanted) {
			t.Fatalf("window %d, board %s: other rows:\n%v\n%v", n, board, got, wanted)
		}
	}
}

func TestRankRefuses(t *testing.T) {
	view := archived(t, nil, nil)
	good := RankConfig{Types: testConfig().Types, Dimensions: testDimensions, From: testHour, To: testHour + 1}
	if _, err := Rank(t.Context(), view, good, nil); err != nil {
		t.Errorf("an archive without events: %v", err)
	}
	for name, change := range map[string]func(*RankConfig){
		"window":  func(c *RankConfig) { c.To = c.From },
		"memory":  func(c *RankConfig) { c.Memory = 1 << 20 },
		"workers": func(c *RankConfig) { c.Workers = -1 },
		"edge":    func(c *RankConfig) { c.Edge = time.Hour },
		"types":   func(c *RankConfig) { c.Dimensions = nil },
		"dimension": func(c *RankConfig) {
			c.Board = crest.Board{Type: "article", Narrow: []crest.Narrowing{{Dimension: "colour", Value: "red"}}}
		},
	} {
		c := good
		change(&c)
		if _, err := Rank(t.Context(), view, c, nil); crest.CodeOf(err) == "" || crest.CodeOf(err) == crest.CodeInternal {
			t.Errorf("%s: %v", name, err)
		}
	}
}
