package exact

import (
	"crest"
	"crest/internal/list"
)

// Snapshot is what has been counted exactly as of one manifest. It never changes and implements list.Exact. Methods may be
// called concurrently.
//
// A recounter keeps the files of the manifest before the newest one, so a snapshot should be replaced before it is two
// rounds old; files that it has opened stay readable.
type Snapshot struct {
	config Config
}

var _ list.Exact = (*Snapshot)(nil)

// Load opens the newest manifest and verifies the files that lists need. What is damaged moves Until back and is told by
// Problems; it is an error only when nothing can be read for a reason other than damage. A directory without counts gives a
// snapshot without hours.
func Load(config Config) (*Snapshot, error) { return &Snapshot{config: config}, nil }

// Next loads the newest manifest and shares with s the files that both refer to, so that they aren't verified again.
func (s *Snapshot) Next() (*Snapshot, error) { return Load(s.config) }

// Changed reports whether there is a newer manifest, or may be. It looks at the manifest's name alone.
func (s *Snapshot) Changed() bool { return false }

// Version tells snapshots apart: the manifest's checksum, "" when there is none.
func (s *Snapshot) Version() string { return "" }

// Close releases the snapshot's files as soon as no other snapshot shares them.
func (s *Snapshot) Close() error { return nil }

// Problems says what is damaged, and why Until is not later.
func (s *Snapshot) Problems() []Problem { return nil }

// Reach says which hours have been counted. First is the first hour that had events.
func (s *Snapshot) Reach() list.Reach { return list.Reach{} }

// Cuts returns, of the hours in [from, Until) for which events can still come, up to which received time their counts are
// complete. Hours before First are among them: they had no events until then.
func (s *Snapshot) Cuts(from crest.Millis) []list.Cut { return nil }

// Base implements list.Exact. The base of one board and moment is the same pointer each time.
func (s *Snapshot) Base(board string, from crest.Millis) (*list.Base, error) { return nil, nil }

// Counts implements list.Exact.
func (s *Snapshot) Counts(board string, from crest.Millis, ids []string) ([]uint64, error) {
	return nil, nil
}

// HourInfo is what the manifest says of an hour.
type HourInfo struct {
	Hour       crest.Millis
	Cut        crest.Millis // everything received before is in the count
	Checked    crest.Millis // nothing that is not in the count was received before; not before Cut
	Settled    bool         // no more events can come
	Weight     uint64       // of all types
	Duplicates uint64       // weight dropped as sent before
	Late       uint64       // of Weight, received after the hour's end
	Rows       int64        // of the archive, received before the cut
	Bytes      int64        // of the hour's files
}

// Hours returns the hours from First to Until, ascending.
func (s *Snapshot) Hours() []HourInfo { return nil }

// Hour returns what the manifest says of an hour, false when it isn't in [First, Until).
func (s *Snapshot) Hour(start crest.Millis) (HourInfo, bool) { return HourInfo{}, false }
