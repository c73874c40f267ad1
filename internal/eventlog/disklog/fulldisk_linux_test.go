package disklog

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"crest"
	"crest/internal/eventlog"
)

// A disk that is really full: nothing acknowledged is lost, and with room again the log goes on by itself.
func TestFullDisk(t *testing.T) {
	mounted := t.TempDir()
	if err := unix.Mount("tmpfs", mounted, "tmpfs", 0, "size=256k"); err != nil {
		t.Skipf("a small file system can't be mounted here: %v", err)
	}
	defer func() {
		if err := unix.Unmount(mounted, 0); err != nil {
			t.Error(err)
		}
	}()
	ballast := filepath.Join(mounted, "ballast")
	writeFile(t, ballast, make([]byte, 64<<10))
	cfg := Config{Dir: filepath.Join(mounted, "log"), SegmentBytes: 32 << 10}
	l := mustOpen(t, cfg)
	var acked []string
	var err error
	for err == nil {
		p := numbered(len(acked), 1, 3000)[0]
		if _, err = l.Append(t.Context(), []eventlog.Append{{Partition: len(p) % 7, Payload: []byte(p)}}, true); err == nil {
			acked = append(acked, p)
		}
	}
	if crest.CodeOf(err) != crest.CodeLogUnavailable || !errors.Is(err, unix.ENOSPC) {
		t.Fatalf("error %v", err)
	}
	if len(acked) < 20 {
		t.Fatalf("full after %d records", len(acked))
	}
	for range 3 {
		_, err := l.Append(t.Context(), []eventlog.Append{{Payload: []byte(strings.Repeat("x", 5000))}}, true)
		if crest.CodeOf(err) != crest.CodeLogUnavailable {
			t.Fatalf("error %v", err)
		}
	}
	got, damaged := readFrom(t, l, 0)
	same(t, "while full", got, acked)
	writeFile(t, ballast, nil)
	more := numbered(1000, 5, 3000)
	add(t, l, more...)
	l.Close()
	l = mustOpen(t, cfg)
	got, again := readFrom(t, l, 0)
	same(t, "with room again", got, append(acked, more...))
	if damaged+again != 0 {
		t.Error("damage is reported")
	}
	l.Close()
}
