package exact

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"crest"
	"crest/internal/archive"
)

// hourInput is all that decides an hour's count, apart from the boards.
type hourInput struct {
	hour   crest.Millis
	cut    crest.Millis // rows received from then on don't take part
	edge   time.Duration
	own    []source // the hour's files, in the order of their rows
	before []source // files of the hour before that may have rows within edge of the hour's start
	after  []source // files of the hour after that may have rows within edge of the hour's end
}

// source is one file of the archive.
type source struct {
	hour crest.Millis // of its rows
	path string       // for errors
	file archive.File
	open func() (*parquet.File, io.Closer, error) // verifies the file
}

// end returns the moment at which the hour ends.
func (in *hourInput) end() crest.Millis { return in.hour.Add(hourLength) }

// edges returns the borders of the stretches in which rows of two hours are compared: [low, start) and [start, lowEnd) at
// the hour's start, [highStart, end) and [end, high) at its end.
func (in *hourInput) edges() (low, lowEnd, highStart, high crest.Millis) {
	return in.hour.Add(-in.edge), in.hour.Add(in.edge), in.end().Add(-in.edge), in.end().Add(in.edge)
}

// inputOf lists the files that take part in the count of an hour with a cut. The same input gives the same count.
func inputOf(view *archive.View, hour, cut crest.Millis, edge time.Duration) (hourInput, error) {
	in := hourInput{hour: hour, cut: cut, edge: edge}
	low, _, _, high := in.edges()
	var err error
	if in.own, err = sourcesOf(view, hour, cut, nil); err != nil {
		return hourInput{}, err
	}
	if len(in.own) == 0 || edge == 0 {
		return in, nil
	}
	in.before, err = sourcesOf(view, hour.Add(-hourLength), cut, func(f archive.File) bool { return f.Time.Last >= low })
	if err != nil {
		return hourInput{}, err
	}
	in.after, err = sourcesOf(view, in.end(), cut, func(f archive.File) bool { return f.Time.First < high })
	return in, err
}

// sourcesOf returns an hour's files that have rows received before cut, and that filter, when there is one, keeps.
func sourcesOf(view *archive.View, hour, cut crest.Millis, filter func(archive.File) bool) ([]source, error) {
	h, err := view.Hour(hour)
	if err != nil {
		return nil, err
	}
	var sources []source
	for _, f := range h.Files {
		if f.Received.First >= cut || filter != nil && !filter(f) {
			continue
		}
		sources = append(sources, source{hour: hour, path: view.Path(hour, f), file: f, open: func() (*parquet.File, io.Closer, error) {
			return view.OpenFile(hour, f)
		}})
	}
	return sources, nil
}

// hourFiles are the opened files of an hourInput, in units of work.
type hourFiles struct {
	own     []unit
	before  []unit
	after   []unit
	rows    int64 // of own
	closers []io.Closer
}

// unit is a row group: what one worker reads at a time.
type unit struct {
	name     string // of the file, for errors
	file     *parquet.File
	group    parquet.RowGroup
	rows     int64
	first    int64 // number of its first row, counted over the hour's own units
	time     archive.Span
	received archive.Span
}

// openHour opens and verifies all files of an hour, several at once.
func openHour(ctx context.Context, workers int, in *hourInput) (*hourFiles, error) {
	sources := slices.Concat(in.own, in.before, in.after)
	unitsBySource := make([][]unit, len(sources))
	closers := make([]io.Closer, len(sources))
	h := &hourFiles{}
	err := each(ctx, workers, len(sources), func(_ context.Context, _, i int) error {
		file, closer, err := sources[i].open()
		if err != nil {
			return err
		}
		closers[i] = closer
		unitsBySource[i], err = examineFile(sources[i], file)
		return err
	})
	for _, c := range closers {
		if c != nil {
			h.closers = append(h.closers, c)
		}
	}
	if err != nil {
		return nil, errors.Join(err, h.close())
	}
	low, _, _, high := in.edges()
	for i, units := range unitsBySource {
		switch {
		case i < len(in.own):
			for _, u := range units {
				if u.received.First >= in.cut {
					continue
				}
				u.first = h.rows
				h.rows += u.rows
				h.own = append(h.own, u)
			}
		case i < len(in.own)+len(in.before):
			h.before = append(h.before, slices.DeleteFunc(units, func(u unit) bool {
				return u.received.First >= in.cut || u.time.Last < low
			})...)
		default:
			h.after = append(h.after, slices.DeleteFunc(units, func(u unit) bool {
				return u.received.First >= in.cut || u.time.First >= high
			})...)
		}
	}
	return h, nil
}

// examineFile returns the units of a file. The library may panic on bytes that are not what they should be.
func examineFile(s source, f *parquet.File) (units []unit, err error) {
	defer func() {
		if r := recover(); r != nil {
			units, err = nil, &archive.CorruptError{Path: s.path, Reason: fmt.Sprint(r)}
		}
	}()
	if err := checkCodecs(s.path, f); err != nil {
		return nil, err
	}
	return unitsOf(s, f), nil
}

// checkCodecs refuses compression that no archive uses: not every decoder of the library takes bounded memory whatever the
// bytes are.
func checkCodecs(path string, f *parquet.File) error {
	for _, g := range f.Metadata().RowGroups {
		for _, c := range g.Columns {
			if codec := c.MetaData.Codec; codec != format.Zstd && codec != format.Uncompressed {
				return &archive.CorruptError{Path: path, Reason: fmt.Sprintf("it is compressed as %s", codec)}
			}
		}
	}
	return nil
}

func (h *hourFiles) close() error {
	var errs []error
	for _, c := range h.closers {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

// all returns how many rows of the hour and its neighbours have to be looked at.
func (h *hourFiles) all() int64 {
	n := h.rows
	for _, u := range h.before {
		n += u.rows
	}
	for _, u := range h.after {
		n += u.rows
	}
	return n
}

// unitsOf returns a file's row groups, with what their statistics say of their rows, or else what the manifest says of the
// whole file.
func unitsOf(s source, f *parquet.File) []unit {
	var units []unit
	for _, g := range f.RowGroups() {
		if g.NumRows() == 0 {
			continue
		}
		units = append(units, unit{
			name: s.path, file: f, group: g, rows: g.NumRows(),
			time:     boundsOf(f, g, archive.ColumnTime, s.file.Time),
			received: boundsOf(f, g, archive.ColumnReceived, s.file.Received),
		})
	}
	return units
}

func boundsOf(f *parquet.File, g parquet.RowGroup, column string, whole archive.Span) archive.Span {
	leaf, ok := f.Schema().Lookup(column)
	if !ok {
		return whole // reading the column will say so
	}
	chunk, ok := g.ColumnChunks()[leaf.ColumnIndex].(*parquet.FileColumnChunk)
	if !ok {
		return whole
	}
	low, high, ok := chunk.Bounds()
	if !ok || low.Kind() != parquet.Int64 || high.Kind() != parquet.Int64 {
		return whole
	}
	return archive.Span{
		First: max(whole.First, crest.Millis(low.Int64())),
		Last:  min(whole.Last, crest.Millis(high.Int64())),
	}
}
