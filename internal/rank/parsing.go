package rank

import (
	"errors"
	"unicode/utf8"
	"unsafe"

	"crest"
	"crest/internal/rows"
	"crest/sketch"
)

// parsing turns the lines of batches into events. Each parsing goroutine has its own.
type parsing struct {
	config    *Config
	columns   columns
	normalize func(dst, item []byte) []byte
	reader    *rows.Reader
	parser    *rows.Parser
}

func newParsing(c *Config) *parsing {
	p := &parsing{config: c, columns: wantedColumns(c)}
	if c.Normalize != nil {
		p.normalize = c.Normalize()
	}
	return p
}

func (p *parsing) parse(b *batch) {
	if p.reader != b.reader {
		p.reader, p.parser = b.reader, b.reader.Parser()
	}
	b.reset()
	if p.config.Every == 0 && b.recent == nil {
		b.recent = make([]slot, recentSlots)
	}
	p.parser.Load(&b.block)
	for p.parser.Next() {
		b.tally.lines++
		e, keep, err := p.event(b)
		switch {
		case err != nil:
			b.tally.refuse(func() string { return place(b.input, p.parser.Line()) }, err)
		case !keep:
			b.tally.filtered++
		case p.config.Every > 0:
			b.tally.counted++
			shard := &b.shards[0]
			*shard = append(*shard, e)
		default:
			b.tally.counted++
			b.add(e)
		}
	}
}

// event makes an event of the parser's record. keep is false when it is not asked for.
func (p *parsing) event(b *batch) (e event, keep bool, err error) {
	if err := p.parser.Err(); err != nil {
		return e, false, err
	}
	for i := range p.columns.where {
		if !p.columns.where[i].holds(p.parser) {
			return e, false, nil
		}
	}
	if p.columns.time >= 0 {
		if keep, err = p.times(&e); err != nil || !keep {
			return e, false, err
		}
	}
	e.weight = 1
	if p.columns.weight >= 0 {
		if e.weight, err = parseWeight(p.parser.Field(p.columns.weight), p.config.Weight); err != nil {
			return e, false, err
		}
	}
	item := p.parser.Field(itemColumn)
	if p.normalize != nil && len(item) <= crest.MaxItemBytes {
		start := len(b.normal)
		empty := len(item) == 0
		b.normal = p.normalize(b.normal, item)
		item = b.normal[start:]
		if len(item) == 0 && !empty {
			return e, false, crest.Errorf(crest.CodeEmptyAfterNormalization, "item", "is empty once normalised")
		}
	}
	if err := checkItem(item); err != nil {
		return e, false, err
	}
	e.item = unsafe.String(unsafe.SliceData(item), len(item)) //nolint:gosec // the batch's bytes stay as they are until the event is counted
	e.hash = sketch.Hash(e.item)
	return e, true, nil
}

// times reads the event's moments and says whether the list as of At wants it.
func (p *parsing) times(e *event) (keep bool, err error) {
	if e.time, err = parseTime(p.parser.Field(p.columns.time), p.config.Time); err != nil {
		return false, err
	}
	e.arrived = e.time
	if p.columns.arrived >= 0 {
		if e.arrived, err = parseTime(p.parser.Field(p.columns.arrived), p.config.Arrived); err != nil {
			return false, err
		}
	}
	if p.config.At == nil {
		return true, nil
	}
	at := *p.config.At
	return e.time < at && e.arrived < at && (p.config.Window == 0 || e.time >= at.Add(-p.config.Window)), nil
}

func parseTime(field []byte, column string) (crest.Millis, error) {
	if field == nil {
		return 0, crest.Errorf(crest.CodeMissingField, column, "is missing")
	}
	t, err := rows.ParseTime(field)
	if err != nil {
		return 0, crest.Errorf(crest.CodeOf(err), column, "%s", message(err))
	}
	return t, nil
}

func message(err error) string {
	if e, ok := errors.AsType[*crest.Error](err); ok {
		return e.Message
	}
	return err.Error()
}

func parseWeight(field []byte, column string) (uint64, error) {
	if field == nil {
		return 0, crest.Errorf(crest.CodeMissingField, column, "is missing")
	}
	w, ok := rows.ParseUint(field)
	if !ok || w < 1 || w > MaxWeight {
		return 0, crest.Errorf(crest.CodeOutOfRange, column, "is %.40q; a weight is a whole number from 1 to %d", field, uint64(MaxWeight))
	}
	return w, nil
}

// checkItem is more lenient than the service: files of text lines have tabs and other control characters.
func checkItem(item []byte) error {
	switch {
	case len(item) == 0:
		return crest.Errorf(crest.CodeMissingField, "item", "is missing or empty")
	case len(item) > crest.MaxItemBytes:
		return crest.Errorf(crest.CodeTooLong, "item", "has %d bytes; at most %d are counted", len(item), crest.MaxItemBytes)
	case !utf8.Valid(item):
		return crest.Errorf(crest.CodeInvalidUTF8, "item", "is not valid UTF-8")
	}
	return nil
}
