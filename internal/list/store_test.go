package list

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"crest"
)

// made returns a small list of a board and window with its version.
func made(t *testing.T, board string, w crest.Window, asOf crest.Millis, count uint64) crest.List {
	t.Helper()
	typ, narrow, narrowed := strings.Cut(board, "/")
	b := crest.Board{Type: typ}
	if narrowed {
		dimension, value, _ := strings.Cut(narrow, "=")
		b.Narrow = []crest.Narrowing{{Dimension: dimension, Value: value}}
	}
	r := Report{Board: b, Window: w, AsOf: asOf, Total: count, Entries: []crest.Entry{{ID: "a", Title: "Ä \"quote\"", Count: count, Error: count / 2}}}
	l, err := Merge([]Report{r}, 1, Params{K: 10, GeneratedAt: asOf + 3})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func testConfig() Config {
	return Config{
		Windows: []crest.Window{minute, hour, allTime}, MaxK: 100,
		Now: func() time.Time { return t0.Time() },
	}
}

func open(t *testing.T, cfg Config) *Store {
	t.Helper()
	s, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestOpenChecksTheConfiguration(t *testing.T) {
	for _, c := range []Config{{}, {MaxK: 10, Sizes: []int{10, 5}}, {MaxK: 10, Sizes: []int{0, 5}}, {MaxK: 10, Sizes: []int{10, 20}}} {
		if _, err := Open(c); crest.CodeOf(err) != crest.CodeOutOfRange {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

func TestPublishAndRead(t *testing.T) {
	s := open(t, testConfig())
	if s.Current("video", "1h") != nil || len(s.All()) != 0 {
		t.Error("a new store has lists")
	}
	s.Publish([]crest.List{
		made(t, "video", allTime, t0, 8), made(t, "video", hour, t0, 5), made(t, "song/region=eu", hour, t0, 1),
		made(t, "song", hour, t0, 6), made(t, "video", minute, t0, 7),
	})
	if got := s.Current("video", "1h").List().Total; got != 5 {
		t.Errorf("total %d", got)
	}
	var names []string
	for _, p := range s.All() {
		names = append(names, p.List().Board+" "+p.List().Window)
	}
	if want := []string{"song 1h", "song/region=eu 1h", "video 1m", "video 1h", "video all"}; !slices.Equal(names, want) {
		t.Errorf("got %v, want %v", names, want)
	}
}

func TestPublishNeverGoesBack(t *testing.T) {
	cfg := testConfig()
	s := open(t, cfg)
	s.Publish([]crest.List{made(t, "video", hour, t0, 5)})
	s.Publish([]crest.List{made(t, "video", hour, t0-1, 4), made(t, "video", minute, t0-1, 3)})
	if got := s.Current("video", "1h").List().Total; got != 5 {
		t.Errorf("total %d", got)
	}
	if s.Current("video", "1m") == nil {
		t.Error("the rest of the refresh was not published")
	}
	s.Publish([]crest.List{made(t, "video", hour, t0, 6)})
	if got := s.Current("video", "1h").List().Total; got != 6 {
		t.Errorf("a second list of one as_of was not published: total %d", got)
	}
	s.Publish([]crest.List{made(t, "video", hour, t0+3_600_000, 7)})
	s.Publish([]crest.List{made(t, "video", hour, t0, 8)})
	if got := s.Current("video", "1h").List().Total; got != 8 {
		t.Errorf("a list from the future keeps the present out: total %d", got)
	}
}

// TestReadersSeeOneRefresh publishes two lists of one count at a time; a reader must never see two counts in one set.
func TestReadersSeeOneRefresh(t *testing.T) {
	s := open(t, testConfig())
	refresh := func(n uint64) []crest.List {
		return []crest.List{made(t, "video", hour, t0, n), made(t, "video", minute, t0, n)}
	}
	s.Publish(refresh(1))
	var wg sync.WaitGroup
	done := make(chan struct{})
	for range 2 {
		wg.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				if all := s.All(); len(all) != 2 || all[0].List().Total != all[1].List().Total {
					t.Errorf("a reader saw two refreshes at once")
					return
				}
			}
		})
	}
	for n := range uint64(200) {
		s.Publish(refresh(n))
	}
	close(done)
	wg.Wait()
}

func TestStale(t *testing.T) {
	slow := crest.Window{Name: "slow", Length: 24 * time.Hour, Bucket: time.Hour, Refresh: 10 * time.Minute}
	cfg := testConfig()
	cfg.Windows = append(cfg.Windows, slow)
	var told []string
	cfg.Observer.Stale = func(board, window string) { told = append(told, board+" "+window) }
	s := open(t, cfg)
	s.Publish([]crest.List{made(t, "video", hour, t0, 5), made(t, "video", slow, t0, 5)})
	fresh := s.Current("video", "1h")
	s.Check(t0.Add(2*time.Minute - time.Millisecond).Time())
	if s.Current("video", "1h") != fresh {
		t.Error("the list was made again before it was stale")
	}
	for range 2 {
		s.Check(t0.Add(2 * time.Minute).Time())
	}
	p := s.Current("video", "1h")
	body, _, etag := p.Body(10, "")
	_, _, before := fresh.Body(10, "")
	if !p.List().Stale || p.List().Version != fresh.List().Version || etag == before || !strings.Contains(string(body), `"stale":true`) {
		t.Errorf("two minutes on: %s %s", etag, body)
	}
	if s.Current("video", "slow").List().Stale {
		t.Error("a list refreshed every 10 minutes is stale after 2")
	}
	s.Check(t0.Add(20 * time.Minute).Time())
	if !s.Current("video", "slow").List().Stale {
		t.Error("a list refreshed every 10 minutes is not stale after 20")
	}
	if want := []string{"video 1h", "video slow"}; !slices.Equal(told, want) {
		t.Errorf("the observer was told of %v, want %v", told, want)
	}
	s.Publish([]crest.List{made(t, "video", hour, t0+1, 5)})
	if s.Current("video", "1h").List().Stale {
		t.Error("a new list is stale")
	}
}

// countingFiles counts the pointers that were put in place, which ends a write.
type countingFiles struct {
	Files
	pointers atomic.Int64
}

func (f *countingFiles) Rename(from, to string) error {
	f.pointers.Add(1)
	return f.Files.Rename(from, to)
}

func TestRunWritesWhatIsNewNowAndThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := testConfig()
		dir := t.TempDir()
		files := &countingFiles{Files: newDirectoryFiles(dir)}
		cfg.Files, cfg.Now, cfg.Keep = files, time.Now, 3
		s := open(t, cfg)
		ctx, cancel := context.WithCancel(t.Context())
		stopped := make(chan error)
		go func() { stopped <- s.Run(ctx) }()
		var last crest.List
		for n := range uint64(60) { // a refresh every second for a minute
			last = made(t, "video", hour, crest.MillisOf(time.Now()), n+1)
			s.Publish([]crest.List{last})
			time.Sleep(time.Second)
		}
		synctest.Wait()
		if n := files.pointers.Load(); n != 6 {
			t.Errorf("%d writes in a minute, want 6", n)
		}
		time.Sleep(3 * time.Minute)
		synctest.Wait()
		if n := files.pointers.Load(); n != 7 {
			t.Errorf("%d writes when the last list had been there for minutes, want 7", n)
		}
		if p := s.Current("video", "1h"); !p.List().Stale {
			t.Error("a list three minutes old is not stale")
		}
		last = made(t, "video", hour, crest.MillisOf(time.Now()), 1000)
		s.Publish([]crest.List{last})
		cancel()
		if err := <-stopped; err != nil {
			t.Error(err)
		}
		if n := files.pointers.Load(); n != 8 {
			t.Errorf("%d writes after the stop, want 8", n)
		}
		names, err := filepath.Glob(filepath.Join(dir, "video", "1h", "*"))
		if err != nil || len(names) != 4 {
			t.Errorf("3 versions and a pointer should be there, not %v (%v)", names, err)
		}
		s = open(t, cfg)
		if p := s.Current("video", "1h"); p == nil || string(p.List().AppendJSON(nil)) != string(last.AppendJSON(nil)) {
			t.Errorf("opened again it serves %+v, want %+v", p, last)
		}
		time.Sleep(2 * time.Minute)
		s = open(t, cfg)
		if p := s.Current("video", "1h"); !p.List().Stale {
			t.Error("an old list opened is not stale")
		}
	})
}

func TestOpenLeavesOutWhatIsNotServed(t *testing.T) {
	cfg := testConfig()
	cfg.Dir = t.TempDir()
	s := open(t, cfg)
	s.Publish([]crest.List{made(t, "video", hour, t0, 1), made(t, "song", hour, t0, 2), made(t, "video", minute, t0, 3)})
	s.writer.writeDue(true)
	cfg.Windows = []crest.Window{hour}
	cfg.Serves = func(board string) bool { return board == "video" }
	var all []string
	for _, p := range open(t, cfg).All() {
		all = append(all, p.List().Board+" "+p.List().Window)
	}
	if !slices.Equal(all, []string{"video 1h"}) {
		t.Errorf("it serves %v", all)
	}
	if files, err := os.ReadDir(filepath.Join(cfg.Dir, "song", "1h")); err != nil || len(files) != 2 {
		t.Errorf("the files of what is not served are gone: %v, %v", files, err)
	}
}

func TestStrangeNamesAreOneDirectoryEach(t *testing.T) {
	cfg := testConfig()
	cfg.Dir = t.TempDir()
	long := strings.Repeat("é", 32)
	boards := []string{"..", ".", "a b", "ä", "article/category=..", "A%2F", "article/c=" + long + "/d=" + long + "x", "article/c=" + long + "/d=" + long + "y"}
	s := open(t, cfg)
	for i, b := range boards {
		l := made(t, "video", hour, t0, uint64(i+1))
		l.Board = b
		s.Publish([]crest.List{l})
	}
	s.writer.writeDue(true)
	cfg.Observer.Corrupt = func(name string, err error) { t.Errorf("%s: %v", name, err) }
	s = open(t, cfg)
	for i, b := range boards {
		if p := s.Current(b, "1h"); p == nil || p.List().Total != uint64(i+1) {
			t.Errorf("board %q is not back", b)
		}
	}
	if dirs, err := os.ReadDir(cfg.Dir); err != nil || len(dirs) != len(boards) {
		t.Errorf("%d boards have the directories %v (%v)", len(boards), dirs, err)
	}
}
