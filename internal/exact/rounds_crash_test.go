package exact

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"crest/internal/durable"
)

var errDead = errors.New("the power is gone")

// mortal is a disk whose power goes at one operation. What had not been synced by then is lost, or kept in part: contents of
// files, and names of a directory.
type mortal struct {
	durable.Disk
	random   *rand.Rand
	left     int // operations until the power goes
	unsynced map[string]bool
	undo     map[string][]func() // by directory: what takes back the changes to its names
}

func newMortal(random *rand.Rand, left int) *mortal {
	return &mortal{random: random, left: left, unsynced: map[string]bool{}, undo: map[string][]func(){}}
}

// spend says whether the disk can still do something.
func (m *mortal) spend() error {
	m.left--
	switch {
	case m.left > 0:
		return nil
	case m.left == 0:
		m.lose()
	}
	return errDead
}

// lose makes of the directory what the loss of power leaves.
func (m *mortal) lose() {
	for path := range m.unsynced {
		if info, err := os.Stat(path); err == nil {
			_ = os.Truncate(path, m.random.Int64N(info.Size()+1))
		}
	}
	for _, undo := range m.undo {
		keep := m.random.IntN(len(undo) + 1) // the first so many have reached the disk
		for i := len(undo) - 1; i >= keep; i-- {
			undo[i]()
		}
	}
}

// put makes a file as it was.
func put(path string, content []byte) {
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), durable.DirMode), os.WriteFile(path, content, durable.FileMode)); err != nil {
		panic(err)
	}
}

func (m *mortal) change(path string, undo func()) {
	dir := filepath.Dir(path)
	m.undo[dir] = append(m.undo[dir], undo)
}

func (m *mortal) Create(path string) (durable.File, error) {
	if err := m.spend(); err != nil {
		return nil, err
	}
	f, err := m.Disk.Create(path)
	m.unsynced[path] = true
	m.change(path, func() { os.Remove(path) })
	return &mortalFile{f, m, path}, err
}

func (m *mortal) Rename(from, to string) error {
	if err := m.spend(); err != nil {
		return err
	}
	before, err := os.ReadFile(to)
	had := err == nil
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if m.unsynced[from] {
		m.unsynced[to] = true
	}
	delete(m.unsynced, from)
	m.change(to, func() {
		put(from, content)
		if had {
			put(to, before)
		} else {
			os.Remove(to)
		}
	})
	return m.Disk.Rename(from, to)
}

func (m *mortal) Remove(path string) error {
	if err := m.spend(); err != nil {
		return err
	}
	content, err := os.ReadFile(path)
	if err == nil {
		m.change(path, func() {
			put(path, content)
		})
	}
	return m.Disk.Remove(path)
}

func (m *mortal) MakeDir(path string) error {
	if err := m.spend(); err != nil {
		return err
	}
	return m.Disk.MakeDir(path)
}

func (m *mortal) SyncDir(path string) error {
	if err := m.spend(); err != nil {
		return err
	}
	delete(m.undo, path)
	return nil
}

type mortalFile struct {
	durable.File
	disk *mortal
	path string
}

func (f *mortalFile) Write(b []byte) (int, error) {
	if err := f.disk.spend(); err != nil {
		return 0, err
	}
	return f.File.Write(b)
}

func (f *mortalFile) Sync() error {
	if err := f.disk.spend(); err != nil {
		return err
	}
	delete(f.disk.unsynced, f.path)
	return nil
}

// contents returns the files below a directory.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			all[rel] = "directory"
			return nil
		}
		b, err := os.ReadFile(path)
		all[rel] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func sameContents(t *testing.T, got, want map[string]string) {
	t.Helper()
	for name, content := range want {
		if g, ok := got[name]; !ok {
			t.Errorf("%s is missing", name)
		} else if g != content {
			t.Errorf("%s has other content", name)
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			t.Errorf("%s should not be there", name)
		}
	}
}

// crashWorld is a world with a quiet hour, late events and a hour counted again, in two steps of the archive.
func crashWorld(t *testing.T, random *rand.Rand) (w *world, step func(int)) {
	t.Helper()
	w = newWorld(t, days(random, testHour, 6, 15))
	steps := []time.Duration{3*time.Hour + 12*time.Minute, 6*time.Hour + 21*time.Minute}
	return w, func(i int) { w.advance(testHour.Add(steps[i])) }
}

func TestPowerGoesAtEveryOperation(t *testing.T) {
	random := rand.New(rand.NewPCG(seedOf(t), 0))
	w, step := crashWorld(t, random)
	step(0)
	w.count(w.recounter())
	middle := filepath.Join(w.dir, "middle")
	if err := os.CopyFS(middle, os.DirFS(w.config.Dir)); err != nil {
		t.Fatal(err)
	}
	step(1)
	w.count(w.recounter())
	want := contents(t, w.config.Dir)
	w.check(w.load(), false)
	const stride = 3 // other operations each time the test runs
	for at := 1 + random.IntN(stride); ; at += stride {
		w.config.Dir = filepath.Join(w.dir, "crash")
		if err := os.RemoveAll(w.config.Dir); err != nil {
			t.Fatal(err)
		}
		if err := os.CopyFS(w.config.Dir, os.DirFS(middle)); err != nil {
			t.Fatal(err)
		}
		m := newMortal(random, at)
		r := w.recounter()
		r.storage = m
		alive := true
		for alive {
			result, err := r.Round(t.Context())
			if err != nil && !errors.Is(err, errDead) {
				t.Fatalf("operation %d: %v", at, err)
			}
			alive = err == nil && !result.Done
		}
		if m.left > 0 {
			t.Logf("%d operations", at-1)
			break
		}
		if at%7 == 0 {
			w.check(w.load(), true)
		}
		for _, result := range w.count(w.recounter()) {
			if len(result.Problems) > 0 {
				t.Fatalf("operation %d: %v", at, result.Problems)
			}
		}
		sameContents(t, contents(t, w.config.Dir), want)
		if t.Failed() {
			t.Fatalf("after the power went at operation %d", at)
		}
	}
}

// Interrupted fifty times, counting ends with the same bytes as if it had not been.
func TestInterruptedFiftyTimes(t *testing.T) {
	random := rand.New(rand.NewPCG(seedOf(t), 0))
	w, step := crashWorld(t, random)
	step(1)
	w.count(w.recounter())
	want := contents(t, w.config.Dir)
	w.config.Dir = filepath.Join(w.dir, "crash")
	for range 50 {
		r := w.recounter()
		r.storage = newMortal(random, 1+random.IntN(150))
		for {
			if result, err := r.Round(t.Context()); err != nil || result.Done {
				break
			}
		}
	}
	w.count(w.recounter())
	sameContents(t, contents(t, w.config.Dir), want)
	w.check(w.load(), false)
}
