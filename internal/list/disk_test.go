package list

import (
	"bytes"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"crest"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestGoldenBlob(t *testing.T) {
	l := made(t, "article/category=sports", hour, t0, 4011)
	for name, got := range map[string][]byte{"list-v1.json": encodeBlob(&l), "pointer-v1": encodePointer(l.Version)} {
		path := filepath.Join("testdata", name)
		if *update {
			if err := os.WriteFile(path, got, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
		}
	}
	blob, err := os.ReadFile("testdata/list-v1.json")
	if err != nil {
		t.Fatal(err)
	}
	read, err := decodeBlob(blob)
	if err != nil || !bytes.Equal(read.AppendJSON(nil), l.AppendJSON(nil)) {
		t.Errorf("read %+v, %v", read, err)
	}
	version, err := decodePointer(encodePointer(l.Version))
	if err != nil || version != l.Version {
		t.Errorf("read %q, %v", version, err)
	}
}

func TestABlobWithAWrongBitIsRefused(t *testing.T) {
	l := made(t, "video", hour, t0, 4011)
	blob := encodeBlob(&l)
	for i := range blob {
		for bit := range 8 {
			bad := slices.Clone(blob)
			bad[i] ^= 1 << bit
			if read, err := decodeBlob(bad); err == nil && !bytes.Equal(read.AppendJSON(nil), l.AppendJSON(nil)) {
				t.Fatalf("bit %d of byte %d wrong: read %+v", bit, i, read)
			}
		}
		if _, err := decodeBlob(blob[:i]); err == nil && i < len(blob)-1 {
			t.Fatalf("cut at byte %d: no error", i)
		}
	}
}

func TestABlobThatSaysWhatNoListSaysIsRefused(t *testing.T) {
	for name, change := range map[string]func(*crest.List){
		"version":  func(l *crest.List) { l.Version = "../../etc/passwd" },
		"board":    func(l *crest.List) { l.Board = "" },
		"k":        func(l *crest.List) { l.K = 0 },
		"rank":     func(l *crest.List) { l.Top[0].Rank = 7 },
		"interval": func(l *crest.List) { l.Top[0].Error = l.Top[0].Count + 1 },
		"order":    func(l *crest.List) { l.Top = append(l.Top, crest.Entry{Rank: 2, ID: "b", Count: 1e9}) },
	} {
		l := made(t, "video", hour, t0, 4011)
		change(&l)
		if _, err := decodeBlob(encodeBlob(&l)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	future := bytes.Replace(encodeBlob(new(made(t, "video", hour, t0, 1))), []byte(`"format":1`), []byte(`"format":2`), 1)
	if _, err := decodeBlob(future); err == nil || !strings.Contains(err.Error(), "format 2") {
		t.Errorf("a later format: %v", err)
	}
}

func FuzzBlob(f *testing.F) {
	for _, name := range []string{"list-v1.json", "pointer-v1"} {
		data, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if l, err := decodeBlob(data); err == nil {
			for k := range 3 {
				sliced := l.Slice(k)
				sliced.AppendJSON(nil)
			}
		}
		if version, err := decodePointer(data); err == nil && len(version) != 26 {
			t.Errorf("pointer to %q", version)
		}
	})
}

func TestOpenFallsBackToTheNewestGoodVersion(t *testing.T) {
	versions := make([]crest.List, 4)
	for i := range versions {
		versions[i] = made(t, "video", hour, t0-4+crest.Millis(i), uint64(i+1))
	}
	for _, c := range []struct {
		name    string
		damage  func(files map[string][]byte, path func(int) string)
		want    uint64 // total of the version served; 0 for none
		corrupt int
	}{
		{"nothing", func(map[string][]byte, func(int) string) {}, 4, 0},
		{"no pointer", func(f map[string][]byte, _ func(int) string) { delete(f, "video/1h/current") }, 4, 0},
		{"pointer to an older one", func(f map[string][]byte, _ func(int) string) {
			f["video/1h/current"] = encodePointer(versions[1].Version)
		}, 2, 0},
		{"empty pointer", func(f map[string][]byte, _ func(int) string) { f["video/1h/current"] = nil }, 4, 1},
		{"pointer out of the directory", func(f map[string][]byte, _ func(int) string) {
			f["video/1h/current"] = []byte(`{"format":1,"version":"../1m/01JDX0000000000000000000AB"}`)
		}, 4, 1},
		{"pointer to nothing", func(f map[string][]byte, path func(int) string) { delete(f, path(3)) }, 3, 1},
		{"newest cut", func(f map[string][]byte, path func(int) string) { f[path(3)] = f[path(3)][:50] }, 3, 2},
		{"newest two damaged", func(f map[string][]byte, path func(int) string) { f[path(3)], f[path(2)] = nil, []byte("{}") }, 2, 3},
		{"newest of another board", func(f map[string][]byte, path func(int) string) {
			l := made(t, "song", hour, t0, 9)
			l.Version = versions[3].Version
			f[path(3)] = encodeBlob(&l)
		}, 3, 2},
		{"newest under another name", func(f map[string][]byte, path func(int) string) { f[path(3)] = f[path(0)] }, 3, 2},
		{"newest too long", func(f map[string][]byte, path func(int) string) { f[path(3)] = bytes.Repeat([]byte(" "), maxBlob+1) }, 3, 2},
		{"all gone", func(f map[string][]byte, path func(int) string) {
			for i := range versions {
				delete(f, path(i))
			}
		}, 0, 1},
		{"a stray file", func(f map[string][]byte, _ func(int) string) { f["README"] = []byte("?"); f["video/x"] = []byte("?") }, 4, 2},
	} {
		files := newFakeFiles(1, -1, false)
		cfg := testConfig()
		cfg.Files = files
		s := open(t, cfg)
		for i := range versions {
			s.Publish([]crest.List{versions[i]})
			s.writer.writeDue(true)
		}
		c.damage(files.live, func(i int) string { return "video/1h/" + versions[i].Version + ".json" })
		var told []string
		cfg.Observer.Corrupt = func(name string, err error) { told = append(told, name+": "+err.Error()) }
		s = open(t, cfg)
		p := s.Current("video", "1h")
		switch {
		case p == nil && c.want != 0:
			t.Errorf("%s: no list; %v", c.name, told)
		case p != nil && p.List().Total != c.want:
			t.Errorf("%s: it serves version %d, want %d; %v", c.name, p.List().Total, c.want, told)
		case p != nil && !bytes.Equal(p.List().AppendJSON(nil), versions[c.want-1].AppendJSON(nil)):
			t.Errorf("%s: the list has changed: %+v", c.name, p.List())
		}
		if len(told) != c.corrupt {
			t.Errorf("%s: the observer was told %d times, want %d: %v", c.name, len(told), c.corrupt, told)
		}
		next := made(t, "video", hour, t0+1, 99)
		s.Publish([]crest.List{next})
		s.writer.writeDue(true)
		if p = open(t, cfg).Current("video", "1h"); p == nil || p.List().Total != 99 {
			t.Errorf("%s: what is written afterwards is not served", c.name)
		}
	}
}

// TestPowerLossAtEveryWrite cuts the power at every operation of a run and opens what is left: the list served must be
// whole, and no older than the last one that was reported as written.
func TestPowerLossAtEveryWrite(t *testing.T) {
	const refreshes = 8
	run := func(files *fakeFiles) (written crest.Millis, all map[string]crest.List) {
		cfg := testConfig()
		cfg.Files, cfg.Keep = files, 3
		cfg.Now = func() time.Time { return t0.Add(time.Hour).Time() }
		all = map[string]crest.List{}
		s := open(t, cfg)
		for i := range refreshes {
			lists := []crest.List{made(t, "video", hour, t0+crest.Millis(i), uint64(i+1)), made(t, "song", hour, t0+crest.Millis(i), 1)}
			for _, l := range lists {
				all[l.Version] = l
			}
			s.Publish(lists)
			s.writer.writeDue(true)
			written = all[s.writer.kept[key{"video", "1h"}].pointer].AsOf
		}
		return written, all
	}
	whole := newFakeFiles(0, -1, false)
	run(whole)
	for seed := range uint64(3) {
		for failAt := range whole.ops {
			files := newFakeFiles(seed, failAt, true)
			written, all := run(files)
			after := files.afterPowerLoss()
			cfg := testConfig()
			cfg.Files = after
			p := open(t, cfg).Current("video", "1h")
			switch {
			case p == nil && written != 0:
				t.Fatalf("seed %d, power lost at operation %d: no list, though as_of %d was written", seed, failAt, written)
			case p == nil:
			case p.List().AsOf < written:
				t.Fatalf("seed %d, power lost at operation %d: as_of %d is served, though %d was written", seed, failAt, p.List().AsOf, written)
			default:
				want := all[p.List().Version]
				want.Stale = p.List().Stale
				if !bytes.Equal(p.List().AppendJSON(nil), want.AppendJSON(nil)) {
					t.Fatalf("seed %d, power lost at operation %d: the list has changed", seed, failAt)
				}
			}
		}
	}
}

// TestOneFailedWriteIsMadeUpFor lets each operation fail once, as on a full disk, and goes on.
func TestOneFailedWriteIsMadeUpFor(t *testing.T) {
	run := func(files *fakeFiles) (failed int) {
		cfg := testConfig()
		cfg.Files, cfg.Keep = files, 2
		cfg.Observer.WriteFailed = func(string, string, error) { failed++ }
		s := open(t, cfg)
		for i := range 7 {
			s.Publish([]crest.List{made(t, "video", hour, t0-10+crest.Millis(i), uint64(i+1))})
			s.writer.writeDue(true)
		}
		if s.writer.writeDue(true); s.Current("video", "1h").List().Total != 7 {
			t.Error("a failed write keeps a list from being served")
		}
		return failed
	}
	whole := newFakeFiles(0, -1, false)
	run(whole)
	for failAt := range whole.ops {
		files := newFakeFiles(1, failAt, false)
		if failed := run(files); failed != 1 {
			t.Errorf("operation %d: %d failures reported", failAt, failed)
		}
		cfg := testConfig()
		cfg.Files = files
		if p := open(t, cfg).Current("video", "1h"); p == nil || p.List().Total != 7 {
			t.Errorf("operation %d failed: the last list is not on disk", failAt)
		}
		if n := len(slices.Collect(maps.Keys(files.live))); n > 2+1+1 {
			t.Errorf("operation %d failed: %d files are left", failAt, n)
		}
	}
}
