// Package config says what a deployment counts and how: presets, YAML, validation, and the plan of memory and error
// that follows from them.
package config

import (
	"slices"
	"time"

	"crest"
)

// Config is everything that a node is built from. [Load] lays a file over a preset; a Config made otherwise has to be
// complete.
type Config struct {
	Preset     string         `yaml:"preset"` // "views" or "shares"
	Listen     string         `yaml:"listen"` // address of the public API and page
	Admin      string         `yaml:"admin"`  // address of the operator's endpoints; keep it on loopback
	Data       string         `yaml:"data"`   // data directory
	Types      []Type         `yaml:"types"`
	Dimensions []Dimension    `yaml:"dimensions"` // at most crest.MaxDimensions; fixed when a data directory is made, the log keeps values by position
	Windows    []crest.Window `yaml:"windows"`    // the first one is what a reader gets who names none
	Lists      Lists          `yaml:"lists"`
	Counting   Counting       `yaml:"counting"`
	Ingest     Ingest         `yaml:"ingest"`
	Log        Log            `yaml:"log"`
	Archive    Archive        `yaml:"archive"`
	Recount    Recount        `yaml:"recount"`
}

// Type is a kind of item.
type Type struct {
	Name      string     `yaml:"name"`
	IDField   string     `yaml:"id_field"`  // name of the item's id in lists and in the shares API; "id" when empty
	Normalize string     `yaml:"normalize"` // "" or "hashtag"
	Boards    [][]string `yaml:"boards"`    // sets of dimension names; each adds a board per combination of values seen
}

// Dimension is an attribute of events by which boards can be narrowed.
type Dimension struct {
	Name   string   `yaml:"name"`
	Values []string `yaml:"values"` // the values allowed; empty allows any
}

// Lists says which top K readers can ask for.
type Lists struct {
	MaxK  int   `yaml:"max_k"`
	Sizes []int `yaml:"sizes"` // the only values of k when set, ascending; otherwise any k from 1 to MaxK
}

// Counting sizes the fast path.
type Counting struct {
	Shards       int           `yaml:"shards"`        // logical shards; fixed when a data directory is made
	Partitions   int           `yaml:"partitions"`    // of the event log; fixed likewise
	Flush        time.Duration `yaml:"flush"`         // how long weights are pre-aggregated before they reach a shard
	Bucket       Bytes         `yaml:"bucket"`        // most memory of one bucket of a type's board, over all shards
	NarrowBucket Bytes         `yaml:"narrow_bucket"` // the same for a narrowed board
	MaxBoards    int           `yaml:"max_boards"`    // narrowed boards kept; events beyond them count on the type's board alone
	DedupHorizon time.Duration `yaml:"dedup_horizon"` // how long an event id is remembered
	DedupMemory  Bytes         `yaml:"dedup_memory"`  // most memory for remembered ids, over all partitions
	Checkpoint   time.Duration `yaml:"checkpoint"`    // how often the counting state is saved
	Hold         time.Duration `yaml:"hold"`          // how late the recount may be before the list of all time does without it
}

// Ack says when an event counts as accepted.
type Ack string

// The acknowledgements that a producer can be given.
const (
	AckLogged   Ack = "logged"   // the log has it on disk
	AckEnqueued Ack = "enqueued" // it is in the log's queue; a crash can lose the last few milliseconds
)

// Ingest limits what one request may bring.
type Ingest struct {
	Ack             Ack   `yaml:"ack"`
	Shares          bool  `yaml:"shares"`           // also offer POST /v1/shares and /v1/shares:batch, for the first type
	MaxBody         Bytes `yaml:"max_body"`         // as sent
	MaxDecompressed Bytes `yaml:"max_decompressed"` // after gzip or zstd
	MaxEvents       int   `yaml:"max_events"`       // in one request
}

// Log sizes the event log.
type Log struct {
	Segment     Bytes         `yaml:"segment"`      // a new file is begun at this size
	RetainAge   time.Duration `yaml:"retain_age"`   // older segments are deleted
	RetainBytes Bytes         `yaml:"retain_bytes"` // the oldest segments are deleted above this size
	MaxPending  Bytes         `yaml:"max_pending"`  // unwritten bytes from which producers are told to retry later
}

// Archive says whether events are kept for the exact path, and for how long.
type Archive struct {
	Enabled bool          `yaml:"enabled"`
	Retain  time.Duration `yaml:"retain"` // older event hours are deleted; their counts stay
}

// Recount limits the exact path.
type Recount struct {
	Memory Bytes `yaml:"memory"` // most memory of one recount
}

// ExactFrom is the length from which windows take what the recount has counted, where it has.
const ExactFrom = 24 * time.Hour

// Stitched reports whether lists of the window are exact where the hours have been counted again: with an archive, those
// of all time, and those of whole hours from ExactFrom on.
func (c *Config) Stitched(w crest.Window) bool {
	return c.Archive.Enabled && (w.AllTime() || w.Length >= ExactFrom && w.Length%time.Hour == 0 && time.Hour%w.Bucket == 0)
}

// Edge is how far beyond an hour's start and end the recount looks for ids that it has been sent again with another time:
// as long as the fast path can remember an id.
func (c *Config) Edge() time.Duration { return 2 * c.Counting.DedupHorizon }

// Ring is a row of buckets of one width, shared by the windows that are built from that width.
type Ring struct {
	Width   time.Duration // 0 for the one bucket of all time
	Buckets int           // held
	Windows []crest.Window
	Open    bool // the open hours of all time are estimated from it
}

// Rings groups the windows by bucket width, in the order of their first window. With an archive and a window of all
// time, a ring of hours holds buckets for those that are not counted exactly yet.
func (c *Config) Rings() []Ring {
	rings := c.windowRings()
	if !c.Archive.Enabled || !slices.ContainsFunc(c.Windows, crest.Window.AllTime) {
		return rings
	}
	open := slices.IndexFunc(rings, func(r Ring) bool { return r.Width == time.Hour })
	if open < 0 {
		open = len(rings)
		rings = append(rings, Ring{Width: time.Hour})
	}
	rings[open].Open = true
	rings[open].Buckets = max(rings[open].Buckets, int(c.Counting.Hold/time.Hour))
	return rings
}

func (c *Config) windowRings() []Ring {
	var rings []Ring
	at := map[time.Duration]int{}
	for _, w := range c.Windows {
		i, ok := at[w.Bucket]
		if !ok {
			i = len(rings)
			at[w.Bucket] = i
			rings = append(rings, Ring{Width: w.Bucket})
		}
		rings[i].Buckets = max(rings[i].Buckets, w.Buckets())
		rings[i].Windows = append(rings[i].Windows, w)
	}
	return rings
}

// Type returns the type of that name.
func (c *Config) Type(name string) (Type, bool) {
	for _, t := range c.Types {
		if t.Name == name {
			return t, true
		}
	}
	return Type{}, false
}

// DimensionNames returns the names of the dimensions, in their order.
func (c *Config) DimensionNames() []string {
	var names []string
	for _, d := range c.Dimensions {
		names = append(names, d.Name)
	}
	return names
}

// Narrowings returns the boards that a type has beside its own: for each, the places of its dimensions among
// Config.Dimensions.
func (c *Config) Narrowings(t Type) [][]int {
	names := c.DimensionNames()
	var sets [][]int
	for _, board := range t.Boards {
		var set []int
		for _, name := range board {
			set = append(set, slices.Index(names, name))
		}
		sets = append(sets, set)
	}
	return sets
}
