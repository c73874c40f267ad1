package bench

import (
	"fmt"
	"math"
	"slices"
	"unsafe"

	"github.com/apache/datasketches-go/common"
	"github.com/apache/datasketches-go/frequencies"
	"github.com/go-kratos/aegis/topk"
	boom "github.com/tylertreat/BoomFilters"
)

func peers() []Contender {
	return []Contender{
		{Name: "apache/datasketches-go frequencies", Certifies: true, New: newDataSketches},
		{Name: "go-kratos/aegis HeavyKeeper", New: newHeavyKeeper},
		{Name: "tylertreat/BoomFilters TopK", New: newBoom},
	}
}

// dataSketches is the frequent-items sketch of Apache DataSketches: Misra-Gries with purges by the median.
type dataSketches struct {
	sketch *frequencies.ItemsSketch[string]
}

// A slot of its hash map takes 26 bytes. Three in four slots are used at most, and each keeps a key of 11 bytes, for
// which the allocator takes 16.
const dataSketchesSlot = 26 + 16*3/4

func newDataSketches(budget, _ int) (Counter, error) {
	slots := 8 // a power of two, by its rules
	for slots*2*dataSketchesSlot <= budget {
		slots *= 2
	}
	hasher := common.ItemSketchStringHasher{}
	s, err := frequencies.NewFrequencyItemsSketchWithMaxMapSize[string](slots, hasher, common.ItemSketchStringSerDe{})
	if err != nil {
		return nil, err
	}
	return &dataSketches{sketch: s}, nil
}

func (d *dataSketches) Add(keys []string) {
	for _, k := range keys {
		if err := d.sketch.Update(k); err != nil {
			panic(fmt.Sprintf("datasketches: %v", err)) // only for a nil item or a full map, which can't be
		}
	}
}

// Top lists by upper bound: like Crest's counts, these are never below the truth.
func (d *dataSketches) Top(k int) []Entry {
	rows, err := d.sketch.GetFrequentItemsWithThreshold(0, frequencies.ErrorTypeEnum.NoFalseNegatives)
	if err != nil {
		panic(fmt.Sprintf("datasketches: %v", err))
	}
	out := make([]Entry, 0, len(rows))
	for _, r := range rows {
		upper, lower := r.GetUpperBound(), r.GetLowerBound()
		out = append(out, Entry{Key: r.GetItem(), Count: uint64(upper), Error: uint64(upper - lower)})
	}
	slices.SortStableFunc(out, func(a, b Entry) int { return -cmpCounts(a, b) })
	return out[:min(k, len(out))]
}

func cmpCounts(a, b Entry) int {
	switch {
	case a.Count < b.Count:
		return -1
	case a.Count > b.Count:
		return 1
	}
	return 0
}

// heavyKeeper is the HeavyKeeper of go-kratos/aegis (Gong et al., USENIX ATC 2018).
type heavyKeeper struct{ top topk.Topk }

const (
	heavyKeeperDepth = 2     // rows, as in the paper; 3 to 5 were slower here and no closer
	heavyKeeperDecay = 0.925 // as in its own tests
	heavyKeeperCell  = 8     // bytes
	listedEntry      = 128   // bytes of a listed key with its node and map entry, about
)

func newHeavyKeeper(budget, k int) (Counter, error) {
	width := (budget - k*listedEntry) / heavyKeeperDepth / heavyKeeperCell
	if width < 1 {
		return nil, fmt.Errorf("HeavyKeeper: %d bytes are too few", budget)
	}
	return &heavyKeeper{topk.NewHeavyKeeper(uint32(k), uint32(width), heavyKeeperDepth, heavyKeeperDecay, 0)}, nil
}

func (h *heavyKeeper) Add(keys []string) {
	for _, k := range keys {
		h.top.Add(k, 1)
	}
}

func (h *heavyKeeper) Top(k int) []Entry {
	items := h.top.List()
	out := make([]Entry, 0, len(items))
	for _, it := range items {
		out = append(out, Entry{Key: it.Key, Count: uint64(it.Count)})
	}
	slices.SortStableFunc(out, func(a, b Entry) int { return -cmpCounts(a, b) })
	return out[:min(k, len(out))]
}

// boomTopK is the Count-Min sketch with a list of candidates of BoomFilters.
type boomTopK struct{ top *boom.TopK }

const (
	boomRows  = 5
	boomCell  = 8
	boomDelta = 0.007 // gives five rows
)

func newBoom(budget, k int) (Counter, error) {
	width := (budget - k*listedEntry) / boomRows / boomCell
	if width < 1 {
		return nil, fmt.Errorf("BoomFilters: %d bytes are too few", budget)
	}
	return &boomTopK{boom.NewTopK(math.E/float64(width), boomDelta, uint(k))}, nil
}

func (b *boomTopK) Add(keys []string) {
	for _, k := range keys {
		b.top.Add(unsafe.Slice(unsafe.StringData(k), len(k))) //nolint:gosec // it keeps keys but doesn't write to them
	}
}

func (b *boomTopK) Top(k int) []Entry {
	elements := b.top.Elements()
	slices.Reverse(elements)
	out := make([]Entry, 0, len(elements))
	for _, e := range elements {
		out = append(out, Entry{Key: string(e.Data), Count: e.Freq})
	}
	return out[:min(k, len(out))]
}
