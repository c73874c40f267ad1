package main

import (
	"context"
	"net/http"
	"path/filepath"
	"time"

	"crest"
	"crest/internal/archive"
	"crest/internal/config"
	"crest/internal/explain"
	"crest/internal/grade"
	"crest/internal/httpapi"
	"crest/internal/recount"
)

// exactPath is what a node has of the exact path: the archive, the recount, and the grades.
type exactPath struct {
	archive *archive.Writer
	sampler *grade.Sampler
	runner  *recount.Runner
}

func gradesDir(cfg *config.Config) string { return filepath.Join(cfg.Data, "grades") }

// openExact opens the archive for writing.
func (n *node) openExact() (*exactPath, error) {
	w, err := archive.Open(archive.Config{
		Dir: recount.ArchiveDir(n.config), Dimensions: n.config.DimensionNames(), Retain: n.config.Archive.Retain, Observer: n.observeArchive(),
	})
	if err != nil {
		return nil, err
	}
	sampler := grade.NewSampler(n.lists, grade.SamplerConfig{Dir: gradesDir(n.config), Lost: n.observeLostSample})
	return &exactPath{archive: w, sampler: sampler}, nil
}

// load brings back what has been counted exactly.
func (x *exactPath) load(n *node) (err error) {
	settings := recount.ConfigOf(n.config)
	settings.Workers = max(1, n.processors/2) // counting what comes goes first
	x.runner, err = recount.New(recount.Options{
		Exact:    settings,
		Archived: x.archive.Watermark,
		Lists: &recount.Lists{
			Config: n.config, Store: n.lists, Titles: n.titles(), Now: func() crest.Millis { return crest.MillisOf(time.Now()) },
		},
		Grader:   grade.NewGrader(graderConfig(n.config, n.observeGrades())),
		Observer: n.observeRecount(),
	})
	return err
}

// graderConfig returns which lists are graded: those of all windows, at least on the boards of the types.
func graderConfig(cfg *config.Config, observer grade.Observer) grade.Config {
	c := grade.Config{Dir: gradesDir(cfg), Windows: cfg.Windows, Observer: observer}
	for _, t := range cfg.Types {
		c.Boards = append(c.Boards, t.Name)
	}
	return c
}

// parts are running parts that stop one after the other.
type parts []part

func (ps parts) stop() {
	for _, p := range ps {
		p.stop()
	}
}

// start runs the archive, the sampler and the recount, which stop in this order: everything that was accepted is archived.
// None of them failing ends the node: lists go on.
func (x *exactPath) start(n *node, failed chan<- error) parts {
	if x == nil {
		return nil
	}
	archiving := func(ctx context.Context) error {
		if err := x.archive.Run(ctx, n.log); err != nil {
			n.metrics.set("crest_archive_up", 0)
			n.logger.Error("archiving has ended; the log keeps what is not archived, within its limits", "err", err)
		}
		return nil
	}
	n.metrics.set("crest_archive_up", 1)
	return parts{
		n.start(context.Background(), failed, archiving),
		n.start(context.Background(), failed, x.sampler.Run),
		n.start(context.Background(), failed, x.runner.Run),
	}
}

// operatorsExact adds what the operator's endpoints offer of the exact path.
func (n *node) operatorsExact(mux *http.ServeMux) {
	e := httpapi.ExactAdmin{Config: n.config, Explainer: n}
	if n.exact != nil {
		e.Archive = n.exact.archive
	}
	httpapi.ExactRoutes(mux, e)
}

// Explain says what is known of an item on a board: what counting has, and the exact counts of its newest hours.
func (n *node) Explain(ctx context.Context, board crest.Board, item string) (explain.Explanation, error) {
	if err := n.whyNotReady(); err != nil {
		return explain.Explanation{}, crest.Errorf(crest.CodeNotReady, "", "%v", err)
	}
	x, err := n.counter.Explain(ctx, board, item)
	if err != nil || x.Exact == nil {
		return x, err
	}
	s := n.exact.runner.Snapshot()
	if s == nil {
		return x, nil
	}
	for i := range x.Exact.Hours {
		hour := &x.Exact.Hours[i]
		info, ok := s.Hour(crest.Millis(hour.Start))
		if !ok {
			continue
		}
		rows, err := s.HourCounts(info.Hour, board.String(), []string{item})
		if err != nil {
			return x, err
		}
		hour.Cut, hour.Count, hour.Duplicates = explain.Moment(info.Cut), rows[0].Count, rows[0].Duplicates
	}
	return x, nil
}
