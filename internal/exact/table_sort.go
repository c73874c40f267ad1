package exact

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"slices"
)

// ref is a record that is to be sorted: what orders most of them, and where it is.
type ref struct {
	prefix uint64 // of the item
	rank   uint32 // of the board
	place  uint32
}

// prefixOf returns an item's first eight bytes as a number that orders as they do.
func prefixOf(item []byte) uint64 {
	if len(item) >= 8 {
		return binary.BigEndian.Uint64(item)
	}
	var b [8]byte
	copy(b[:], item)
	return binary.BigEndian.Uint64(b[:])
}

// sort orders the records of each partition by board, as ranks say, item and slot. Nothing can be added until reset.
func (t *table) sort(ctx context.Context, workers int, ranks []uint32) error {
	scratch := make([][]ref, workers)
	return each(ctx, workers, len(t.parts), func(_ context.Context, worker, i int) error {
		scratch[worker] = t.sortPart(&t.parts[i], scratch[worker][:0], ranks)
		return nil
	})
}

// sortPart puts the places of a partition's records, in order, into the front of its index.
func (t *table) sortPart(p *partition, refs []ref, ranks []uint32) []ref {
	refs = slices.Grow(refs, p.used)
	for s := range p.slots {
		if x := *t.slot(p, s); x != 0 {
			r := t.at(p, x)
			refs = append(refs, ref{prefixOf(r.item), ranks[r.board], x})
		}
	}
	slices.SortFunc(refs, func(a, b ref) int {
		switch {
		case a.rank != b.rank:
			return cmp.Compare(a.rank, b.rank)
		case a.prefix != b.prefix:
			return cmp.Compare(a.prefix, b.prefix)
		}
		x, y := t.at(p, a.place), t.at(p, b.place)
		if c := bytes.Compare(x.item, y.item); c != 0 {
			return c
		}
		return cmp.Compare(x.slot, y.slot)
	})
	for s, r := range refs {
		*t.slot(p, s) = r.place
	}
	return refs
}
