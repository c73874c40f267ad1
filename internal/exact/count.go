package exact

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"crest"
	"crest/internal/counts"
)

// counter counts hours, one at a time.
type counter struct {
	config Config
	dir    string // for what does not fit in the memory
	region int64  // bytes of it that tables may use
}

func newCounter(config Config, dir string) *counter {
	config.setDefaults()
	c := &counter{config: config, dir: dir}
	c.region, c.config.Workers = budget(config.Memory, config.Workers, narrows(config.Types))
	return c
}

// stats say what a count found.
type stats struct {
	rows       int64  // that took part, of all types
	weight     uint64 // counted, of the types that are configured
	duplicates uint64 // weight dropped as sent before, likewise
	late       uint64 // of weight, received after the hour's end
	items      int64  // over all boards
	boards     int
}

func (s *stats) add(o stats) {
	s.rows += o.rows
	s.weight += o.weight
	s.duplicates += o.duplicates
	s.late += o.late
}

// hour counts an hour: each (board, item) into out, what of it came late into late. The writers are not closed. The same input
// gives the same rows, whatever the memory and the number of workers.
func (c *counter) hour(ctx context.Context, in hourInput, out *counts.Writer, late *counts.LateWriter) (stats, error) {
	n, err := c.begin(plansOf(c.config.Types), 1)
	if err != nil {
		return stats{}, err
	}
	filter := rowFilter{from: in.hour, to: in.end(), cut: in.cut, late: in.end()}
	if err := n.add(ctx, &in, filter); err != nil {
		return stats{}, errors.Join(err, n.close())
	}
	err = n.write(ctx, out.Append, late.Append)
	return n.stats, errors.Join(err, n.close())
}

// boardPlan says which of a type's boards a row is on: the one of its values of some dimensions, if it has them all.
type boardPlan struct {
	typ        string
	dimensions []int
	want       []string // values that they must have; nil for any
	board      uint32   // its number, when there are no dimensions
}

// plansOf returns the plans of each type's boards.
func plansOf(types []TypeBoards) [][]boardPlan {
	var plans [][]boardPlan
	for _, t := range types {
		p := []boardPlan{{typ: t.Name}}
		for _, set := range t.Narrow {
			p = append(p, boardPlan{typ: t.Name, dimensions: set})
		}
		plans = append(plans, p)
	}
	return plans
}

// counting is a count at work: of one hour, or of several one after another into the same sums.
type counting struct {
	workers    int
	dimensions []string // "" for those that no board needs
	plans      [][]boardPlan
	progress   func(Progress)

	region *region
	secret [2]uint64
	table  *table
	boards *boards
	spill  spill
	stats  stats
	hour   crest.Millis // at work

	gate    sync.RWMutex // shared while rows are added, exclusive while the table is emptied
	spilled int          // how often it was
}

// begin prepares a count of a number of hours.
func (c *counter) begin(plans [][]boardPlan, hours int) (*counting, error) {
	n := &counting{
		workers: c.config.Workers, plans: plans, boards: newBoards(c.config.maxNarrow), progress: c.config.Observer.Progress, spill: spill{dir: c.dir},
	}
	if n.progress == nil {
		n.progress = func(Progress) {}
	}
	var secret [24]byte
	_, _ = rand.Read(secret[:]) // never fails
	n.secret = [2]uint64{binary.LittleEndian.Uint64(secret[:]), binary.LittleEndian.Uint64(secret[8:])}
	n.dimensions = make([]string, len(c.config.Dimensions))
	for k := range plans {
		for i := range plans[k] {
			p := &plans[k][i]
			for _, d := range p.dimensions {
				n.dimensions[d] = c.config.Dimensions[d]
			}
			if len(p.dimensions) == 0 {
				number, err := n.boards.number(crest.Board{Type: p.typ})
				if err != nil {
					return nil, err
				}
				p.board = number
			}
		}
	}
	r, err := newRegion(c.region)
	if err != nil {
		return nil, fmt.Errorf("get %d bytes of memory: %w", c.region, err)
	}
	n.region = r
	if hours > 1 {
		n.table = newTable(r.takeChunks(len(r.data)/2), binary.LittleEndian.Uint64(secret[16:]))
	}
	return n, nil
}

func (c *counting) close() error { return errors.Join(c.spill.close(), c.region.close()) }

// kind returns the number of a type; -1 when it is not counted.
func (c *counting) kind(name string) int32 {
	return int32(slices.IndexFunc(c.plans, func(p []boardPlan) bool { return p[0].typ == name }))
}

// add counts an hour's rows, as far as filter lets them through. Which of them are duplicates is decided over the whole hour.
func (c *counting) add(ctx context.Context, in *hourInput, filter rowFilter) error {
	c.hour = in.hour
	files, err := openHour(ctx, c.workers, in)
	if err != nil {
		return err
	}
	defer func() { _ = files.close() }()
	mark := c.region.mark()
	rows, err := c.dedup(ctx, in, files)
	if err != nil {
		return err
	}
	if c.table == nil {
		c.table = newTable(c.region.takeChunks(c.region.free()), c.secret[0]^c.secret[1])
	} else {
		defer c.region.give(mark)
	}
	adders := make([]*adder, c.workers)
	for i := range adders {
		adders[i] = newAdder(c)
	}
	var done atomic.Int64
	err = each(ctx, c.workers, len(files.own), func(ctx context.Context, worker, i int) error {
		err := adders[worker].unit(ctx, &files.own[i], filter, rows)
		c.progress(Progress{
			Hour: c.hour, Phase: PhaseCount, Rows: files.rows, Fraction: float64(done.Add(1)) / float64(len(files.own)),
		})
		return err
	})
	for _, a := range adders {
		c.stats.add(a.stats)
	}
	return err
}

func (c *counting) dedup(ctx context.Context, in *hourInput, files *hourFiles) (dropped, error) {
	d := &dedup{files: files, in: in, region: c.region, workers: c.workers, secret: c.secret}
	for range c.workers {
		d.scratch = append(d.scratch, &idScratch{})
	}
	var done atomic.Int64
	units := len(files.own) + len(files.before) + len(files.after)
	d.step = func() {
		all := units * (int(d.parts()) + 1) // more when a range has to be divided
		c.progress(Progress{
			Hour: c.hour, Phase: PhaseDuplicate, Rows: files.rows, Fraction: min(1, float64(done.Add(1))/float64(all)),
		})
	}
	return d.find(ctx)
}

// makeRoom spills the table, unless that has been done since the caller found it full.
func (c *counting) makeRoom(ctx context.Context, spilled int) error {
	c.gate.Lock()
	defer c.gate.Unlock()
	if c.spilled != spilled {
		return nil
	}
	if c.table.len() == 0 {
		return crest.Errorf(crest.CodeOutOfRange, "memory", "is too little to count anything")
	}
	ranks := c.boards.ranks()
	if err := c.table.sort(ctx, c.workers, ranks); err != nil {
		return err
	}
	m := &merge{ranks: ranks}
	m.addTable(c.table)
	r, err := c.spill.write(ctx, m)
	if err != nil {
		return err
	}
	c.table.reset()
	c.spill.add(r)
	c.spilled++
	return c.spill.shrink(ctx, ranks)
}
