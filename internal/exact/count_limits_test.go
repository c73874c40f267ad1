package exact

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"crest"
	"crest/internal/archive"
	"crest/internal/exact/exacttest"
)

// crowd makes an hour of n events with many items, of which every tenth is sent again, some of them in the next hour.
func crowd(random *rand.Rand, n int) []exacttest.Received {
	var all []exacttest.Received
	step := int64(time.Hour/time.Millisecond) * 21 / 20 / int64(n)
	for i := range int64(n) {
		at := testHour + crest.Millis(max(1, step)*i)
		ev := crest.Event{Type: "video", Item: exacttest.Item(random.Uint64N(uint64(n))), Weight: 1 + random.Uint32N(3)}
		ev.ID = crest.ParseEventID(fmt.Sprint("id", i))
		ev.Time = max(testHour, at-crest.Millis(random.IntN(120_000)))
		if i > 0 && random.IntN(10) == 0 {
			old := all[random.Int64N(i)]
			ev.ID, ev.Item = old.ID, old.Item
			if random.IntN(2) == 0 {
				ev.Time = old.Time
			}
		}
		all = append(all, exacttest.Received{Event: ev, At: at})
	}
	return all
}

func inputFor(t *testing.T, view *archive.View, config Config) hourInput {
	t.Helper()
	in, err := inputOf(view, testHour, testHour.Add(80*time.Minute), config.Edge)
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// Neither the memory nor the number of workers changes a byte of the result, however often ids have to be read and sums
// spilled.
func TestSameBytesWithAnyMemoryAndWorkers(t *testing.T) {
	random := rand.New(rand.NewPCG(seedOf(t), 0))
	config := testConfig()
	all := crowd(random, 120_000)
	in := inputFor(t, archived(t, nil, all), config)
	want, err := countHour(t.Context(), t, newCounter(config, t.TempDir()), in)
	if err != nil {
		t.Fatal(err)
	}
	if want.stats.duplicates == 0 || want.stats.late == 0 {
		t.Fatalf("the traffic has %d duplicates, %d late", want.stats.duplicates, want.stats.late)
	}
	for _, limit := range []struct {
		region  int64
		workers int
	}{{192 << 10, 1}, {256 << 10, 3}, {512 << 10, 2}, {3 << 20, 8}, {64 << 20, 5}} {
		config.Workers = limit.workers
		dir := t.TempDir()
		c := newCounter(config, dir)
		c.region = limit.region
		got, err := countHour(t.Context(), t, c, in)
		if err != nil {
			t.Fatalf("%+v: %v", limit, err)
		}
		if got.bytes != want.bytes || got.stats != want.stats {
			t.Errorf("%+v: other bytes, or stats %+v, want %+v", limit, got.stats, want.stats)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("%+v: left behind %v, %v", limit, left, err)
		}
	}
}

// Ids that nobody sends, but may: all the same, or each of them twice.
func TestHourOfDuplicates(t *testing.T) {
	random := rand.New(rand.NewPCG(seedOf(t), 0))
	const n = 40_000
	for name, id := range map[string]func(int) string{
		"all the same": func(int) string { return "one" },
		"each twice":   func(i int) string { return fmt.Sprint(i / 2) },
		"few":          func(int) string { return fmt.Sprint(random.IntN(100)) },
	} {
		seen := map[string]bool{}
		want, dropped := uint64(0), uint64(0)
		all := crowd(random, n)
		for i := range all {
			all[i].Time = max(testHour, min(all[i].Time, testHour.Add(time.Hour)-1))
			s := id(i)
			all[i].ID = crest.ParseEventID(s)
			if seen[s] {
				dropped += uint64(all[i].Weight)
			} else {
				want += uint64(all[i].Weight)
			}
			seen[s] = true
		}
		config := testConfig()
		c := newCounter(config, t.TempDir())
		c.region = 256 << 10
		got, err := countHour(t.Context(), t, c, inputFor(t, archived(t, nil, all), config))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got.stats.weight != want || got.stats.duplicates != dropped {
			t.Errorf("%s: weight %d, duplicates %d; want %d, %d", name, got.stats.weight, got.stats.duplicates, want, dropped)
		}
	}
}

func TestCountingStopsWithItsContext(t *testing.T) {
	random := rand.New(rand.NewPCG(seedOf(t), 0))
	config := testConfig()
	in := inputFor(t, archived(t, nil, crowd(random, 20_000)), config)
	stopped := errors.New("stopped")
	for _, phase := range []Phase{PhaseDuplicate, PhaseCount, PhaseWrite} {
		ctx, cancel := context.WithCancelCause(t.Context())
		config.Observer.Progress = func(p Progress) {
			if p.Phase == phase {
				cancel(stopped)
			}
		}
		c := newCounter(config, t.TempDir())
		c.region = 256 << 10
		if _, err := countHour(ctx, t, c, in); !errors.Is(err, stopped) {
			t.Errorf("in phase %s: %v", phase, err)
		}
	}
}

// damaged returns the input with its files opened unverified, and one byte of the first changed.
func damaged(t *testing.T, view *archive.View, in hourInput, at int64) hourInput {
	t.Helper()
	in.own = slices.Clone(in.own)
	for i, s := range in.own {
		in.own[i].open = func() (*parquet.File, io.Closer, error) { return openUnverified(view.Path(s.hour, s.file)) }
	}
	flip(t, in.own[0].path, at)
	return in
}

// openUnverified opens a file as the archive does, but for its checksum.
func openUnverified(path string) (p *parquet.File, c io.Closer, err error) {
	h, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		r := recover() // the library may panic, which the archive takes for damage as well
		if r != nil || err != nil {
			p, c, err = nil, nil, errors.Join(&archive.CorruptError{Path: path, Reason: fmt.Sprint(r, err)}, h.Close())
		}
	}()
	info, err := h.Stat()
	if err != nil {
		return nil, nil, err
	}
	p, err = parquet.OpenFile(h, info.Size(), parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	return p, h, err
}

func flip(t *testing.T, path string, at int64) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var b [1]byte
	if _, err := f.ReadAt(b[:], at); err != nil {
		t.Fatal(err)
	}
	b[0] ^= 1 << (at % 8)
	if _, err := f.WriteAt(b[:], at); err != nil {
		t.Fatal(err)
	}
}

// A changed byte is found by the file's checksum. One that changes after that, or that nobody has looked for, is an error
// that names the file, or of no consequence: it is never a panic. In the footer alone it may also change the count: for the
// names of dimensions and the bounds of times nothing but the file's checksum vouches.
func TestDamagedFile(t *testing.T) {
	seed := seedOf(t)
	random := rand.New(rand.NewPCG(seed, 0))
	config := testConfig()
	view := archived(t, testDimensions, traffic(random, 800))
	in := inputFor(t, view, config)
	want, err := countHour(t.Context(), t, newCounter(config, t.TempDir()), in)
	if err != nil {
		t.Fatal(err)
	}
	size := in.own[0].file.Bytes
	footer := footerStart(t, in.own[0].path)
	var places []int64
	for at := max(0, size-1500); at < size; at++ {
		places = append(places, at)
	}
	for range 150 {
		places = append(places, random.Int64N(size))
	}
	found := 0
	for n, at := range places {
		unverified := damaged(t, view, in, at)
		if n%100 == 0 {
			_, err := countHour(t.Context(), t, newCounter(config, t.TempDir()), in)
			if c, ok := errors.AsType[*archive.CorruptError](err); !ok || c.Path != in.own[0].path {
				t.Fatalf("byte %d: %v", at, err)
			}
		}
		got, err := countHour(t.Context(), t, newCounter(config, t.TempDir()), unverified)
		c, ok := errors.AsType[*archive.CorruptError](err)
		switch {
		case ok && c.Path == in.own[0].path:
			found++
		case err != nil:
			t.Fatalf("byte %d: %v", at, err)
		case got.bytes != want.bytes && at < footer:
			t.Errorf("byte %d of %d: a changed byte changed the count", at, size)
		}
		flip(t, in.own[0].path, at) // back
	}
	if found < len(places)/3 {
		t.Errorf("%d of %d damaged files were found", found, len(places))
	}
}

// footerStart returns where the footer of a Parquet file begins.
func footerStart(t *testing.T, path string) int64 {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return int64(len(b)) - 8 - int64(binary.LittleEndian.Uint32(b[len(b)-8:]))
}
