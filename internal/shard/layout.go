package shard

import (
	"time"

	"crest"
	"crest/window"
)

// Type is a kind of item as the shards see it.
type Type struct {
	Name       string
	Narrow     [][]int // sets of dimension numbers: an event with values for all of a set counts on a board of its own
	Normalizer string  // name and version of what items went through; with one, how each is mostly spelled is remembered
}

// Secret makes hashes that a producer can't foresee, so that nobody can choose ids or items that all fall on one place of
// a table. It changes no count and is not saved.
type Secret [2]uint64

// Layout fixes what is counted and how. A saved state is bound to it.
type Layout struct {
	Types       []Type
	Dimensions  []string
	Rings       []window.Config // of a type's board; Memory is that of one shard
	NarrowRings []window.Config // of a narrowed board, the same but for Memory
	SpellMemory int             // most bytes per shard for the spellings of a type
	Shards      int
	Partitions  int
	MaxBoards   int           // narrowed boards kept
	Grain       time.Duration // width of the finest buckets
	Horizon     time.Duration // how long an event id is remembered
	RecentBytes int           // most memory for the ids of one partition
	MaxPartials int           // partials after which an aggregator asks to be flushed
	Secret      Secret
}

// ShardOf returns the shard on which items of that hash live. Shards take the hash's top bits; inside a shard, summaries
// take the low ones.
func (l *Layout) ShardOf(hash uint64) int {
	return int((hash >> 32) * uint64(l.Shards) >> 32)
}

// spellRing is one bucket that never ends: how an item is mostly written is not a question of the last minute.
func (l *Layout) spellRing() window.Config {
	return window.Config{Buckets: 1, Windows: []int{1}, Memory: l.SpellMemory}
}

// grain returns the start of the finest bucket that the moment belongs to; every ring's buckets are unions of those.
func (l *Layout) grain(t crest.Millis) crest.Millis { return t.Floor(l.Grain) }
