package exact

import (
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"crest"
	"crest/internal/archive"
	"crest/internal/counts"
)

// RankConfig says what is counted straight from the archive.
type RankConfig struct {
	Types      []TypeBoards // whose boards are counted, unless Board names one
	Board      crest.Board  // the one board that is counted, when it has a type; any dimension values will do
	Dimensions []string     // as the archive has them
	From, To   crest.Millis // event time, [From, To)
	By         crest.Millis // received before; 0 stands for all that the archive has
	Edge       time.Duration
	Memory     int64  // bytes; default 512 MiB
	Workers    int    // default: the number of processors
	Dir        string // for what does not fit in the memory; default: the system's directory for temporary files
	Observer   Observer
}

// RankStats say what was counted.
type RankStats struct {
	Rows       int64  // of the archive, in the window
	Weight     uint64 // counted, of all types that were asked for; once, not per board
	Duplicates uint64 // weight dropped as sent before, likewise
	Items      int64  // over all boards
	Boards     int
}

// Rank counts the events of any window from the archive itself and calls visit for every item of every board, sorted by
// board, then item; what it is given stays valid. Duplicates are decided per hour as a recount does, so the rows of an hour
// are those of its count.
//
// Of a view that has become old it returns archive.ErrReplaced; then it should be called again with a new one.
func Rank(ctx context.Context, view *archive.View, config RankConfig, visit func(counts.Row) error) (RankStats, error) {
	counting := Config{
		Types: config.Types, Dimensions: config.Dimensions, Edge: config.Edge, Memory: config.Memory, Workers: config.Workers, Observer: config.Observer,
	}
	counting.setDefaults()
	if config.From >= config.To {
		return RankStats{}, crest.Errorf(crest.CodeOutOfRange, "window", "is empty: it ends at %s and begins at %s", config.To.Time(), config.From.Time())
	}
	if err := counting.checkCounting(); err != nil {
		return RankStats{}, err
	}
	if config.By == 0 {
		config.By = math.MaxInt64
	}
	plans := plansOf(config.Types)
	if config.Board.Type != "" {
		plan, err := narrowPlan(config.Board, config.Dimensions)
		if err != nil {
			return RankStats{}, err
		}
		counting.Types, plans = nil, [][]boardPlan{{plan}}
	}
	var inputs []hourInput
	for _, hour := range view.Hours() {
		if hour.Add(hourLength) <= config.From || hour >= config.To {
			continue
		}
		in, err := inputOf(view, hour, config.By, config.Edge)
		if err != nil {
			return RankStats{}, err
		}
		if len(in.own) > 0 {
			inputs = append(inputs, in)
		}
	}
	c, err := newCounter(counting, config.Dir).begin(plans, len(inputs))
	if err != nil {
		return RankStats{}, err
	}
	err = c.rank(ctx, inputs, rowFilter{from: config.From, to: config.To, cut: config.By}, visit)
	s := c.stats
	return RankStats{s.rows, s.weight, s.duplicates, s.items, s.boards}, errors.Join(err, c.close())
}

func (c *counting) rank(ctx context.Context, inputs []hourInput, filter rowFilter, visit func(counts.Row) error) error {
	for _, in := range inputs {
		if err := c.add(ctx, &in, filter); err != nil {
			return err
		}
	}
	return c.write(ctx, visit, func(counts.Late) error { return nil })
}

// narrowPlan returns the plan of one board.
func narrowPlan(board crest.Board, dimensions []string) (boardPlan, error) {
	p := boardPlan{typ: board.Type}
	for _, n := range board.Narrow {
		d := slices.Index(dimensions, n.Dimension)
		if d < 0 || n.Value == "" || len(p.dimensions) == crest.MaxDimensions {
			return boardPlan{}, crest.Errorf(crest.CodeUnknownBoard, "board", "%q: %q is no dimension of the archive", board, n.Dimension)
		}
		p.dimensions = append(p.dimensions, d)
		p.want = append(p.want, n.Value)
	}
	return p, nil
}
