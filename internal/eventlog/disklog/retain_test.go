package disklog

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"crest/internal/eventlog"
)

// aged makes a log with a segment a minute, each with one record, and returns the offset at which each begins.
func aged(t *testing.T, cfg Config, minutes int) (*Log, []eventlog.Offset, *time.Time) {
	t.Helper()
	now := fixedClock()
	cfg.Dir, cfg.SegmentBytes = t.TempDir(), 4<<10
	cfg.Now = func() time.Time { return now }
	l := reopen(t, cfg)
	t.Cleanup(func() { l.Close() })
	var begins []eventlog.Offset
	for range minutes {
		_, end := l.Range()
		begins = append(begins, end)
		add(t, l, strings.Repeat("x", 5<<10))
		now = now.Add(time.Minute)
	}
	return l, begins, &now
}

func TestRetainByAge(t *testing.T) {
	l, begins, now := aged(t, Config{RetainAge: time.Hour}, 10)
	expectOldest := func(want int, needed eventlog.Offset) {
		t.Helper()
		if _, err := l.Retain(needed); err != nil {
			t.Fatal(err)
		}
		if oldest, _ := l.Range(); oldest != begins[want] {
			t.Fatalf("the oldest record is at %d, want %d", oldest, begins[want])
		}
		if files := segmentFiles(t, l.cfg.Dir); len(files) != len(begins)-want {
			t.Fatalf("%d files are left, want %d", len(files), len(begins)-want)
		}
	}
	const all = 1 << 60
	expectOldest(0, all)
	*now = fixedClock().Add(time.Hour + 4*time.Minute + 1*time.Millisecond)
	expectOldest(0, 0)           // nothing has been read
	expectOldest(2, begins[3]-1) // the third is needed to its last byte
	expectOldest(3, begins[3])
	expectOldest(4, all) // the fifth began too late, so nothing is known of the fourth's last record but that
	*now = now.Add(100 * time.Hour)
	expectOldest(9, all) // the last one stays
	got, _ := readFrom(t, l, begins[9])
	if len(got) != 1 {
		t.Fatal(got)
	}
}

func TestRetainBySize(t *testing.T) {
	var freed int64
	cfg := Config{RetainBytes: 25 << 10, Observer: Observer{Trimmed: func(bytes int64) { freed += bytes }}}
	l, begins, _ := aged(t, cfg, 10)
	before := l.Size()
	got, err := l.Retain(0) // though nothing has been read
	if err != nil || got != freed || before-got != l.Size() {
		t.Fatalf("freed %d, of %d are left %d; the observer was told %d; error %v", got, before, l.Size(), freed, err)
	}
	if oldest, _ := l.Range(); oldest != begins[6] || l.Size() > cfg.RetainBytes {
		t.Fatalf("the oldest of %d bytes are at %d", l.Size(), oldest)
	}
	onDisk := int64(0)
	for _, path := range segmentFiles(t, l.cfg.Dir) {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		onDisk += info.Size()
	}
	if onDisk != l.Size() {
		t.Errorf("Size says %d, on disk are %d", l.Size(), onDisk)
	}
}

func TestRetainAfterReopening(t *testing.T) {
	l, begins, now := aged(t, Config{RetainAge: time.Hour}, 5)
	cfg := l.cfg
	l.Close()
	*now = fixedClock().Add(time.Hour + 3*time.Minute + time.Millisecond)
	l = reopen(t, cfg)
	defer l.Close()
	if _, err := l.Retain(1 << 60); err != nil {
		t.Fatal(err)
	}
	if oldest, _ := l.Range(); oldest != begins[3] {
		t.Fatalf("the oldest record is at %d, want %d", oldest, begins[3])
	}
}

// unremovable is a disk that removes nothing.
type unremovable struct{ unsynced }

var errPermission = errors.New("not permitted")

func (unremovable) Remove(string) error { return errPermission }

func TestRetainThatFailsChangesNothing(t *testing.T) {
	l, _, now := aged(t, Config{}, 3)
	cfg := l.cfg
	l.Close()
	*now = now.Add(1000 * time.Hour)
	l, err := open(cfg, unremovable{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if freed, err := l.Retain(1 << 60); freed != 0 || !errors.Is(err, errPermission) {
		t.Fatalf("freed %d, error %v", freed, err)
	}
	got, _ := readFrom(t, l, 0)
	if len(got) != 3 {
		t.Fatalf("%d records are left", len(got))
	}
}
