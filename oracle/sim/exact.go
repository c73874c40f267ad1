package sim

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"time"

	"crest"
	"crest/internal/archive"
	"crest/internal/config"
	"crest/internal/exact"
	"crest/internal/grade"
	"crest/internal/recount"
)

// exactPath is the exact path of a node.
type exactPath struct {
	archive *archive.Writer
	runner  *recount.Runner
	sampler *grade.Sampler
	wrong   func(format string, args ...any)

	committed chan struct{} // gets something when the archive has been committed
	counts    int           // of hours
	again     int           // of these, of hours that had been counted before
}

// openExact opens the exact path of a data directory.
func openExact(cfg *config.Config, shelf *shelf, wrong func(string, ...any)) (*exactPath, error) {
	x := &exactPath{wrong: wrong, committed: make(chan struct{}, 1)}
	var err error
	x.archive, err = archive.Open(archive.Config{
		Dir: recount.ArchiveDir(cfg), Retain: cfg.Archive.Retain, Dimensions: cfg.DimensionNames(),
		Observer: archive.Observer{
			Skipped: func(err error) { wrong("the archive skipped something: %v", err) },
			Failed:  func(err error, _ time.Duration) { wrong("writing the archive failed: %v", err) },
			Committed: func(archive.Commit) {
				select {
				case x.committed <- struct{}{}:
				default:
				}
			},
		},
	})
	if err != nil {
		return nil, err
	}
	grades := filepath.Join(cfg.Data, "grades")
	x.sampler = grade.NewSampler(shelf, grade.SamplerConfig{
		Dir: grades, Lost: func(asOf crest.Millis, lists int, err error) {
			wrong("%d samples as of %s are lost: %v", lists, asOf.Time(), err)
		},
	})
	grading := grade.Config{Dir: grades, Windows: cfg.Windows, Observer: grade.Observer{
		Corrupt: func(name string, err error) { wrong("grading: %s: %v", name, err) },
	}}
	for _, t := range cfg.Types {
		grading.Boards = append(grading.Boards, t.Name)
	}
	x.runner, err = recount.New(recount.Options{
		Exact: recount.ConfigOf(cfg), Archived: x.archive.Watermark, Grader: grade.NewGrader(grading),
		Observer: recount.Observer{
			Exact:  exact.Observer{Problem: func(p exact.Problem) { wrong("the recount met a problem: %v", p) }},
			Round:  x.round,
			Failed: func(err error) { wrong("the recount failed: %v", err) },
		},
	})
	if err != nil {
		return nil, errors.Join(err, x.archive.Close())
	}
	return x, nil
}

// close closes what is there.
func (x *exactPath) close() error {
	if x == nil {
		return nil
	}
	return errors.Join(x.runner.Snapshot().Close(), x.archive.Close())
}

func (x *exactPath) round(r exact.Result, _ time.Duration) {
	for _, h := range r.Counted {
		x.counts++
		if h.Reason != exact.ReasonClosed {
			x.again++
		}
	}
	for _, p := range r.Repaired {
		x.wrong("the recount repaired %s", p)
	}
}

// cuts returns up to which received time the hours' exact counts go. Of an hour that is exact and not named, everything that
// can come has been counted.
func (x *exactPath) cuts() cuts {
	named := map[crest.Millis]crest.Millis{}
	for _, c := range x.runner.Exact().Cuts(0) {
		named[c.Hour] = c.Received
	}
	return func(hour crest.Millis) crest.Millis {
		if cut, ok := named[hour]; ok {
			return cut
		}
		return math.MaxInt64
	}
}

// archived waits until the archive has everything received before t, which begins a slot.
func (n *node) archived(ctx context.Context, t crest.Millis) error {
	return n.await(ctx, fmt.Sprint("the archive to reach ", t.Time()), func() (bool, <-chan struct{}) {
		return n.exact.archive.Watermark() >= t, n.exact.committed
	})
}
