package disklog

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"crest/internal/eventlog"
)

// The tests below keep the system's syncs out, which have nothing to do with what a file holds.
type unsynced struct{ disk }

type unsyncedFile struct{ file }

func (unsyncedFile) Sync() error      { return nil }
func (unsynced) SyncDir(string) error { return nil }
func (u unsynced) Create(p string) (file, error) {
	f, err := u.disk.Create(p)
	return unsyncedFile{f}, err
}

func (u unsynced) Open(p string) (file, int64, error) {
	f, size, err := u.disk.Open(p)
	return unsyncedFile{f}, size, err
}

func reopen(tb testing.TB, cfg Config) *Log {
	tb.Helper()
	l, err := open(cfg, unsynced{})
	if err != nil {
		tb.Fatal(err)
	}
	return l
}

// written makes a log of a commit a call, and returns its only file's contents and where each commit ends in it.
func written(tb testing.TB, commits ...[]string) (content []byte, ends []int) {
	tb.Helper()
	dir := tb.TempDir()
	l := mustOpen(tb, Config{Dir: dir, Now: fixedClock})
	for _, c := range commits {
		add(tb, l, c...)
		_, end := l.Range()
		ends = append(ends, segmentHeaderBytes+int(end))
	}
	if err := l.Close(); err != nil {
		tb.Fatal(err)
	}
	files := segmentFiles(tb, dir)
	if len(files) != 1 {
		tb.Fatal(files)
	}
	return readFile(tb, files[0]), ends
}

// A file that ends anywhere opens, has exactly the records that are whole, and can be appended to.
func TestTornTailAtEveryByte(t *testing.T) {
	a, b, c := numbered(0, 3, 20), numbered(10, 1, 100), numbered(20, 4, 10)
	content, _ := written(t, a, b, c)
	all := slices.Concat(a, b, c)
	dir := t.TempDir()
	path := filepath.Join(dir, segmentName(0))
	for size := range len(content) + 1 {
		writeFile(t, path, content[:size])
		whole, at := 0, segmentHeaderBytes
		for whole < len(all) && at+frameHeaderBytes+len(all[whole]) <= size {
			at += frameHeaderBytes + len(all[whole])
			whole++
		}
		var r Recovery
		l := reopen(t, Config{Dir: dir, Observer: Observer{Recovered: func(got Recovery) { r = got }}})
		if size >= segmentHeaderBytes && r.Cut != int64(size-at) {
			t.Fatalf("%d bytes: %d were cut, want %d", size, r.Cut, size-at)
		}
		got, damaged := readFrom(t, l, 0)
		same(t, "cut short", got, all[:whole])
		add(t, l, "and on")
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		l = reopen(t, Config{Dir: dir})
		got, again := readFrom(t, l, 0)
		same(t, "and on", got, append(slices.Clone(all[:whole]), "and on"))
		if damaged+again != 0 {
			t.Fatalf("%d bytes: damage is reported", size)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// A crash can leave the sectors of the last write in any order: some frames whole, others not, in between.
func TestTornCommitWithHoles(t *testing.T) {
	first, last := numbered(0, 3, 50), numbered(10, 6, 50)
	content, ends := written(t, first, last)
	dir := t.TempDir()
	path := filepath.Join(dir, segmentName(0))
	for from := ends[0]; from < ends[1]; from++ {
		torn := bytes.Clone(content)
		hole := min(from+40, ends[1])
		clear(torn[from:hole])
		writeFile(t, path, torn)
		l := reopen(t, Config{Dir: dir})
		got, damaged := readFrom(t, l, 0)
		l.Close()
		if bytes.Equal(torn, content) {
			continue // there were zeros
		}
		if damaged != 0 || len(got) < len(first) || len(got) >= len(first)+len(last) {
			t.Fatalf("hole at %d: %d records, damage %d times", from, len(got), damaged)
		}
		same(t, "before the hole", got, slices.Concat(first, last)[:len(got)])
	}
}

// Whatever single byte is flipped, the records are right or missing, and missing without a word only if they are of the
// last commit, which a crash may have torn.
func TestFlippedBytes(t *testing.T) {
	commits := [][]string{numbered(0, 2, 30), numbered(10, 3, 10), numbered(20, 1, 60), numbered(30, 2, 20)}
	content, ends := written(t, commits...)
	all := slices.Concat(commits...)
	durable := len(all) - len(commits[3])
	dir := t.TempDir()
	path := filepath.Join(dir, segmentName(0))
	for i := range content {
		for _, mask := range []byte{1, 0x80, 0xff} {
			flipped := bytes.Clone(content)
			flipped[i] ^= mask
			writeFile(t, path, flipped)
			l, err := open(Config{Dir: dir}, unsynced{})
			if i < segmentHeaderBytes {
				if err == nil || !strings.Contains(err.Error(), path) {
					t.Fatalf("byte %d of the header: error %v", i, err)
				}
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			got, damaged := readFrom(t, l, 0)
			l.Close()
			if i >= ends[2] {
				if damaged != 0 || len(got) < durable || len(got) >= len(all) {
					t.Fatalf("byte %d: %d records, damage %d times", i, len(got), damaged)
				}
				same(t, "before the flip", got, all[:len(got)])
				continue
			}
			if damaged != 1 {
				t.Fatalf("byte %d: damage is reported %d times", i, damaged)
			}
			if len(got) != len(all)-1 {
				t.Fatalf("byte %d: %d records of %d", i, len(got), len(all))
			}
			lost := 0
			for lost < len(got) && got[lost] == all[lost] {
				lost++
			}
			same(t, "after the flip", got[lost:], all[lost+1:])
		}
	}
}

func TestDamageInAnOldSegment(t *testing.T) {
	dir := t.TempDir()
	cfg := Config{Dir: dir, SegmentBytes: 4 << 10}
	l := mustOpen(t, cfg)
	all := numbered(0, 30, 1000)
	for _, p := range all {
		add(t, l, p)
	}
	l.Close()
	files := segmentFiles(t, dir)
	if len(files) < 4 {
		t.Fatal(files)
	}
	content := readFile(t, files[1])
	each := (len(content) - segmentHeaderBytes) / (frameHeaderBytes + 1000)
	for name, damage := range map[string]func() []byte{
		"cut short":   func() []byte { return content[:len(content)-1] },
		"cut to half": func() []byte { return content[:len(content)/2] },
		"header only": func() []byte { return content[:segmentHeaderBytes] },
		"longer":      func() []byte { return append(bytes.Clone(content), content[segmentHeaderBytes:]...) },
	} {
		writeFile(t, files[1], damage())
		l = reopen(t, cfg)
		got, damaged := readFrom(t, l, 0)
		lost := len(all) - len(got)
		switch name {
		case "longer": // what is beyond the beginning of the next segment never counted
			if lost != 0 || damaged != 0 {
				t.Errorf("%s: %d lost, damage %d times", name, lost, damaged)
			}
		default:
			if lost < 1 || lost > each || damaged != 1 {
				t.Errorf("%s: %d lost, damage %d times", name, lost, damaged)
			}
		}
		if got[0] != all[0] || got[len(got)-1] != all[len(all)-1] {
			t.Errorf("%s: other segments have suffered", name)
		}
		l.Close()
	}
	if err := os.Remove(files[1]); err != nil {
		t.Fatal(err)
	}
	l = reopen(t, cfg)
	defer l.Close()
	r, err := l.NewReader(0)
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = r.Read(t.Context(), 0)
	}
	corrupt, ok := errors.AsType[*eventlog.CorruptError](err)
	if next, _ := parseSegmentName(filepath.Base(files[2])); !ok || corrupt.Resume != next {
		t.Errorf("a missing segment: %v; want to go on at %d", err, next)
	}
}

func TestForeignFilesAreLeftAlone(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"notes.txt", "1.log", "0000000000000000000x.log", "00000000000000000000.log.bak"} {
		writeFile(t, filepath.Join(dir, name), []byte("mine"))
	}
	l := mustOpen(t, Config{Dir: dir})
	add(t, l, "x")
	l.Close()
	if got := readFile(t, filepath.Join(dir, "1.log")); string(got) != "mine" {
		t.Errorf("1.log is now %q", got)
	}
}

func TestNewerVersionIsRefused(t *testing.T) {
	dir := t.TempDir()
	h := segmentHeader{}.encode()
	h[8] = 2
	path := filepath.Join(dir, segmentName(0))
	writeFile(t, path, h)
	_, err := Open(Config{Dir: dir})
	if err == nil || !strings.Contains(err.Error(), "version 2") {
		t.Fatalf("error %v", err)
	}
	if !bytes.Equal(readFile(t, path), h) {
		t.Error("the file has been changed")
	}
}

// What an ended process wrote may not be on disk yet, so nobody may read it before it is.
func TestOpenSyncsWhatItFinds(t *testing.T) {
	dir := t.TempDir()
	l := reopen(t, Config{Dir: dir})
	add(t, l, "x")
	l.Close()
	broken := errors.New("disk is on fire")
	if _, err := open(Config{Dir: dir}, gated{before: func() error { return broken }}); !errors.Is(err, broken) {
		t.Fatalf("error %v", err)
	}
	l = reopen(t, Config{Dir: dir}) // the first attempt has given up the lock
	l.Close()
}

// A crash while a segment is begun leaves its file without a whole header. Where it would have begun the one before it
// ends, whatever a failed write has left there.
func TestUnfinishedSegment(t *testing.T) {
	for size := range segmentHeaderBytes {
		dir := t.TempDir()
		cfg := Config{Dir: dir, Now: fixedClock}
		l := reopen(t, cfg)
		add(t, l, "x", "y")
		_, end := l.Range()
		add(t, l, "written, but its sync failed")
		l.Close()
		path := filepath.Join(dir, segmentName(end))
		writeFile(t, path, segmentHeader{base: end}.encode()[:size])
		cfg.Now = func() time.Time { return fixedClock().Add(-time.Hour) }
		l = reopen(t, cfg)
		got, _ := readFrom(t, l, 0)
		same(t, "before the unfinished segment", got, []string{"x", "y"})
		add(t, l, "z")
		got, _ = readFrom(t, l, 0)
		same(t, "after it", got, []string{"x", "y", "z"})
		l.Close()
	}
}

// memory is a file in memory.
type memory struct{ *bytes.Reader }

func (memory) WriteAt([]byte, int64) (int, error) { return 0, errors.ErrUnsupported }
func (memory) Truncate(int64) error               { return nil }
func (memory) Sync() error                        { return nil }
func (memory) Close() error                       { return nil }

func FuzzRecover(f *testing.F) {
	content, _ := written(f, numbered(0, 3, 5), numbered(5, 1, 50), numbered(6, 2, 9))
	f.Add(content[segmentHeaderBytes:])
	f.Add(content[segmentHeaderBytes+5:])
	f.Fuzz(func(t *testing.T, frames []byte) {
		content := append(segmentHeader{}.encode(), frames...)
		m := memory{bytes.NewReader(content)}
		seg := newSegment("", segmentHeader{})
		_, r, err := recoverTail(m, m.Size(), seg, 0)
		if err != nil {
			t.Fatal(err)
		}
		if seg.size() > int64(len(content)) || seg.size()+r.Cut != int64(len(content)) {
			t.Fatalf("%d bytes became %d, %d were cut", len(content), seg.size(), r.Cut)
		}
		s := scanner{r: m, end: seg.size()}
		damaged := 0
		for pos := int64(segmentHeaderBytes); pos < s.end; {
			h, ok, err := s.frame(pos)
			if err != nil {
				t.Fatal(err)
			}
			if ok {
				pos += frameHeaderBytes + int64(h.length)
				continue
			}
			damaged++
			if pos, err = s.after(pos); err != nil {
				t.Fatal(err)
			}
		}
		if damaged < r.Damaged {
			t.Fatalf("damage was found %d times, then %d times", r.Damaged, damaged)
		}
	})
}
