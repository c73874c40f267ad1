package exact

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"sync/atomic"

	"crest"
)

// dropped is a bit for each of an hour's rows: set when another row of the same id was first.
type dropped []uint64

func (d dropped) has(row int64) bool { return d[row>>6]>>(uint(row)&63)&1 != 0 }

// dedup finds the rows of an hour whose ids were there before.
//
// Ids are far more than fit in the memory, and few of them come twice. So a table of 16 bits of each id's hash finds those
// that may have (a few come in by chance), in as many passes over ranges of hashes as it needs. These candidates alone
// are kept whole, and in another pass over the ids each is decided: its first row stays.
//
// The hash depends on a secret, so that nobody can make ids that meet in the table. What is dropped does not depend on it.
type dedup struct {
	files   *hourFiles
	in      *hourInput
	region  *region
	workers int
	secret  [2]uint64
	scratch []*idScratch // per worker
	step    func()       // after each unit; for progress

	rows       dropped
	seen       fingerprints
	candidates candidates
}

// hashRange is one of equal parts of all hashes.
type hashRange struct{ part, parts uint64 }

// idScratch is what a worker finds in a unit.
type idScratch struct {
	rows  []int32 // of a segment, that take part
	hits  []id
	probe [idBatch]probe
	touch uint32 // what was read ahead; kept so that reading is not for nothing
}

// idBatch is how many ids are looked up at a time: enough for their accesses to memory to overlap.
const idBatch = 64

// errFull says that a table is too small for a range of hashes. It is not seen outside.
var errFull = errors.New("table is full")

const (
	candidatesPer = 8    // rows for each place in the table of candidates, at most
	minCandidates = 1024 // places
	maxParts      = 1 << 40
)

// find returns the bits of the dropped rows, which live in the region.
func (d *dedup) find(ctx context.Context) (dropped, error) {
	d.rows = takeSlice[uint64](d.region, int((d.files.rows+63)/64))
	if d.rows == nil && d.files.rows > 0 {
		return nil, d.tooSmall()
	}
	defer d.region.give(d.region.mark())
	if err := d.plan(); err != nil {
		return nil, err
	}
	var ranges []hashRange
	for parts, i := d.parts(), uint64(0); i < parts; i++ {
		ranges = append(ranges, hashRange{parts - 1 - i, parts})
	}
	for len(ranges) > 0 {
		r := ranges[len(ranges)-1]
		alone := d.candidates.count == 0
		err := d.collect(ctx, r)
		switch {
		case err == nil:
			ranges = ranges[:len(ranges)-1]
		case !errors.Is(err, errFull):
			return nil, err
		case !alone: // what has been found makes room
			if err := d.resolve(ctx); err != nil {
				return nil, err
			}
		case r.parts > maxParts:
			return nil, d.tooSmall()
		default:
			d.candidates.clear()
			ranges[len(ranges)-1] = hashRange{2*r.part + 1, 2 * r.parts}
			ranges = append(ranges, hashRange{2 * r.part, 2 * r.parts})
		}
	}
	if err := d.resolve(ctx); err != nil {
		return nil, err
	}
	return d.rows, nil
}

func (d *dedup) tooSmall() error {
	return crest.Errorf(crest.CodeOutOfRange, "memory", "is too little to count an hour of %d rows", d.files.rows)
}

// plan divides the memory between the two tables. More than one pass costs less than many divided ranges.
func (d *dedup) plan() error {
	all := d.files.all()
	d.seen.words = takeSlice[uint32](d.region, int(slotsWithin(int64(d.region.free()), all)+1)/2)
	places := min(max(all/candidatesPer, minCandidates), int64(d.region.free())/candidateBytes)
	d.candidates.places = takeSlice[candidate](d.region, int(places))
	if len(d.candidates.places) == 0 || len(d.seen.words) == 0 {
		return d.tooSmall()
	}
	return nil
}

// parts returns in how many ranges the ids are to be looked at.
func (d *dedup) parts() uint64 {
	return uint64(partsOf(d.files.all(), int64(2*len(d.seen.words))))
}

// hash is the same for equal ids, and spread over all numbers.
func (d *dedup) hash(x id) uint64 {
	high, low := bits.Mul64(x.a^d.secret[0], x.b^d.secret[1])
	h := (high ^ low) * 0x9e3779b97f4a7c15
	return h ^ h>>32
}

// collect adds the ids of a range of hashes that may be there twice to the candidates. It returns errFull when there are
// more than the tables hold.
func (d *dedup) collect(ctx context.Context, r hashRange) error {
	d.seen.clear()
	return d.scan(ctx, true, func(w *idScratch, s *idSegment) error {
		d.look(w, s, r)
		return d.candidates.add(d, w)
	})
}

// look puts the fingerprints of a segment's ids into the table and keeps the ids whose fingerprint was there.
func (d *dedup) look(w *idScratch, s *idSegment, r hashRange) {
	w.hits = w.hits[:0]
	for at := 0; at < s.len(); {
		n := 0
		touched := uint32(0)
		for ; at < s.len() && n < idBatch; at++ {
			row := s.row(at)
			h := d.hash(s.id(row))
			part, rest := bits.Mul64(h, r.parts)
			if part != r.part {
				continue
			}
			p := d.seen.probe(h, rest)
			touched |= atomic.LoadUint32(&d.seen.words[p.slot>>1])
			p.row = int32(row)
			w.probe[n] = p
			n++
		}
		w.touch = touched
		for _, p := range w.probe[:n] {
			if d.seen.insert(p) {
				w.hits = append(w.hits, s.id(int(p.row)))
			}
		}
	}
}

// resolve decides about all candidates and forgets them.
func (d *dedup) resolve(ctx context.Context) error {
	if d.candidates.count == 0 {
		return nil
	}
	d.candidates.filter.build(d, d.seen.words)
	err := d.scan(ctx, true, func(_ *idScratch, s *idSegment) error {
		d.candidates.each(d, s, func(c *candidate, row int) {
			switch s.side {
			case sideOwn:
				c.meet(d.rows, uint64(s.first)+uint64(row))
			case sideBefore:
				keepEarliest(&c.before, uint64(s.received[row]))
			case sideAfter:
				keepEarliest(&c.after, uint64(s.received[row]))
			}
		})
		return nil
	})
	if err != nil {
		return fmt.Errorf("find the first rows of ids: %w", err)
	}
	if err := d.compare(ctx); err != nil {
		return err
	}
	d.candidates.clear()
	return nil
}

// compare drops the first rows of ids that a neighbouring hour received earlier, as far as both lie within the edge.
func (d *dedup) compare(ctx context.Context) error {
	if len(d.files.before)+len(d.files.after) == 0 {
		return nil
	}
	_, lowEnd, highStart, _ := d.in.edges()
	return d.scan(ctx, false, func(_ *idScratch, s *idSegment) error {
		d.candidates.each(d, s, func(c *candidate, row int) {
			number := uint64(s.first) + uint64(row)
			if c.first != number+firstRow {
				return
			}
			received := uint64(s.received[row])
			t := crest.Millis(s.time[row])
			if c.before != 0 && t < lowEnd && c.before-1 <= received || c.after != 0 && t >= highStart && c.after-1 < received {
				set(d.rows, number)
			}
		})
		return nil
	})
}
