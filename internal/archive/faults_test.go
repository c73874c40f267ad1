package archive

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"crest/internal/durable"
	"crest/internal/durable/frail"
)

// frailDisk is a disk that fails at one operation, and remembers what of it would survive a loss of power: the contents of a
// file as of its last sync, the names of a directory as of its last sync, and of everything since then any part.
type frailDisk struct {
	frail.Plan
	mu      sync.Mutex
	files   map[string]*inode // as they are
	durable map[string]*inode // names as of the last sync
	dirs    map[string]bool   // as they are: true once their names are durable
}

// inode is what a file's name stands for.
type inode struct{ synced []byte }

func newFrail(r *rand.Rand, failAt int, f frail.Fault) *frailDisk {
	return &frailDisk{
		Plan: frail.New(r, failAt, f), files: map[string]*inode{}, durable: map[string]*inode{}, dirs: map[string]bool{},
	}
}

func (f *frailDisk) Create(path string) (durable.File, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.Operation(); err != nil {
		return nil, err
	}
	inner, err := durable.Disk{}.Create(path)
	node := &inode{}
	f.files[path] = node
	return &frailFile{inner, f, path, node}, err
}

func (f *frailDisk) Rename(from, to string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.Operation(); err != nil {
		return err
	}
	f.files[to] = f.files[from]
	delete(f.files, from)
	return durable.Disk{}.Rename(from, to)
}

func (f *frailDisk) Remove(path string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.Operation(); err != nil {
		return err
	}
	delete(f.files, path)
	delete(f.dirs, path)
	return durable.Disk{}.Remove(path)
}

func (f *frailDisk) MakeDir(path string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.Operation(); err != nil {
		return err
	}
	f.dirs[path] = false
	return durable.Disk{}.MakeDir(path)
}

func (f *frailDisk) SyncDir(dir string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.Operation(); err != nil {
		return err
	}
	for path := range f.durable {
		if filepath.Dir(path) == dir {
			delete(f.durable, path)
		}
	}
	for path, node := range f.files {
		if filepath.Dir(path) == dir {
			f.durable[path] = node
		}
	}
	for path := range f.dirs {
		if filepath.Dir(path) == dir {
			f.dirs[path] = true
		}
	}
	return nil
}

type frailFile struct {
	durable.File
	disk *frailDisk
	path string
	node *inode
}

func (f *frailFile) Write(b []byte) (int, error) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if err := f.disk.Operation(); err != nil {
		n := f.disk.Rand.IntN(len(b) + 1)
		if _, err := f.File.Write(b[:n]); err != nil {
			panic(err)
		}
		return n, err
	}
	return f.File.Write(b)
}

func (f *frailFile) Sync() error {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	content, err := os.ReadFile(f.path)
	if err != nil {
		panic(err)
	}
	if err := f.disk.Operation(); err != nil {
		f.node.synced = f.disk.Mixed(f.node.synced, content) // the system takes for written what never was
		return err
	}
	f.node.synced = content
	return nil
}

// lose makes of the directory what a loss of power leaves.
func (f *frailDisk) lose(tb testing.TB) {
	tb.Helper()
	contents := map[*inode][]byte{}
	names := map[string]bool{}
	for path, node := range f.files {
		b, err := os.ReadFile(path)
		if err != nil {
			tb.Fatal(err)
		}
		contents[node] = f.Mixed(node.synced, b)
		names[path] = true
	}
	for path := range f.durable {
		names[path] = true
	}
	for path := range names {
		node := f.files[path]
		if f.Rand.IntN(2) == 0 {
			node = f.durable[path]
		}
		os.Remove(path)
		if node == nil {
			continue
		}
		b, ok := contents[node]
		if !ok {
			b = node.synced
		}
		if err := os.WriteFile(path, b, 0o600); err != nil && !os.IsNotExist(err) { // it was in a directory that is deleted
			tb.Fatal(err)
		}
	}
	for path, durable := range f.dirs {
		if !durable && f.Rand.IntN(2) == 0 {
			os.RemoveAll(path)
		}
	}
}

// Every operation of the disk fails once, or is the last before the power goes. Whatever a reader sees then is right, and
// after catching up every event is there once.
func TestEveryOperationFails(t *testing.T) {
	r := seeded(t)
	log := newFakeLog(noon)
	want := fill(r, log, nil, 40)
	log.now += hour
	operations := 0
	for _, f := range []frail.Fault{frail.Failure, frail.Outage, frail.PowerLoss} {
		for failAt := 1; ; failAt += stride(r, failAt) {
			seed := r.Uint64()
			survived := false
			t.Run(fmt.Sprintf("%v/%d", f, failAt), func(t *testing.T) {
				st := newFrail(rand.New(rand.NewPCG(seed, 0)), failAt, f)
				cfg := Config{Dir: filepath.Join(t.TempDir(), "archive"), FileRows: 40}
				live(t, cfg, st, log)
				survived = st.Survived()
				if f == frail.PowerLoss && !survived {
					st.lose(t)
				}
				checkSeen(t, cfg.Dir, want)
				w := start(t, cfg, log)
				w.commit(t)
				w.mustStop(t)
				sameRows(t, readAll(t, cfg.Dir), want.all())
				checkNothingElse(t, cfg.Dir)
				operations = max(operations, failAt)
			})
			if survived || t.Failed() {
				break
			}
		}
	}
	if operations < 100 {
		t.Errorf("only %d operations of the disk", operations)
	}
}

// stride is how far the next operation to fail is from the last: the first few are all tried, of the others some in each run,
// unless CREST_EVERY_FAULT is set.
func stride(r *rand.Rand, failAt int) int {
	if os.Getenv("CREST_EVERY_FAULT") != "" {
		return 1
	}
	return 1 + r.IntN(1+failAt)
}

// live runs writers on a frail disk until all is archived, or the power goes.
func live(t *testing.T, cfg Config, st *frailDisk, log *fakeLog) {
	t.Helper()
	for {
		w, err := open(cfg, st)
		if err != nil {
			select {
			case <-st.Dead:
				return
			default:
				continue // as whoever starts the program again
			}
		}
		w.retry = retry{time.Microsecond, time.Microsecond}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- w.Run(ctx, log) }()
		committed := make(chan error, 1)
		go func() { committed <- w.Commit(t.Context()) }()
		select {
		case <-st.Dead:
		case err := <-committed:
			if err != nil {
				t.Error(err)
			}
		}
		cancel()
		if err := <-done; err != nil {
			t.Log(err)
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
		return
	}
}

// checkSeen sees that a reader gets whole files alone, every event at most once, and all that the state promises.
func checkSeen(t *testing.T, dir string, want expected) {
	t.Helper()
	v, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	got := readAll(t, dir)
	known := map[stored]bool{}
	for _, s := range want.all() {
		known[s] = true
	}
	for _, s := range got {
		if !known[s] {
			t.Fatalf("%+v is there twice, or was never sent", s)
		}
		delete(known, s)
	}
	sameRows(t, slices.DeleteFunc(got, func(s stored) bool { return s.Received >= v.State.Watermark }), want.before(v.State.Watermark))
}

// checkNothingElse sees that nothing is left of what was not finished.
func checkNothingElse(t *testing.T, dir string) {
	t.Helper()
	v, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{lockName: true, stateName: true, copyOf(stateName): true}
	for _, h := range v.Hours() {
		hour, err := v.Hour(h)
		if err != nil {
			t.Fatal(err)
		}
		rel, _ := filepath.Rel(dir, hourDir(dir, h))
		listed[filepath.Join(rel, manifestName)] = true
		for _, f := range hour.Files {
			listed[filepath.Join(rel, f.Name)] = true
		}
	}
	for name := range readTree(t, dir) {
		if base := filepath.Base(name); !listed[name] && base != manifestName && base != copyOf(manifestName) {
			t.Errorf("%s is left over", name)
		}
	}
}
