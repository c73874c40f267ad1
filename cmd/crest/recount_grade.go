package main

import (
	"context"

	"crest"
	"crest/internal/config"
	"crest/internal/exact"
	"crest/internal/grade"
)

// graderOf returns what grades lists after each count, and tells of every grade.
func graderOf(cfg *config.Config, exactCfg exact.Config, graded func(grade.Grade)) hourGrader {
	return &grading{grader: grade.NewGrader(graderConfig(cfg, grade.Observer{Graded: graded})), exact: exactCfg}
}

// grading grades lists against the newest exact counts.
type grading struct {
	grader *grade.Grader
	exact  exact.Config
	truth  *exact.Snapshot
}

func (g *grading) Hour(ctx context.Context, hour crest.Millis) (err error) {
	if g.truth == nil {
		g.truth, err = exact.Load(g.exact)
	} else if g.truth.Changed() {
		g.truth, err = g.truth.Next()
	}
	if err != nil {
		return err
	}
	_, err = g.grader.Hour(ctx, g.truth, hour)
	return err
}
