package exact

import "testing"

func TestPassesAreThoseOfACount(t *testing.T) {
	for _, c := range []struct{ rows, memory int64 }{{1_000_000, 128 << 20}, {5_000_000, 128 << 20}, {20_000_000, 96 << 20}, {40_000_000, 72 << 20}} {
		const workers = 1
		region, err := newRegion(regionBytes(c.memory, workers))
		if err != nil {
			t.Fatal(err)
		}
		d := dedup{files: &hourFiles{rows: c.rows}, region: region}
		d.rows = takeSlice[uint64](region, int((c.rows+63)/64))
		if err := d.plan(); err != nil {
			t.Fatal(err)
		}
		if got, want := Passes(c.rows, c.memory, workers), int(d.parts()); got != want {
			t.Errorf("%d rows in %d bytes: %d passes, a count makes %d", c.rows, c.memory, got, want)
		}
		if err := region.close(); err != nil {
			t.Error(err)
		}
	}
	if n := Passes(1e9, 64<<30, 2); n != 1 {
		t.Errorf("with much memory: %d passes", n)
	}
	if n := Passes(1e11, 256<<20, 2); n != 0 {
		t.Errorf("with too little memory: %d passes", n)
	}
}
