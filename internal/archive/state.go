package archive

import (
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"crest"
	"crest/internal/eventlog"
)

const hourLength = time.Hour

// State says how far the archive is.
type State struct {
	Offset     eventlog.Offset `json:"offset"`    // of the log: what is before is in the archive, nothing after it
	Watermark  crest.Millis    `json:"watermark"` // everything received before is in; a multiple of crest.Slot except after a commit on request
	Since      crest.Millis    `json:"since"`     // what was received before may be missing; 0 when nothing is
	KeptFrom   crest.Millis    `json:"kept_from"` // hours before it have been deleted; 0 when none has
	Dimensions []string        `json:"dimensions"`
}

func (s State) equal(o State) bool {
	return s.Offset == o.Offset && s.Watermark == o.Watermark && s.Since == o.Since && s.KeptFrom == o.KeptFrom &&
		slices.Equal(s.Dimensions, o.Dimensions)
}

// Closed reports whether the hour that begins at start is closed: everything received up to crest.CloseAfter beyond its end is
// in the archive. Later events still go into it.
func (s State) Closed(start crest.Millis) bool {
	return s.Watermark >= start.Add(hourLength+crest.CloseAfter)
}

const stateName = "state.json"

// record is the content of the state's file.
type record struct {
	State

	Hours []crest.Millis `json:"hours"` // that have files, ascending
}

// readState fails with fs.ErrNotExist when there is no archive yet.
func readState(dir string) (record, error) {
	var r record
	if err := readDocument(filepath.Join(dir, stateName), &r); err != nil {
		return record{}, fmt.Errorf("read the archive's state: %w", err)
	}
	return r, nil
}

// with returns the hours with others, and without those that aren't kept.
func (r record) with(more []crest.Millis, keptFrom crest.Millis) []crest.Millis {
	all := slices.Concat(r.Hours, more)
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(h crest.Millis) bool { return h < keptFrom })
}
