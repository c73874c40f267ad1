package exact

import (
	"context"
	"errors"
	"math"
	"runtime"
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
	if err := config.validate(); err != nil {
		return RankStats{}, err
	}
	if config.By == 0 {
		config.By = math.MaxInt64
	}
	types := config.Types
	plans := plansOf(types)
	if config.Board.Type != "" {
		plan, err := narrowPlan(config.Board, config.Dimensions)
		if err != nil {
			return RankStats{}, err
		}
		types, plans = nil, [][]boardPlan{{plan}}
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
	counter := newCounter(Config{
		Types: types, Dimensions: config.Dimensions, Memory: config.Memory, Workers: config.Workers, Observer: config.Observer,
	}, config.Dir)
	c, err := counter.begin(plans, len(inputs))
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

func (c *RankConfig) validate() error {
	if c.Memory == 0 {
		c.Memory = defaultMemory
	}
	if c.Workers == 0 {
		c.Workers = runtime.GOMAXPROCS(0)
	}
	switch {
	case c.From >= c.To:
		return crest.Errorf(crest.CodeOutOfRange, "window", "is empty: it ends at %s and begins at %s", c.To.Time(), c.From.Time())
	case c.Edge < 0 || c.Edge >= hourLength/2:
		return crest.Errorf(crest.CodeOutOfRange, "edge", "is %s; it must be less than %s", c.Edge, hourLength/2)
	case c.Memory < minMemory:
		return tooLittle(c.Memory)
	case c.Workers < 1:
		return crest.Errorf(crest.CodeOutOfRange, "workers", "are %d; at least one is needed", c.Workers)
	case len(c.Dimensions) > crest.MaxDimensions:
		return crest.Errorf(crest.CodeOutOfRange, "dimensions", "are %d; at most %d are possible", len(c.Dimensions), crest.MaxDimensions)
	}
	check := Config{Types: c.Types, Dimensions: c.Dimensions}
	return check.checkTypes()
}

// narrowPlan returns the plan of one board.
func narrowPlan(board crest.Board, dimensions []string) (boardPlan, error) {
	p := boardPlan{typ: board.Type}
	for _, n := range board.Narrow {
		d := -1
		for i, name := range dimensions {
			if name == n.Dimension {
				d = i
			}
		}
		if d < 0 || n.Value == "" || len(p.dimensions) == crest.MaxDimensions {
			return boardPlan{}, crest.Errorf(crest.CodeUnknownBoard, "board", "%q: %q is no dimension of the archive", board, n.Dimension)
		}
		p.dimensions = append(p.dimensions, d)
		p.want = append(p.want, n.Value)
	}
	return p, nil
}
