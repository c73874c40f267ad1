package disklog

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"crest"
	"crest/internal/durable/frail"
	"crest/internal/eventlog"
)

// frailDisk is a disk that fails at one operation, and remembers what of it would survive a loss of power: the contents of
// a file as of its last sync, the names of a directory as of its last sync, and of everything since then any part.
type frailDisk struct {
	frail.Plan
	mu     sync.Mutex
	synced map[string][]byte // contents, by path
	named  map[string]bool   // paths
}

func newFrail(r *rand.Rand, failAt int, f frail.Fault) *frailDisk {
	return &frailDisk{Plan: frail.New(r, failAt, f), synced: map[string][]byte{}, named: map[string]bool{}}
}

func (f *frailDisk) Create(path string) (file, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.Operation(); err != nil {
		return nil, err
	}
	inner, err := os.Create(path)
	return &frailFile{inner, f, path}, err
}

func (f *frailDisk) Open(path string) (file, int64, error) {
	inner, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, 0, err
	}
	info, err := inner.Stat()
	return &frailFile{inner, f, path}, info.Size(), err
}

func (f *frailDisk) Remove(path string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.Operation(); err != nil {
		return err
	}
	return os.Remove(path)
}

func (f *frailDisk) SyncDir(dir string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.Operation(); err != nil {
		return err
	}
	clear(f.named)
	for _, path := range paths(dir) {
		f.named[path] = true
	}
	return nil
}

func paths(dir string) []string {
	all, err := filepath.Glob(filepath.Join(dir, "*"+segmentSuffix))
	if err != nil {
		panic(err)
	}
	return all
}

type frailFile struct {
	file
	disk *frailDisk
	path string
}

func (f *frailFile) WriteAt(b []byte, at int64) (int, error) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if err := f.disk.Operation(); err != nil {
		n := min(len(b), f.disk.Rand.IntN(2*len(b)))
		if _, err := f.file.WriteAt(b[:n], at); err != nil {
			panic(err)
		}
		return n, err
	}
	return f.file.WriteAt(b, at)
}

func (f *frailFile) Truncate(size int64) error {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if err := f.disk.Operation(); err != nil {
		return err
	}
	return f.file.Truncate(size)
}

func (f *frailFile) Sync() error {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	content, err := os.ReadFile(f.path)
	if err != nil {
		panic(err)
	}
	if err := f.disk.Operation(); err != nil {
		// As on Linux: from now on the system takes for written what never was.
		f.disk.synced[f.path] = f.disk.Mixed(f.disk.synced[f.path], content)
		return err
	}
	f.disk.synced[f.path] = content
	return nil
}

// lose makes of dir what a loss of power leaves.
func (f *frailDisk) lose(dir string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := map[string]bool{}
	for _, path := range paths(dir) {
		all[path] = true
	}
	for path := range f.named {
		all[path] = true
	}
	for path := range all {
		now, err := os.ReadFile(path)
		exists := err == nil
		if exists != f.named[path] && f.Rand.IntN(2) == 0 {
			exists = !exists
		}
		if !exists {
			os.Remove(path)
			continue
		}
		if now == nil {
			now = f.synced[path]
		}
		if err := os.WriteFile(path, f.Mixed(f.synced[path], now), 0o600); err != nil {
			panic(err)
		}
	}
}

// outcome is what a log said about the records it was given.
type outcome struct {
	all     []string
	durable map[string]bool // acknowledged so
	refused map[string]bool // said not to be kept
	read    []string        // by a reader, before the end
	trimmed eventlog.Offset
}

// live runs a log on a frail disk until its end, by power loss or by closing.
func live(t *testing.T, dir string, r *rand.Rand, st *frailDisk) outcome {
	t.Helper()
	o := outcome{durable: map[string]bool{}, refused: map[string]bool{}}
	l, err := open(Config{Dir: dir, SegmentBytes: 4 << 10, RetainBytes: 24 << 10, Now: fixedClock}, st)
	if err != nil {
		return o
	}
	defer l.Close()
	reader, err := l.NewReader(0)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	for i := range 40 {
		var records []eventlog.Append
		var payloads []string
		for j := range 1 + r.IntN(4) {
			// Many are of one size, so that what an unsuccessful write leaves could pass for what comes after the next.
			size := 400
			if r.IntN(6) == 0 {
				size = r.IntN(1000)
			}
			p := fmt.Sprintf("%02d.%d %s", i, j, strings.Repeat(".", size))
			payloads = append(payloads, p)
			records = append(records, eventlog.Append{Partition: len(p) % 7, Payload: []byte(p)})
		}
		o.all = append(o.all, payloads...)
		durable := r.IntN(4) > 0
		_, err := l.Append(t.Context(), records, durable)
		for _, p := range payloads {
			switch {
			case err != nil:
				o.refused[p] = true
				if crest.CodeOf(err) != crest.CodeLogUnavailable {
					t.Fatal(err)
				}
			case durable:
				o.durable[p] = true
			}
		}
		if len(o.refused) > 0 && r.IntN(4) == 0 {
			return o // before more is written over what the failure left
		}
		if r.IntN(3) == 0 {
			b, err := reader.Read(t.Context(), 0)
			if err != nil {
				t.Fatal(err)
			}
			for _, record := range b.Records {
				o.read = append(o.read, string(record.Payload))
			}
		}
		if r.IntN(8) == 0 {
			_, err := l.Retain(1 << 60)
			if err != nil && !errors.Is(err, syscall.ENOSPC) {
				t.Fatal(err)
			}
			if o.trimmed, _ = l.Range(); o.trimmed > 0 {
				return o // what was trimmed is no longer to be found: enough of this life
			}
		}
	}
	return o
}

// checkSurvivors compares what a log has after its end with what it promised before.
func checkSurvivors(t *testing.T, o outcome, got []string, damaged int, oldest eventlog.Offset) {
	t.Helper()
	if damaged != 0 {
		t.Errorf("damage is reported %d times", damaged)
	}
	kept := map[string]bool{}
	for _, p := range got {
		kept[p] = true
	}
	order := slices.DeleteFunc(slices.Clone(o.all), func(p string) bool { return !kept[p] })
	same(t, "order", got, order)
	if oldest > 0 {
		return // it can't be told any more what was trimmed
	}
	for p := range o.durable {
		if !kept[p] {
			t.Errorf("%.10q was durable and is lost", p)
		}
	}
	if len(got) < len(o.read) {
		t.Fatalf("%d records had been read, %d are left", len(o.read), len(got))
	}
	same(t, "what had been read", got[:len(o.read)], o.read)
	// Where writing went on after a failure, nothing refused before is kept.
	last := 0
	for i, p := range o.all {
		if o.durable[p] {
			last = i
		}
	}
	for _, p := range o.all[:last] {
		if o.refused[p] && kept[p] {
			t.Errorf("%.10q was refused and is kept", p)
		}
	}
}

// Every operation of the disk fails once, or is the last before the power goes; what was acknowledged is there after,
// in order, and nothing else is but what was on its way.
func TestEveryOperationFails(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	for _, f := range []frail.Fault{frail.Failure, frail.Outage, frail.PowerLoss} {
		for failAt := 1; failAt <= 120; failAt++ {
			t.Run(fmt.Sprintf("%v/%d", f, failAt), func(t *testing.T) {
				r := rand.New(rand.NewPCG(seed, uint64(failAt)))
				dir := filepath.Join(t.TempDir(), "log")
				st := newFrail(rand.New(rand.NewPCG(seed, uint64(1000+failAt))), failAt, f)
				o := live(t, dir, r, st)
				if f == frail.PowerLoss {
					st.lose(dir)
				}
				l := reopen(t, Config{Dir: dir, SegmentBytes: 4 << 10, Now: fixedClock})
				defer l.Close()
				oldest, _ := l.Range()
				got, damaged := readFrom(t, l, oldest)
				checkSurvivors(t, o, got, damaged, oldest)
				add(t, l, "and on")
				got, _ = readFrom(t, l, oldest)
				if got[len(got)-1] != "and on" {
					t.Error("the log does not go on")
				}
			})
		}
	}
}
