package archive

import (
	"os"
	"path/filepath"
	"testing"
)

// Whatever a document holds, reading it returns an error or what was written, and never panics.
func FuzzDocument(f *testing.F) {
	for _, name := range []string{stateName, "date=2025-11-30/hour=12/" + manifestName} {
		b, err := os.ReadFile(filepath.Join("testdata", "v1", filepath.FromSlash(name)))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		dir := t.TempDir()
		start := noon
		if err := os.MkdirAll(hourDir(dir, start), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(hourDir(dir, start), manifestName), b, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, stateName), b, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := readState(dir); err == nil {
			if _, err := Read(dir); err != nil {
				t.Error(err)
			}
		}
		_, _ = readManifest(dir, start)
	})
}
