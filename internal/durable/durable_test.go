package durable

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
)

// recorder notes what is done, and fails from one operation on.
type recorder struct {
	Disk
	left int
	done []string
}

func (r *recorder) do(what string) error {
	r.left--
	if r.left < 0 {
		return syscall.ENOSPC
	}
	r.done = append(r.done, what)
	return nil
}

func (r *recorder) Create(path string) (File, error) {
	if err := r.do("create " + filepath.Base(path)); err != nil {
		return nil, err
	}
	f, err := r.Disk.Create(path)
	return recorded{f, r}, err
}

func (r *recorder) Rename(from, to string) error {
	return errors.Join(r.do("rename "+filepath.Base(from)+" to "+filepath.Base(to)), r.Disk.Rename(from, to))
}

func (r *recorder) MakeDir(path string) error {
	return errors.Join(r.do("make "+filepath.Base(path)), r.Disk.MakeDir(path))
}

func (r *recorder) SyncDir(path string) error {
	return errors.Join(r.do("sync "+filepath.Base(path)), r.Disk.SyncDir(path))
}

type recorded struct {
	File
	by *recorder
}

func (f recorded) Write(b []byte) (int, error) {
	if err := f.by.do("write"); err != nil {
		return 0, err
	}
	return f.File.Write(b)
}

func (f recorded) Sync() error { return errors.Join(f.by.do("sync"), f.File.Sync()) }

func TestReplace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	for n, content := range []string{"one", "another"} {
		r := &recorder{left: 10}
		if err := Replace(r, path, []byte(content)); err != nil {
			t.Fatal(err)
		}
		if want := []string{"create file.tmp", "write", "sync", "rename file.tmp to file"}; !slices.Equal(r.done, want) {
			t.Errorf("replacement %d: %q, want %q", n, r.done, want)
		}
		if b, err := os.ReadFile(path); err != nil || string(b) != content {
			t.Errorf("replacement %d: %q, %v", n, b, err)
		}
	}
	for left := range 3 { // before the new name
		if err := Replace(&recorder{left: left}, path, []byte("a third")); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("a fault after %d operations: %v", left, err)
		}
		if b, err := os.ReadFile(path); err != nil || string(b) != "another" {
			t.Errorf("a fault after %d operations leaves %q, %v", left, b, err)
		}
	}
}

// A directory's name is durable before anything is made in it; what exists is left alone.
func TestMakeDirs(t *testing.T) {
	for _, dir := range []string{"base", "./base/", "base/../base"} {
		t.Chdir(t.TempDir())
		if err := os.MkdirAll("base/a", 0o700); err != nil {
			t.Fatal(err)
		}
		for _, want := range [][]string{{"make b", "sync a", "make c", "sync b"}, nil} {
			r := &recorder{left: 10}
			if err := MakeDirs(r, dir, "a/b/c"); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(r.done, want) {
				t.Errorf("in %s: %q, want %q", dir, r.done, want)
			}
			if info, err := os.Stat("base/a/b/c"); err != nil || !info.IsDir() {
				t.Errorf("in %s: %v", dir, err)
			}
		}
	}
	if err := MakeDirs(&recorder{left: 10}, filepath.Join(t.TempDir(), "absent"), "a"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("in a directory that is not there: %v", err)
	}
	if err := (Disk{}).MakeDir(t.TempDir()); err != nil {
		t.Errorf("a directory that is there: %v", err)
	}
}
