package grade

import (
	"context"
	"errors"
	"slices"
	"time"

	"crest"
	"crest/internal/list"
)

// Lists is where lists are published and found; a list store is one.
type Lists interface {
	Publish(lists []crest.List)
	Current(board, window string) *list.Published
}

// SamplerConfig says where samples go.
type SamplerConfig struct {
	Dir      string // of the grades
	MaxBytes int64  // most that all samples may take; 1 GiB when 0. The oldest make room
	Lost     func(asOf crest.Millis, lists int, err error)
}

// Sampler stands before a list store, and keeps on disk what is published as of the end of an hour, until it has been
// graded. Publishing never waits for the disk.
type Sampler struct {
	cfg   SamplerConfig
	lists Lists
	queue chan []crest.List // copies of lists of an hour's end
}

// maxQueued is how many refreshes may wait for the disk. All windows of an hour's end are one, or one each.
const maxQueued = 32

// NewSampler returns a sampler in front of lists.
func NewSampler(lists Lists, cfg SamplerConfig) *Sampler {
	if cfg.MaxBytes == 0 {
		cfg.MaxBytes = 1 << 30
	}
	return &Sampler{cfg: cfg, lists: lists, queue: make(chan []crest.List, maxQueued)}
}

// Current is that of the lists behind.
func (s *Sampler) Current(board, window string) *list.Published {
	return s.lists.Current(board, window)
}

// Publish passes lists on, and leaves those that will be graded to Run. When so many wait that there is no more room,
// they are lost, and that is told.
func (s *Sampler) Publish(lists []crest.List) {
	var sampled []crest.List
	for i := range lists {
		if isSampled(&lists[i]) {
			sampled = append(sampled, lists[i]) // the store may mark its own stale
		}
	}
	s.lists.Publish(lists)
	if len(sampled) == 0 {
		return
	}
	select {
	case s.queue <- sampled:
	default:
		s.lost(sampled[0].AsOf, len(sampled), errors.New("too many samples wait for the disk"))
	}
}

// isSampled reports whether a list will be graded: it is as of an hour's end, and has estimates. What is exact throughout is
// made of the very counts that it would be compared with.
func isSampled(l *crest.List) bool {
	return l.AsOf > 0 && l.AsOf == l.AsOf.Floor(time.Hour) && l.ExactUntil < l.AsOf
}

// Run writes samples until ctx is done, and then those that wait. It must be called once at most. It returns nil: a
// sample that is lost is told, and costs a grade, no list.
func (s *Sampler) Run(ctx context.Context) error {
	for {
		select {
		case lists := <-s.queue:
			s.write(lists)
		case <-ctx.Done():
			return s.drain()
		}
	}
}

func (s *Sampler) drain() error {
	for {
		select {
		case lists := <-s.queue:
			s.write(lists)
		default:
			return nil
		}
	}
}

// write keeps the lists of one refresh, a file for each moment and window.
func (s *Sampler) write(lists []crest.List) {
	type sample struct {
		asOf   crest.Millis
		window string
	}
	byFile := map[sample][]crest.List{}
	var order []sample
	newest := crest.Millis(0)
	for _, l := range lists {
		to := sample{l.AsOf, l.Window}
		if !slices.Contains(order, to) {
			order = append(order, to)
		}
		byFile[to] = append(byFile[to], l)
		newest = max(newest, l.AsOf)
	}
	for _, to := range order {
		if err := writeSamples(s.cfg.Dir, to.asOf, to.window, byFile[to]); err != nil {
			s.lost(to.asOf, len(byFile[to]), err)
		}
	}
	if err := pruneSamples(s.cfg.Dir, newest, s.cfg.MaxBytes); err != nil {
		s.lost(newest, 0, err)
	}
}

func (s *Sampler) lost(asOf crest.Millis, lists int, err error) {
	if s.cfg.Lost != nil {
		s.cfg.Lost(asOf, lists, err)
	}
}
