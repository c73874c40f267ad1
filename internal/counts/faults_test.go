package counts

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"crest/internal/durable"
)

var errFault = errors.New("fault")

// faultyFiles fail at one operation, and at every one after it if dead.
type faultyFiles struct {
	durable.Disk
	left int
	dead bool
	last string // the operation that failed first
}

func (f *faultyFiles) fails(operation string) bool {
	f.left--
	if f.left == 0 {
		f.last = operation
	}
	return f.left == 0 || f.dead && f.left < 0
}

func (f *faultyFiles) Create(name string) (durable.File, error) {
	if f.fails("create") {
		return nil, errFault
	}
	file, err := f.Disk.Create(name)
	return &faultyFile{file, f}, err
}

func (f *faultyFiles) Rename(from, to string) error {
	if f.fails("rename") {
		return errFault
	}
	return f.Disk.Rename(from, to)
}

func (f *faultyFiles) Remove(name string) error {
	if f.fails("remove") {
		return errFault
	}
	return f.Disk.Remove(name)
}

func (f *faultyFiles) SyncDir(name string) error {
	if f.fails("sync directory") {
		return errFault
	}
	return f.Disk.SyncDir(name)
}

type faultyFile struct {
	durable.File
	files *faultyFiles
}

func (f *faultyFile) Write(p []byte) (int, error) {
	if f.files.fails("write") {
		n, _ := f.File.Write(p[:len(p)/2])
		return n, errFault
	}
	return f.File.Write(p)
}

func (f *faultyFile) Sync() error {
	if f.files.fails("sync") {
		return errFault
	}
	return f.File.Sync()
}

func (f *faultyFile) Close() error {
	if f.files.fails("close") {
		f.File.Close()
		return errFault
	}
	return f.File.Close()
}

// TestFaultsLeaveNothingHalf fails every operation of writing a file in turn: what is under its name is what was there
// before, or the new file, whole.
func TestFaultsLeaveNothingHalf(t *testing.T) {
	r := newRand(t)
	rows := randomRows(r, 3, 20_000)
	dir := t.TempDir()
	old := []Row{{"video", "old", 1, 0}}
	oldInfo := writeRows(t, filepath.Join(dir, "old"), old)
	want := writeRows(t, filepath.Join(dir, "new"), rows)
	failed := map[string]bool{}
	for _, dead := range []bool{false, true} {
		for n := 1; ; n++ {
			files := &faultyFiles{left: n, dead: dead}
			path := filepath.Join(dir, "file")
			writeRows(t, path, old)
			info, err := write(files, path, rows)
			if files.left > 0 { // it was done before anything failed
				if err != nil || info != want {
					t.Fatalf("without a fault: %v", err)
				}
				break
			}
			failed[files.last] = true
			if err == nil || !errors.Is(err, errFault) {
				t.Fatalf("fault at operation %d, %s: got %v", n, files.last, err)
			}
			if table, err := Open(path, want); err == nil && files.last == "sync directory" {
				table.Close()
			} else if table, err := Open(path, oldInfo); err != nil {
				t.Fatalf("fault at operation %d, %s: %v", n, files.last, err)
			} else {
				table.Close()
			}
			if _, err := os.Stat(path + durable.AsideSuffix); !dead && !errors.Is(err, fs.ErrNotExist) {
				t.Fatalf("fault at operation %d, %s: the file aside is left: %v", n, files.last, err)
			}
		}
	}
	for _, operation := range []string{"create", "write", "sync", "close", "rename", "sync directory"} {
		if !failed[operation] {
			t.Errorf("operation %q never failed", operation)
		}
	}
}

// write writes rows and goes on after errors, as a careless caller would.
func write(files durable.Files, path string, rows []Row) (Info, error) {
	w, err := CreateIn(files, path)
	if err != nil {
		return Info{}, err
	}
	for _, row := range rows {
		err = errors.Join(err, w.Append(row))
	}
	info, err2 := w.Close()
	if err2 == nil && err != nil {
		return info, errors.New("closing forgot an error")
	}
	return info, err2
}

func TestWriterRefusesDisorder(t *testing.T) {
	long := string(make([]byte, MaxItemBytes+1))
	for name, rows := range map[string][]Row{
		"item twice":       {{"b", "x", 1, 0}, {"b", "x", 1, 0}},
		"item before":      {{"b", "x", 1, 0}, {"b", "w", 1, 0}},
		"board before":     {{"b", "x", 1, 0}, {"a", "y", 1, 0}},
		"nothing counted":  {{"b", "x", 0, 0}},
		"item too long":    {{"b", long, 1, 0}},
		"board too long":   {{string(make([]byte, MaxBoardBytes+1)), "x", 1, 0}},
		"count too large":  {{"b", "x", MaxCount + 1, 0}},
		"sum too large":    {{"b", "x", MaxCount, 0}, {"b", "y", 1, 0}},
		"repeats too many": {{"b", "x", 1, MaxCount + 1}},
	} {
		dir := t.TempDir()
		if _, err := write(durable.Disk{}, filepath.Join(dir, "x"), rows); err == nil {
			t.Errorf("%s: written", name)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("%s: %v is left, %v", name, left, err)
		}
	}
}

func TestAbort(t *testing.T) {
	dir := t.TempDir()
	w, err := Create(filepath.Join(dir, "x"))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Append(Row{"a", "b", 1, 0}), w.Abort(), w.Abort()); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Close(); err == nil {
		t.Error("closed after being given up")
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}

func TestMetadata(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	w, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Set("hour", "2026-11-30T09:00:00Z"), w.Set("cut", "1"), w.Set("cut", "2")); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"", keyVersion, keyPrefix + "x"} {
		if w.Set(key, "1") == nil {
			t.Errorf("key %q can be set", key)
		}
	}
	if w.Set("long", string(make([]byte, MaxMetadata))) == nil {
		t.Error("values have no limit")
	}
	info, err := w.Close()
	if err != nil {
		t.Fatal(err)
	}
	if w.Set("late", "1") == nil || w.Append(Row{"a", "b", 1, 0}) == nil || w.Abort() != nil {
		t.Error("a closed file can be changed")
	}
	if _, err := w.Close(); err == nil {
		t.Error("closed twice")
	}
	table, err := Open(path, info)
	if err != nil {
		t.Fatal(err)
	}
	defer table.Close()
	hour, _ := table.Metadata("hour")
	cut, _ := table.Metadata("cut")
	_, there := table.Metadata("none")
	if got := []string{hour, cut}; !slices.Equal(got, []string{"2026-11-30T09:00:00Z", "2"}) || there {
		t.Errorf("got %q, %v", got, there)
	}
}

// TestNewerVersion: a file of a later format is refused as such, by whoever opens it. It is not damaged.
func TestNewerVersion(t *testing.T) {
	dir := t.TempDir()
	for kind, info := range writeAll(t, dir) {
		path := filepath.Join(dir, kind)
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		at := bytes.LastIndex(b, []byte(keyVersion+"\x18\x01"+version)) // as the footer has a key and its value
		if at < 0 {
			t.Fatalf("%s: no version", kind)
		}
		b[at+len(keyVersion)+2] = '9'
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		sum := newHasher()
		sum.write(b)
		info.Checksum = sum.sum()
		errs := []error{openers()[kind](path, info)}
		switch kind {
		case "counts":
			_, _, err = Examine(path)
			errs = append(errs, err)
		case "late":
			_, _, err = ExamineLate(path)
			errs = append(errs, err)
		}
		for _, err := range errs {
			newer, ok := errors.AsType[*VersionError](err)
			if _, damaged := errors.AsType[*CorruptError](err); !ok || damaged || newer.Path != path || newer.Version != 9 ||
				!strings.Contains(err.Error(), "newer crest") {
				t.Errorf("%s: got %v", kind, err)
			}
		}
	}
}
