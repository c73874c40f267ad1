package exact

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"crest/internal/counts"
)

// storage is what a recounter writes through; tests let it fail and die. Paths are those of the operating system.
type storage interface {
	counts.Files
	MakeDir(path string) error // its parent exists; no error when it exists
}

const (
	fileMode = 0o640 // as the archive's: any tool reads them
	dirMode  = 0o750
)

// disk is the storage of the operating system.
type disk struct{}

func (disk) Create(path string) (counts.File, error) {
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, fileMode)
}

func (disk) Rename(from, to string) error { return os.Rename(from, to) }

func (disk) Remove(path string) error { return os.Remove(path) }

func (disk) SyncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func (disk) MakeDir(path string) error {
	err := os.Mkdir(path, dirMode)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// makeDirs makes the directories of a path below dir, which exists, and returns once they are on disk.
func makeDirs(st storage, dir, below string) error {
	for part := range strings.SplitSeq(below, "/") {
		next := filepath.Join(dir, part)
		if info, err := os.Stat(next); err == nil && info.IsDir() {
			dir = next
			continue
		}
		if err := st.MakeDir(next); err != nil {
			return err
		}
		if err := st.SyncDir(dir); err != nil {
			return err
		}
		dir = next
	}
	return nil
}

// replaceFile makes a file of these bytes, or replaces the one of that name, in one step and durably.
func replaceFile(st storage, path string, content []byte) error {
	f, err := st.Create(path + asideSuffix)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := st.Rename(path+asideSuffix, path); err != nil {
		return err
	}
	return st.SyncDir(filepath.Dir(path))
}

// ours says whether a recounter writes files or directories of that name, at that depth: others are left alone.
func ours(rel string) bool {
	parts := strings.Split(rel, "/")
	name := parts[len(parts)-1]
	if strings.HasSuffix(name, asideSuffix) {
		return true
	}
	switch {
	case len(parts) == 3 && strings.HasPrefix(parts[0], "date=") && strings.HasPrefix(parts[1], "hour="):
		return strings.HasSuffix(name, parquetSuffix) && (strings.HasPrefix(name, countsPrefix) || strings.HasPrefix(name, latePrefix))
	case len(parts) == 2 && parts[0] == totalsDir:
		return strings.HasSuffix(name, parquetSuffix)
	}
	return false
}

const (
	lockName      = "lock" // held by the recounter that is at work
	parquetSuffix = ".parquet"
	countsPrefix  = "counts-"
	latePrefix    = "late-"
	totalsDir     = "totals"
)

// sweep removes what neither of the manifests refers to: what an interrupted round left, and files that have been
// replaced. Directories that are empty by that go as well.
func sweep(st storage, dir string, keep ...*manifest) error {
	kept := map[string]bool{}
	for _, m := range keep {
		if m != nil {
			for _, f := range m.files() {
				kept[f.Name] = true
			}
		}
	}
	var dirs []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			if strings.HasPrefix(rel, "date=") || rel == totalsDir {
				dirs = append(dirs, path)
			}
			return nil
		}
		if kept[rel] || !ours(rel) {
			return nil
		}
		return st.Remove(path)
	})
	if err != nil {
		return err
	}
	for _, d := range slices.Backward(dirs) { // inner ones first
		if entries, err := os.ReadDir(d); err == nil && len(entries) == 0 {
			if err := st.Remove(d); err != nil {
				return err
			}
		}
	}
	return nil
}
