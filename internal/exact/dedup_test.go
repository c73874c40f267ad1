package exact

import (
	"math/bits"
	"math/rand/v2"
	"testing"
)

// Candidates of a narrow range of hashes are as quick to find as any: their places are spread.
func TestCandidatesOfOneRange(t *testing.T) {
	random := rand.New(rand.NewPCG(seedOf(t), 0))
	d := &dedup{secret: [2]uint64{random.Uint64(), random.Uint64()}}
	d.candidates.places = make([]candidate, 20_000)
	w := &idScratch{}
	const parts = 64
	for len(w.hits) < 14_000 {
		x := id{random.Uint64(), random.Uint64()}
		if part, _ := bits.Mul64(d.hash(x), parts); part == 5 {
			w.hits = append(w.hits, x)
		}
	}
	if err := d.candidates.add(d, w); err != nil {
		t.Fatal(err)
	}
	if err := d.candidates.add(d, w); err != nil || d.candidates.count != len(w.hits) {
		t.Fatalf("added again: %d candidates, %v", d.candidates.count, err)
	}
	far := 0
	for i := range d.candidates.places {
		if p := &d.candidates.places[i]; p.first != 0 {
			home := int(d.candidates.home(d.hash(p.id)))
			far = max(far, (i-home+len(d.candidates.places))%len(d.candidates.places))
		}
	}
	if far > 500 {
		t.Errorf("a candidate is %d places from its home", far)
	}
	for range 30_000 { // until it is full
		w.hits = append(w.hits[:0], id{random.Uint64(), random.Uint64()})
		if err := d.candidates.add(d, w); err != nil {
			return
		}
	}
	t.Error("the table never was full")
}

// Which ids are candidates may depend on chance, but no id that comes twice is ever missed.
func TestFingerprintsMissNothing(t *testing.T) {
	random := rand.New(rand.NewPCG(seedOf(t), 0))
	f := fingerprints{words: make([]uint32, 1000)}
	var hashes []uint64
	wrong := 0
	for range 1400 {
		h := random.Uint64()
		hashes = append(hashes, h)
		if f.insert(f.probe(h, h<<8)) {
			wrong++
		}
	}
	if wrong > 20 {
		t.Errorf("%d of 1,400 new ids are taken for old ones", wrong)
	}
	for _, h := range hashes {
		if !f.insert(f.probe(h, h<<8)) {
			t.Fatal("an id that is in the table is not found")
		}
	}
	for range 2000 { // it overflows, but ends
		h := random.Uint64()
		f.insert(f.probe(h, h<<8))
	}
	if !f.insert(f.probe(1, 1)) {
		t.Error("a full table takes another id for new")
	}
}

func TestRegion(t *testing.T) {
	r, err := newRegion(3*chunkBytes - 100)
	if err != nil {
		t.Fatal(err)
	}
	if r.free() != 3*chunkBytes {
		t.Fatalf("%d bytes", r.free())
	}
	one := takeSlice[uint64](r, 10)
	mark := r.mark()
	two := takeSlice[uint32](r, 100)
	for i := range two {
		two[i] = 7
	}
	one[9] = 1
	r.give(mark)
	if again := takeSlice[uint32](r, 200); len(again) != 200 || again[0] != 0 || again[99] != 0 || again[199] != 0 {
		t.Error("memory that was given back is not zero when it is taken again")
	}
	if one[9] != 1 {
		t.Error("memory that was not given back has changed")
	}
	if b := r.take(r.free() + 1); b != nil {
		t.Errorf("%d bytes more than there are", len(b))
	}
	if b := r.takeChunks(10 * chunkBytes); len(b) != 2*chunkBytes {
		t.Errorf("%d bytes of chunks", len(b))
	}
	if err := r.close(); err != nil {
		t.Error(err)
	}
}
