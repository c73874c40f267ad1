package exact

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"crest/internal/durable"
)

// replaceFile makes a file of these bytes, or replaces the one of that name, in one step and durably.
func replaceFile(st durable.Files, path string, content []byte) error {
	if err := durable.Replace(st, path, content); err != nil {
		return err
	}
	return st.SyncDir(filepath.Dir(path))
}

// ours says whether a recounter writes files or directories of that name, at that depth: others are left alone.
func ours(rel string) bool {
	parts := strings.Split(rel, "/")
	name := parts[len(parts)-1]
	if strings.HasSuffix(name, durable.AsideSuffix) {
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
func sweep(st durable.Files, dir string, keep ...*manifest) error {
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
