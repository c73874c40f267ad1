package exact

import (
	"context"
	"encoding/binary"

	"github.com/parquet-go/parquet-go"

	"crest"
	"crest/internal/archive"
)

// id is an event's id as two numbers.
type id struct{ a, b uint64 }

const idBytes = 16

func idAt(b []byte) id {
	_ = b[idBytes-1]
	return id{binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])}
}

// side says where rows come from.
type side int

const (
	sideOwn side = iota
	sideBefore
	sideAfter
)

// idSegment is a run of rows of one unit, of which all columns that were asked for are at hand.
type idSegment struct {
	side     side
	first    int64 // number of its first row
	rows     int
	ids      []byte
	time     []int64 // nil when nobody needs it
	received []int64 // nil likewise
	limited  bool
	only     []int32 // rows that take part, when it is limited
}

func (s *idSegment) len() int {
	if s.limited {
		return len(s.only)
	}
	return s.rows
}

// row returns the i-th row that takes part.
func (s *idSegment) row(i int) int {
	if s.limited {
		return int(s.only[i])
	}
	return i
}

func (s *idSegment) id(row int) id { return idAt(s.ids[row*idBytes:]) }

// scan reads the ids of the hour and of its neighbours' rows at the edges, or else of the hour's own rows at the edges, and
// calls visit for each segment, on several goroutines. Rows received from the cut on are left out.
func (d *dedup) scan(ctx context.Context, everything bool, visit func(*idScratch, *idSegment) error) error {
	low, lowEnd, highStart, high := d.in.edges()
	type job struct {
		unit *unit
		side side
	}
	var jobs []job
	for i := range d.files.own {
		u := &d.files.own[i]
		if everything || u.time.First < lowEnd && len(d.files.before) > 0 || u.time.Last >= highStart && len(d.files.after) > 0 {
			jobs = append(jobs, job{u, sideOwn})
		}
	}
	if everything {
		for i := range d.files.before {
			jobs = append(jobs, job{&d.files.before[i], sideBefore})
		}
		for i := range d.files.after {
			jobs = append(jobs, job{&d.files.after[i], sideAfter})
		}
	}
	return each(ctx, d.workers, len(jobs), func(ctx context.Context, worker, i int) error {
		j := jobs[i]
		defer d.step()
		r, err := openIDs(j.unit, !everything || j.side != sideOwn, d.in.cut)
		if err != nil {
			return err
		}
		defer r.close()
		w := d.scratch[worker]
		for {
			if err := ctx.Err(); err != nil {
				return err
			}
			s, err := r.segment()
			if s == nil || err != nil {
				return err
			}
			s.side = j.side
			switch j.side {
			case sideBefore:
				s.limit(w, d.in.cut, low, d.in.hour)
			case sideAfter:
				s.limit(w, d.in.cut, d.in.end(), high)
			case sideOwn:
				s.limit(w, d.in.cut, d.in.hour, d.in.end())
			}
			if err := visit(w, s); err != nil {
				return err
			}
		}
	})
}

// limit leaves out rows that were received from the cut on, or lie outside [from, to), as far as the columns are read.
func (s *idSegment) limit(w *idScratch, cut, from, to crest.Millis) {
	if s.received == nil {
		return
	}
	w.rows = w.rows[:0]
	for i, received := range s.received {
		if crest.Millis(received) >= cut {
			continue
		}
		if s.time != nil && (crest.Millis(s.time[i]) < from || crest.Millis(s.time[i]) >= to) {
			continue
		}
		w.rows = append(w.rows, int32(i))
	}
	s.limited, s.only = true, w.rows
}

// idReader reads a unit's ids, and times where they matter.
type idReader struct {
	unitReader
	id       *column
	time     *column   // nil when it doesn't matter
	received *column   // nil likewise
	last     idSegment // that was returned
}

// openIDs begins to read a unit. Received times are read when rows may have come after the cut.
func openIDs(u *unit, times bool, cut crest.Millis) (*idReader, error) {
	r := &idReader{unitReader: unitReader{unit: u}}
	var err error
	if r.id, err = r.open(parquet.FixedLenByteArray, archive.ColumnID); err != nil {
		return nil, err
	}
	if times || u.received.Last >= cut {
		if r.received, err = r.open(parquet.Int64, archive.ColumnReceived); err != nil {
			return nil, err
		}
	}
	if times {
		if r.time, err = r.open(parquet.Int64, archive.ColumnTime); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// segment returns the next rows; nil at the end. They are valid until the next call.
func (r *idReader) segment() (*idSegment, error) {
	first := r.unit.first + r.rows
	n, err := r.next()
	if n == 0 || err != nil {
		return nil, err
	}
	s := idSegment{first: first, rows: n, ids: r.id.ids[r.id.at*idBytes : (r.id.at+n)*idBytes]}
	if r.time != nil {
		s.time = r.time.longs[r.time.at : r.time.at+n]
	}
	if r.received != nil {
		s.received = r.received.longs[r.received.at : r.received.at+n]
	}
	r.last = s
	return &r.last, nil
}
