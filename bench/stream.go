package bench

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"unsafe"
)

// Kind is the shape of a stream.
type Kind string

// The streams. Late and spam each break a structure that does well on a plain one.
const (
	Plain    Kind = "plain"     // Zipf all along
	Late     Kind = "late"      // from half way on, other ids are the frequent ones
	Spam     Kind = "spam"      // plain, with ids that come once scattered over it
	LateSpam Kind = "late+spam" // both
)

// Kinds returns the streams that the comparison uses.
func Kinds() []Kind { return []Kind{Plain, Late, Spam, LateSpam} }

// Spec says how large a stream is.
type Spec struct {
	IDs     int     // distinct ids that the Zipf part draws from
	Updates int     // updates of the Zipf part
	Spam    int     // ids that come once, for the kinds that have them
	Skew    float64 // exponent of the Zipf distribution, above 1
	Seed    uint64
}

// FullSize is the size of the published comparison.
func FullSize() Spec {
	return Spec{IDs: 5_000_000, Updates: 20_000_000, Spam: 10_000_000, Skew: 1.05, Seed: 1}
}

// Stream is a sequence of keys and the exact count of each.
type Stream struct {
	Kind  Kind
	keys  string   // all keys in order, keyBytes each, as a decoded batch would have them in memory
	truth []uint32 // by id
}

// NewStream generates a stream; equal arguments give an equal stream.
func NewStream(kind Kind, spec Spec) (*Stream, error) {
	if spec.IDs < 1 || spec.Updates < 1 || spec.Spam < 0 || spec.Skew <= 1 || spec.IDs+spec.Spam > 1<<31 {
		return nil, fmt.Errorf("stream %s: size %+v makes no sense", kind, spec)
	}
	late := kind == Late || kind == LateSpam
	spam := 0
	if kind == Spam || kind == LateSpam {
		spam = spec.Spam
	}
	r := rand.New(rand.NewPCG(spec.Seed, uint64(spec.IDs)))
	zipf := rand.NewZipf(r, spec.Skew, 1, uint64(spec.IDs-1))
	other := otherOrder(spec.IDs, r)

	total := spec.Updates + spam
	s := &Stream{Kind: kind, truth: make([]uint32, spec.IDs+spam)}
	keys := make([]byte, 0, total*keyBytes)
	drawn, spammed := 0, 0
	for drawn+spammed < total {
		var id uint32
		if r.IntN(total-drawn-spammed) < spam-spammed {
			id = uint32(spec.IDs + spammed)
			spammed++
		} else {
			id = uint32(zipf.Uint64())
			if late && drawn >= spec.Updates/2 {
				id = other[id]
			}
			drawn++
		}
		s.truth[id]++
		keys = appendKey(keys, id)
	}
	s.keys = unsafe.String(unsafe.SliceData(keys), len(keys)) //nolint:gosec // keys is not written to again
	return s, nil
}

// otherOrder returns which id takes the place of which in the second half of a late stream.
func otherOrder(ids int, r *rand.Rand) []uint32 {
	order := make([]uint32, ids)
	for i, id := range r.Perm(ids) {
		order[i] = uint32(id)
	}
	return order
}

// Len returns the number of updates.
func (s *Stream) Len() int { return len(s.keys) / keyBytes }

// Batches returns consecutive keys, size at a time. The slice is reused.
func (s *Stream) Batches(size int) iter.Seq[[]string] {
	return func(yield func([]string) bool) {
		batch := make([]string, 0, size)
		for at := 0; at < len(s.keys); at += keyBytes {
			batch = append(batch, s.keys[at:at+keyBytes])
			if len(batch) < size && at+keyBytes < len(s.keys) {
				continue
			}
			if !yield(batch) {
				return
			}
			batch = batch[:0]
		}
	}
}

// Truth returns how often key was in the stream.
func (s *Stream) Truth(key string) uint64 {
	id, ok := keyID(key)
	if !ok || int(id) >= len(s.truth) {
		return 0
	}
	return uint64(s.truth[id])
}

// Distinct returns the number of different keys.
func (s *Stream) Distinct() int {
	n := 0
	for _, c := range s.truth {
		if c > 0 {
			n++
		}
	}
	return n
}

// Threshold returns the count of the k-th most frequent key: whatever has at least as many belongs in a top k.
func (s *Stream) Threshold(k int) uint64 {
	counts := slices.Clone(s.truth)
	slices.Sort(counts)
	if k > len(counts) {
		return 0
	}
	return uint64(counts[len(counts)-k])
}
