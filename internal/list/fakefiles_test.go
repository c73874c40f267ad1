package list

import (
	"errors"
	"io/fs"
	"maps"
	"math/rand/v2"
	"path"
	"slices"
	"testing/fstest"
)

var errDisk = errors.New("the disk failed")

// fakeFiles is a directory tree whose power can go. A name that was made, moved or removed is so on disk only once its
// directory has been synced; what was done to names since may or may not be, in the order in which it was done.
type fakeFiles struct {
	live    map[string][]byte
	durable map[string][]byte
	pending []func(map[string][]byte) // changes of names, in order
	dirs    []string                  // the directory of each
	ops     int                       // operations so far
	failAt  int                       // the operation that fails; -1 for none
	down    bool                      // whether everything fails after it
	rand    *rand.Rand
}

func newFakeFiles(seed uint64, failAt int, down bool) *fakeFiles {
	return &fakeFiles{
		live: map[string][]byte{}, durable: map[string][]byte{}, failAt: failAt, down: down, rand: rand.New(rand.NewPCG(seed, 5)),
	}
}

func (f *fakeFiles) fails() bool {
	f.ops++
	return f.failAt >= 0 && (f.ops-1 == f.failAt || f.down && f.ops > f.failAt)
}

func (f *fakeFiles) change(dir string, do func(map[string][]byte)) {
	do(f.live)
	f.pending = append(f.pending, do)
	f.dirs = append(f.dirs, dir)
}

func (f *fakeFiles) Open(name string) (fs.File, error) {
	m := fstest.MapFS{}
	for n, data := range f.live {
		m[n] = &fstest.MapFile{Data: data}
	}
	return m.Open(name)
}

func (f *fakeFiles) Write(name string, data []byte) error {
	data = slices.Clone(data)
	if f.fails() {
		if f.ops-1 == f.failAt {
			torn := data[:f.rand.IntN(len(data)+1)]
			f.change(path.Dir(name), func(m map[string][]byte) { m[name] = torn })
		}
		return errDisk
	}
	f.change(path.Dir(name), func(m map[string][]byte) { m[name] = data })
	return nil
}

func (f *fakeFiles) Rename(from, to string) error {
	if f.fails() {
		return errDisk
	}
	f.change(path.Dir(to), func(m map[string][]byte) {
		if data, ok := m[from]; ok {
			m[to] = data
			delete(m, from)
		}
	})
	return nil
}

func (f *fakeFiles) Remove(name string) error {
	if f.fails() {
		return errDisk
	}
	f.change(path.Dir(name), func(m map[string][]byte) { delete(m, name) })
	return nil
}

func (f *fakeFiles) SyncDir(dir string) error {
	if f.fails() {
		return errDisk
	}
	var pending []func(map[string][]byte)
	var dirs []string
	for i, do := range f.pending {
		if f.dirs[i] == dir {
			do(f.durable)
		} else {
			pending, dirs = append(pending, do), append(dirs, f.dirs[i])
		}
	}
	f.pending, f.dirs = pending, dirs
	return nil
}

// afterPowerLoss returns what a machine that starts again finds.
func (f *fakeFiles) afterPowerLoss() *fakeFiles {
	found := maps.Clone(f.durable)
	for _, do := range f.pending[:f.rand.IntN(len(f.pending)+1)] {
		do(found)
	}
	next := newFakeFiles(f.rand.Uint64(), -1, false)
	next.live, next.durable = found, maps.Clone(found)
	return next
}
