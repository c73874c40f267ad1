package replay

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"time"

	"crest"
	"crest/client"
	"crest/internal/rows"
)

// dated is an event with its moments in the file.
type dated struct {
	event   client.Event
	time    crest.Millis
	arrived crest.Millis
	line    int64 // keeps the file's order between events of one moment
}

// layout is which wanted column is where.
type layout struct {
	wanted                                   []rows.Column
	item, arrived, id, kind, session, weight int
	times                                    []int
	dimensions                               []int
}

func newLayout(c *Config) layout {
	var l layout
	add := func(name, fallback string) int {
		l.wanted = append(l.wanted, rows.Column{Name: name, Required: name != ""})
		if name == "" {
			l.wanted[len(l.wanted)-1].Name = fallback
		}
		return len(l.wanted) - 1
	}
	l.item = add(c.Item, "")
	l.wanted[l.item].Required = true
	if c.Time != "" {
		l.times = []int{add(c.Time, "")}
	} else {
		for _, name := range []string{"ts_ms", "ts", "timestamp", "time"} {
			l.times = append(l.times, add("", name))
		}
	}
	l.arrived = -1
	if c.Arrived != "" {
		l.arrived = add(c.Arrived, "")
	}
	l.id, l.kind, l.session, l.weight = add(c.ID, "id"), add("", "type"), add(c.Session, "session"), add(c.Weight, "weight")
	for _, d := range c.Dimensions {
		l.dimensions = append(l.dimensions, add("", d))
	}
	return l
}

// source reads a file's events in the file's order.
type source struct {
	config *Config
	layout layout
	in     *rows.Input
	reader *rows.Reader
	parser *rows.Parser
	block  rows.Block
	idSeed []byte // what ids are made of, beside the line
}

func newSource(in *rows.Input, c *Config, start time.Time) (*source, error) {
	s := &source{config: c, layout: newLayout(c), in: in}
	var err error
	if s.reader, err = rows.NewReader(in, c.Format, s.layout.wanted); err != nil {
		return nil, err
	}
	if !s.hasTime() {
		return nil, crest.Errorf(crest.CodeMissingField, "time", "of %s is in none of the columns ts_ms, ts, timestamp and time; name it with --time", in.Name)
	}
	s.parser = s.reader.Parser()
	s.idSeed = append([]byte(filepath.Base(in.Name)), 0)
	if c.ShiftToNow {
		s.idSeed = binary.BigEndian.AppendUint64(s.idSeed, uint64(start.UnixNano()))
	}
	return s, nil
}

func (s *source) hasTime() bool {
	return slices.ContainsFunc(s.layout.times, s.reader.Has)
}

// next moves to the next record. It returns io.EOF behind the last.
func (s *source) next() error {
	for !s.parser.Next() {
		if err := s.reader.Next(&s.block); err != nil {
			return err
		}
		s.parser.Load(&s.block)
	}
	return nil
}

// moments reads when the current record's event happened and arrived.
func (s *source) moments() (at, arrived crest.Millis, err error) {
	if err := s.parser.Err(); err != nil {
		return 0, 0, err
	}
	var field []byte
	for _, column := range s.layout.times {
		if field = s.parser.Field(column); len(field) > 0 {
			break
		}
	}
	if len(field) == 0 {
		return 0, 0, crest.Errorf(crest.CodeMissingField, "time", "is missing")
	}
	if at, err = rows.ParseTime(field); err != nil || s.layout.arrived < 0 {
		return at, at, err
	}
	arrived, err = rows.ParseTime(s.parser.Field(s.layout.arrived))
	return at, arrived, err
}

// event makes an event of the current record. The server judges everything that only it knows.
func (s *source) event() (d dated, err error) {
	if d.time, d.arrived, err = s.moments(); err != nil {
		return d, err
	}
	text := func(column int) string { return string(s.parser.Field(column)) }
	d.line = s.parser.Line()
	d.event = client.Event{ID: text(s.layout.id), Type: text(s.layout.kind), Item: text(s.layout.item), Session: text(s.layout.session)}
	if s.config.Type != "" {
		d.event.Type = s.config.Type
	}
	if d.event.ID == "" {
		d.event.ID = s.makeID(d.line)
	}
	if weight := s.parser.Field(s.layout.weight); len(weight) > 0 {
		w, ok := rows.ParseUint(weight)
		if !ok || w == 0 {
			return d, crest.Errorf(crest.CodeOutOfRange, "weight", "is %.40q; it must be a whole number from 1", weight)
		}
		d.event.Weight = w
	}
	for i, column := range s.layout.dimensions {
		if value := text(column); value != "" {
			if d.event.Dimensions == nil {
				d.event.Dimensions = map[string]string{}
			}
			d.event.Dimensions[s.config.Dimensions[i]] = value
		}
	}
	return d, nil
}

// makeID writes the id in a UUID's form, in which it takes the least room.
func (s *source) makeID(line int64) string {
	sum := sha256.Sum256(binary.BigEndian.AppendUint64(slices.Clip(s.idSeed), uint64(line)))
	return crest.EventID(sum[:16]).String()
}

// scanLatest reads a whole file for its last moment.
func scanLatest(open func() (*rows.Input, error), c *Config) (crest.Millis, error) {
	in, err := open()
	if err != nil {
		return 0, err
	}
	defer in.Close()
	s, err := newSource(in, c, time.Time{})
	if err != nil {
		return 0, err
	}
	var latest crest.Millis
	for {
		if err := s.next(); err != nil {
			if errors.Is(err, io.EOF) {
				return latest, nil
			}
			return 0, err
		}
		if _, arrived, err := s.moments(); err == nil {
			latest = max(latest, arrived)
		}
	}
}

// place says where the current record is.
func (s *source) place() string { return fmt.Sprintf("%s, line %d", s.in.Name, s.parser.Line()) }
