package sketch

import (
	"encoding/binary"
	"sync"
	"syscall"
	"testing"
	"time"
)

// startCPU returns a function that reports the processor time used since, for machines that are shared.
func startCPU(b *testing.B) (report func()) {
	b.Helper()
	used := func() time.Duration {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			b.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	start := used()
	return func() { b.ReportMetric(float64(used()-start)/float64(b.N), "cpu-ns/op") }
}

const (
	zipfIDs   = 5_000_000
	zipfSkew  = 1.05
	largeSize = 5_400_000
	shardSize = 85 << 10
)

// benchKey writes an id as eleven letters, like a video's.
func benchKey(dst []byte, id uint64) []byte {
	const letters = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_"
	x := id * 0x9e37_79b9_7f4a_7c15
	for range 11 {
		dst = append(dst, letters[x&63])
		x = x>>6 | x<<58
	}
	return dst
}

// benchStream returns 4 million updates: the keys back to back, and their hashes.
var benchStream = sync.OnceValues(func() (keys string, hashes []uint64) {
	const n = 1 << 22
	next := zipf(randomOf(1), zipfSkew, zipfIDs)
	blob := make([]byte, 0, 11*n)
	for range n {
		blob = benchKey(blob, next())
	}
	keys, hashes = string(blob), make([]uint64, n)
	for i := range hashes {
		hashes[i] = Hash(keys[11*i:][:11])
	}
	return keys, hashes
})

// BenchmarkAdd applies a stream to one large summary.
func BenchmarkAdd(b *testing.B) {
	keys, hashes := benchStream()
	s := newSummary(b, largeSize)
	for i := range hashes {
		s.AddHash(hashes[i], keys[11*i:][:11], 1)
	}
	i, report := 0, startCPU(b)
	for b.Loop() {
		s.Add(keys[11*i:][:11], 1)
		if i++; i == len(hashes) {
			i = 0
		}
	}
	report()
}

// BenchmarkAddGrouped applies a stream to 64 small summaries, batch by batch, each batch grouped by shard.
func BenchmarkAddGrouped(b *testing.B) {
	const shards, batch = 64, 1 << 16
	keys, hashes := benchStream()
	grouped, groupedHashes := make([]byte, 0, len(keys)), make([]uint64, 0, len(hashes))
	for from := 0; from < len(hashes); from += batch {
		for shard := range uint64(shards) {
			for i := from; i < from+batch; i++ {
				if hashes[i]>>58 == shard {
					grouped = append(grouped, keys[11*i:][:11]...)
					groupedHashes = append(groupedHashes, hashes[i])
				}
			}
		}
	}
	keys, hashes = string(grouped), groupedHashes
	var summaries [shards]*Summary
	for i := range summaries {
		summaries[i] = newSummary(b, shardSize)
	}
	for i, h := range hashes {
		summaries[h>>58].AddHash(h, keys[11*i:][:11], 1)
	}
	i, report := 0, startCPU(b)
	for b.Loop() {
		key := keys[11*i:][:11]
		h := Hash(key)
		summaries[h>>58].AddHash(h, key, 1)
		if i++; i == len(hashes) {
			i = 0
		}
	}
	report()
}

// fullSummary returns a summary of a shard after many updates.
func fullSummary(b *testing.B, memory int) *Summary {
	b.Helper()
	s, next, buf := newSummary(b, memory), zipf(randomOf(1), zipfSkew, zipfIDs), make([]byte, 0, 11)
	for range 300_000 {
		s.Add(string(benchKey(buf[:0], next())), 1)
	}
	return s
}

func BenchmarkTop(b *testing.B) {
	s := fullSummary(b, largeSize)
	for b.Loop() {
		s.Top(1000)
	}
}

func BenchmarkAppendBinary(b *testing.B) {
	s, buf := fullSummary(b, shardSize), []byte(nil)
	for b.Loop() {
		buf, _ = s.AppendBinary(buf[:0])
	}
	b.SetBytes(int64(len(buf)))
	b.ReportMetric(float64(len(buf)), "bytes")
}

func BenchmarkUnmarshalBinary(b *testing.B) {
	state := encode(b, fullSummary(b, shardSize))
	b.SetBytes(int64(len(state)))
	for b.Loop() {
		if err := new(Summary).UnmarshalBinary(state); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkMerge(b *testing.B) {
	s, other := fullSummary(b, shardSize), fullSummary(b, shardSize)
	for b.Loop() {
		if err := s.clone().Merge(other); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkError measures how wrong the reported top 1,000 is after 20 million updates. Run it with -benchtime 1x.
func BenchmarkError(b *testing.B) {
	for _, name := range []string{"plain", "late", "late+spam"} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				s := newSummary(b, largeSize)
				truth := errorStream(name, func(key string) { s.Add(key, 1) })
				reportError(b, s, truth)
			}
		})
	}
}

// errorStream feeds add and returns the true counts of the ids that are not one-offs.
func errorStream(name string, add func(key string)) []uint32 {
	const updates = 20_000_000
	truth := make([]uint32, 2*zipfIDs)
	next := zipf(randomOf(2), zipfSkew, zipfIDs)
	buf := make([]byte, 0, 16)
	for i := range updates {
		id := next()
		if name != "plain" && i >= updates/2 {
			id += zipfIDs
		}
		truth[id]++
		buf = binary.AppendUvarint(buf[:0], id)
		add(string(append(buf, "-----------"[:11-len(buf)]...)))
		if name == "late+spam" && i%2 == 0 {
			buf = binary.AppendUvarint(buf[:0], uint64(2*zipfIDs+i))
			add(string(append(buf, "-----------"[:11-len(buf)]...)))
		}
	}
	return truth
}

func reportError(b *testing.B, c Counter, truth []uint32) {
	b.Helper()
	trueCount := func(key string) uint64 {
		id, _ := binary.Uvarint([]byte(key))
		if id >= uint64(len(truth)) {
			return 1
		}
		return uint64(truth[id])
	}
	top := c.Top(1000)
	sum, worst, certified, under, broken := uint64(0), uint64(0), uint64(0), 0, 0
	for _, e := range top {
		n := trueCount(e.Key)
		if n > e.Count {
			under++
			continue
		}
		over := e.Count - n
		if over > e.Error {
			broken++
		}
		sum += over
		certified += e.Error
		worst = max(worst, over)
	}
	b.ReportMetric(float64(sum)/float64(len(top)), "mean-over")
	b.ReportMetric(float64(worst), "max-over")
	b.ReportMetric(float64(certified)/float64(len(top)), "mean-error")
	b.ReportMetric(float64(under), "under")
	b.ReportMetric(float64(broken), "broken")
	b.ReportMetric(float64(c.Bytes()), "bytes")
}
