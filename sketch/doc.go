// Package sketch counts a stream of weighted keys in bounded memory, lists the heavy ones, and says for every key how
// wrong its count can be.
//
// # Guarantee
//
// [Summary] never counts below the truth, and each error it states is one it can prove, whatever the stream, without a
// probability. For every key, over everything that was added:
//
//   - the truth lies in [Count-Error, Count];
//   - a key that is not monitored has at most the floor of its set, and so at most [Summary.Cutoff];
//   - until the first key is evicted or refused, every count is exact, every error is 0 and every key is monitored:
//     [Summary.Exact];
//   - memory stays within Config.Memory, however many keys come.
//
// Keys are stored and compared, so a collision of hashes makes nothing wrong.
//
// # How it counts
//
// The heavy part monitors keys: sets of eight entries in two cache lines, the set chosen by the hash's low bits. The
// light part bounds all other keys: a Count-Min sketch with conservative update whose two cells for a key share one
// cache line. A key that is monitored touches only the heavy part, so the heavy keys, which make up most of a stream,
// never disturb the cells.
//
// A key x that is not monitored is known by two bounds: its smallest cell, and the floor of its set, which is the
// largest bound that a key had when it was evicted from that set or refused. When x comes with weight w, its bound
// becomes b = min(floor, smallest cell) + w. If b is above the smallest count of the set, x takes that entry's place with
// Count = b and Error = b - w, and the loser's count is its bound from then on: its cells and the floor are raised to it.
// Otherwise x is refused, and its own cells and the floor are raised to b.
//
// Why that is sound, by induction over the stream. Claim: a monitored key's truth lies in [Count-Error, Count], and a key
// that is not has at most its floor and at most each of its cells. Both parts hold before anything was evicted or refused,
// for then every key is monitored with its exact count, but for keys that never came. A hit adds w to truth and Count
// and leaves Error. An admitted key had at most min(floor, cell), hence now at most b, and has at least the w just seen.
// An evicted key has at most its Count by the claim, and its cells and the floor are now that high. A refused key has at
// most b, likewise. Cells and floors are only ever raised, cells merge by their maximum when a line widens, and no other
// key changes. A set that has never evicted or refused has floor 0: an absent key of it has never come.
//
// # Memory
//
// Config.Memory is a limit: 9/16 of it belong to the light part (65 bytes a line), which is made when the first key is
// evicted or refused. The rest is for sets (128 bytes for 8 entries) and an arena of keys (each rounded up to 8 bytes;
// an eighth of the arena stays free). A summary starts with one set and doubles when a set overflows, for as long as twice the
// sets, filled with keys as long as those so far, would fit. With keys of 9 to 16 bytes a set takes about 275 bytes in all: Memory of 5.4 MB
// monitors 65,536 keys, 85 KiB monitor 1,024. Sets don't fill evenly, so the first eviction comes before that many keys
// are there: with 85 KiB after some 400 to 500, with 5.4 MB after some 14,000. Sets that have evicted nothing stay exact.
// While sets or arena move to a larger array, or the arena is compacted, the old array is garbage beside the new one.
//
// Cells have 4 bits at first. A line whose cells need more widens to 8, 16 or 32 bits, with half the cells each time.
//
// Values are 64 bits wide to the caller. Inside they have 32 until one needs more; sums stop at 2^64-1.
//
// # Sliding windows
//
// Several summaries with one Config add up set by set, whatever their sizes: the set of a key is the low bits of its
// hash ([Summary.SetOf]), [Summary.AppendSet] lists a set without allocating, and floors are 0 until a summary is full.
//
// # Concurrency
//
// A counter belongs to one goroutine at a time. There is no lock, no goroutine, no clock and no package state.
//
// # Comparison
//
// [CountMin] and [SpaceSaving] are the classic structures, with the same [Counter] interface, for comparison and for those
// who want them.
//
// # Sources
//
// Space-Saving: Metwally, Agrawal, El Abbadi, ICDT 2005. Count-Min: Cormode, Muthukrishnan, J. Algorithms 55, 2005.
// Conservative update: Estan, Varghese, SIGCOMM 2002. A filter of heavy keys before a sketch: Roy, Khan, Alonso, "Augmented
// Sketch", SIGMOD 2016. Cells that grow by merging: Ben Basat, Einziger, Mitzenmacher, Vargaftik, "SALSA", ICDE 2021.
package sketch
