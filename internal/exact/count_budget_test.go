package exact

import "testing"

func TestPassesAreThoseOfACount(t *testing.T) {
	for _, c := range []struct{ rows, memory int64 }{{1_000_000, 128 << 20}, {5_000_000, 128 << 20}, {20_000_000, 96 << 20}, {40_000_000, 72 << 20}} {
		const workers = 1
		bytes, _ := budget(c.memory, workers, false)
		region, err := newRegion(bytes)
		if err != nil {
			t.Fatal(err)
		}
		d := dedup{files: &hourFiles{rows: c.rows}, region: region}
		d.rows = takeSlice[uint64](region, int((c.rows+63)/64))
		if err := d.plan(); err != nil {
			t.Fatal(err)
		}
		if got, want := Passes(c.rows, c.memory, workers, false), int(d.parts()); got != want {
			t.Errorf("%d rows in %d bytes: %d passes, a count makes %d", c.rows, c.memory, got, want)
		}
		if err := region.close(); err != nil {
			t.Error(err)
		}
	}
	if n := Passes(1e9, 64<<30, 2, true); n != 1 {
		t.Errorf("with much memory: %d passes", n)
	}
	if n := Passes(1e11, 256<<20, 2, true); n != 0 {
		t.Errorf("with too little memory: %d passes", n)
	}
}

// What is given to a count is no more than it may use.
func TestBudget(t *testing.T) {
	for memory := int64(minMemory); memory < 8<<30; memory += memory / 7 {
		for workers := 1; workers < 40; workers++ {
			for _, narrow := range []bool{false, true} {
				region, atWork := budget(memory, workers, narrow)
				boards := int64(0)
				if narrow {
					boards = min(memory/4, maxNarrow*memoryBoard)
				}
				if sum := memoryBase + int64(atWork)*memoryWorker + boards + region; sum > memory || region < minRegion || atWork < 1 || atWork > workers {
					t.Fatalf("of %d bytes with %d workers, narrow %t: region %d, %d workers, %d altogether", memory, workers, narrow, region, atWork, sum)
				}
			}
		}
	}
}
