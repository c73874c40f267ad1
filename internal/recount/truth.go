package recount

import (
	"context"
	"errors"

	"crest"
	"crest/internal/archive"
	"crest/internal/counts"
	"crest/internal/exact"
	"crest/internal/grade"
)

// TruthOf returns what lists are graded against: the exact counts of a snapshot, and for windows that are no whole hours the
// archive that they were made from.
func TruthOf(s *exact.Snapshot, config exact.Config) grade.Truth { return truth{s, config} }

type truth struct {
	*exact.Snapshot
	config exact.Config
}

// maxReads is how often a count of the archive begins anew because the writer has replaced a file meanwhile.
const maxReads = 5

// Rank counts events of [from, asOf) that were received before asOf.
func (t truth) Rank(ctx context.Context, from, asOf crest.Millis, each func(counts.Row) error) error {
	for read := 1; ; read++ {
		view, err := archive.Read(t.config.Archive)
		if err != nil {
			return err
		}
		counted := false
		_, err = exact.Rank(ctx, view, exact.RankConfig{
			Types: t.config.Types, Dimensions: t.config.Dimensions, From: from, To: asOf, By: asOf,
			Edge: t.config.Edge, Memory: t.config.Memory, Workers: t.config.Workers, Dir: t.config.Dir,
		}, func(r counts.Row) error {
			counted = true
			return each(r)
		})
		if !errors.Is(err, archive.ErrReplaced) || counted || read == maxReads {
			return err
		}
	}
}
