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
		for r.rows < j.unit.rows {
			if err := ctx.Err(); err != nil {
				return err
			}
			s, err := r.segment()
			if err != nil {
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
		return nil
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

// idReader reads a unit's ids, and times where they matter, in segments.
type idReader struct {
	unit     *unit
	id       *column
	time     *column
	received *column
	rows     int64 // that have been read
	current  int   // rows of the segment that was returned last
	segments idSegment
}

// openIDs begins to read a unit. Received times are read when rows may have come after the cut.
func openIDs(u *unit, times bool, cut crest.Millis) (*idReader, error) {
	r := &idReader{unit: u}
	var err error
	if r.id, err = openColumn(u, parquet.FixedLenByteArray, archive.ColumnID); err != nil {
		return nil, err
	}
	if times || u.received.Last >= cut {
		if r.received, err = openColumn(u, parquet.Int64, archive.ColumnReceived); err != nil {
			return nil, err
		}
	}
	if times {
		if r.time, err = openColumn(u, parquet.Int64, archive.ColumnTime); err != nil {
			return nil, err
		}
	}
	return r, nil
}

func (r *idReader) columns() []*column { return []*column{r.id, r.time, r.received} }

// segment returns the next rows, as many as all columns have at hand. It is valid until the next call.
func (r *idReader) segment() (*idSegment, error) {
	n := int(min(r.unit.rows-r.rows, segmentRows))
	for _, c := range r.columns() {
		if c == nil {
			continue
		}
		c.use(r.current)
		if err := c.fill(); err != nil {
			return nil, err
		}
		n = min(n, c.left)
	}
	s := idSegment{first: r.unit.first + r.rows, rows: n, ids: r.id.ids[r.id.at*idBytes : (r.id.at+n)*idBytes]}
	if r.time != nil {
		s.time = r.time.longs[r.time.at : r.time.at+n]
	}
	if r.received != nil {
		s.received = r.received.longs[r.received.at : r.received.at+n]
	}
	r.rows += int64(n)
	r.current = n
	r.segments = s
	return &r.segments, nil
}

func (r *idReader) close() {
	for _, c := range r.columns() {
		if c != nil {
			c.close()
		}
	}
}
