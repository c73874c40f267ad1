package exact

import (
	"errors"

	"crest"
	"crest/internal/counts"
)

// HourRows returns all that an hour in [First, Until) counts, by board and then by item. The cursor is the caller's to close.
func (s *Snapshot) HourRows(hour crest.Millis) (counts.Cursor, error) {
	h, err := s.counted(hour)
	if err != nil {
		return nil, err
	}
	if h.Counts == nil {
		return noRows{}, nil
	}
	t, held, err := s.tableOf(h)
	if err != nil {
		return nil, err
	}
	if held {
		return t.All(), nil
	}
	return &tableCursor{t.All(), t}, nil
}

// tableOf returns the counts of an hour that has some. When the snapshot doesn't hold them open, they are verified, and the
// caller's to close.
func (s *Snapshot) tableOf(h *hourEntry) (t *counts.Table, held bool, err error) {
	if open := s.hours[h.Start]; open != nil {
		return open.counts, true, nil
	}
	t, err = counts.Open(h.Counts.path(s.config.Dir), h.Counts.Info)
	return t, false, err
}

// tableCursor closes its table with itself.
type tableCursor struct {
	counts.Cursor
	table *counts.Table
}

// Close closes both.
func (c *tableCursor) Close() error { return errors.Join(c.Cursor.Close(), c.table.Close()) }

// noRows is the cursor of an hour without events.
type noRows struct{}

// Next returns false.
func (noRows) Next() bool { return false }

// Row returns nothing.
func (noRows) Row() counts.Row { return counts.Row{} }

// Err returns nil.
func (noRows) Err() error { return nil }

// Close does nothing.
func (noRows) Close() error { return nil }
