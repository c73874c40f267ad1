package grade

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"crest"
	"crest/internal/list"
)

// store notes what is published.
type store struct{ lists []crest.List }

func (s *store) Publish(lists []crest.List) {
	for i := range lists {
		lists[i].Stale = true // the lists are the store's, to change as it likes
	}
	s.lists = append(s.lists, lists...)
}

func (s *store) Current(string, string) *list.Published { return nil }

// sampleOf returns a list of one entry.
func sampleOf(board, window string, asOf crest.Millis, count uint64) crest.List {
	return crest.List{
		Type: "video", Board: board, Window: window, AsOf: asOf, GeneratedAt: asOf + 400, K: 10, Version: fmt.Sprintf("v%d", count),
		Top: []crest.Entry{{Rank: 1, ID: "a", Title: "Title", Thumbnail: "https://example.com/a.png", PreviousRank: 2, Count: count}},
	}
}

// kept returns the lists that are kept of a moment and window, and how many lines could not be used.
func kept(t *testing.T, dir string, asOf crest.Millis, window string) (lists []crest.List, bad int) {
	t.Helper()
	s, err := openSamples(dir, asOf, window, func(name string, err error) { t.Logf("damaged: %s: %v", name, err) })
	if errors.Is(err, errNoSample) {
		return nil, 0
	}
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for l := s.next(); l != nil; l = s.next() {
		lists = append(lists, *l)
	}
	return lists, s.bad
}

func boards(lists []crest.List) []string {
	var names []string
	for _, l := range lists {
		names = append(names, l.Board)
	}
	return names
}

// sample publishes lists and waits until they are kept.
func sample(t *testing.T, cfg SamplerConfig, refreshes ...[]crest.List) *store {
	t.Helper()
	behind := &store{}
	s := NewSampler(behind, cfg)
	for _, lists := range refreshes {
		s.Publish(lists)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Run(ctx); err != nil {
		t.Fatal(err)
	}
	return behind
}

func TestSamplerKeepsTheListsOfAnHoursEnd(t *testing.T) {
	dir := t.TempDir()
	exact := sampleOf("video", "24h", endOfHour, 4)
	exact.ExactUntil = endOfHour
	behind := sample(t, SamplerConfig{Dir: dir}, []crest.List{
		sampleOf("video/region=eu", "1h", endOfHour, 2), sampleOf("video", "1h", endOfHour, 1), sampleOf("video", "5m", endOfHour, 3), exact,
	}, []crest.List{sampleOf("video", "1h", endOfHour.Add(time.Minute), 5)})
	if len(behind.lists) != 5 || behind.Current("", "") != nil {
		t.Errorf("%d lists were published", len(behind.lists))
	}
	hour, bad := kept(t, dir, endOfHour, "1h")
	if bad != 0 || !slices.Equal(boards(hour), []string{"video", "video/region=eu"}) {
		t.Fatalf("%d bad, kept %v", bad, boards(hour))
	}
	want := sampleOf("video", "1h", endOfHour, 1)
	want.Top[0].Title, want.Top[0].Thumbnail, want.Top[0].PreviousRank = "", "", 0
	if got, want := hour[0].AppendJSON(nil), want.AppendJSON(nil); !bytes.Equal(got, want) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if other, _ := kept(t, dir, endOfHour, "5m"); len(other) != 1 {
		t.Errorf("of 5m: %v", boards(other))
	}
	if all, err := sampleHours(dir); err != nil || !slices.Equal(all, []crest.Millis{endOfHour}) {
		t.Errorf("samples of %v, %v", all, err)
	}
	if exact, _ := kept(t, dir, endOfHour, "24h"); exact != nil {
		t.Errorf("a list that is exact throughout was kept")
	}
}

func TestTheLastListOfAMomentIsKept(t *testing.T) {
	dir := t.TempDir()
	sample(t, SamplerConfig{Dir: dir}, []crest.List{sampleOf("a", "1h", endOfHour, 1), sampleOf("b", "1h", endOfHour, 1)})
	sample(t, SamplerConfig{Dir: dir}, []crest.List{sampleOf("b", "1h", endOfHour, 2), sampleOf("c", "1h", endOfHour, 2)})
	var got []string
	lists, _ := kept(t, dir, endOfHour, "1h")
	for _, l := range lists {
		got = append(got, l.Board+l.Version)
	}
	if want := []string{"av1", "bv2", "cv2"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestPublishingNeverWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		lost := 0
		s := NewSampler(&store{}, SamplerConfig{Dir: dir, Lost: func(asOf crest.Millis, lists int, err error) {
			if asOf != endOfHour || err == nil {
				t.Errorf("lost %d of %d: %v", lists, asOf, err)
			}
			lost += lists
		}})
		for i := range uint64(maxQueued + 3) { // nobody writes
			s.Publish([]crest.List{sampleOf("video", "1h", endOfHour, i)})
		}
		if lost != 3 {
			t.Errorf("%d lost, want 3", lost)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- s.Run(ctx) }()
		synctest.Wait()
		if lists, _ := kept(t, dir, endOfHour, "1h"); len(lists) != 1 {
			t.Errorf("%d lists are kept while it runs", len(lists))
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func TestASampleThatCantBeWrittenIsTold(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	told := false
	sample(t, SamplerConfig{Dir: file, Lost: func(_ crest.Millis, lists int, err error) { told = told || lists == 1 && err != nil }},
		[]crest.List{sampleOf("video", "1h", endOfHour, 1)})
	if !told {
		t.Error("nobody was told")
	}
}

func TestSamplesAreBounded(t *testing.T) {
	dir := t.TempDir()
	at := func(hours int) crest.Millis { return endOfHour.Add(time.Duration(hours) * time.Hour) }
	for _, h := range []int{0, 1, 5, 24 * 7} {
		sample(t, SamplerConfig{Dir: dir}, []crest.List{sampleOf("video", "1h", at(h), 1)})
	}
	if all, _ := sampleHours(dir); !slices.Equal(all, []crest.Millis{at(0), at(1), at(5), at(24 * 7)}) {
		t.Errorf("after 7 days: %v", all)
	}
	sample(t, SamplerConfig{Dir: dir}, []crest.List{sampleOf("video", "1h", at(24*7+2), 1)})
	if all, _ := sampleHours(dir); !slices.Equal(all, []crest.Millis{at(5), at(24 * 7), at(24*7 + 2)}) {
		t.Errorf("after more: %v", all)
	}
	size, err := sizeOfSamples(dir, at(5))
	if err != nil || size == 0 {
		t.Fatal(size, err)
	}
	sample(t, SamplerConfig{Dir: dir, MaxBytes: 2*size + 1}, []crest.List{sampleOf("video", "1h", at(24*7+3), 1)})
	if all, _ := sampleHours(dir); !slices.Equal(all, []crest.Millis{at(24*7 + 2), at(24*7 + 3)}) {
		t.Errorf("with room for two: %v", all)
	}
	sample(t, SamplerConfig{Dir: dir, MaxBytes: 1}, []crest.List{sampleOf("video", "1h", at(24*7+4), 1)})
	if all, _ := sampleHours(dir); !slices.Equal(all, []crest.Millis{at(24*7 + 4)}) {
		t.Errorf("with room for none: %v", all)
	}
	days, err := dates(filepath.Join(dir, samplesName))
	if err != nil || len(days) != 1 {
		t.Errorf("days left: %v, %v", days, err)
	}
}

// TestDamagedSamplesArePassedOver flips every byte of a file of three lists, and cuts it in many places: what is read is right.
func TestDamagedSamplesArePassedOver(t *testing.T) {
	dir := t.TempDir()
	sample(t, SamplerConfig{Dir: dir}, []crest.List{sampleOf("a", "1h", endOfHour, 1), sampleOf("b", "1h", endOfHour, 2), sampleOf("c", "1h", endOfHour, 3)})
	path := samplePath(dir, endOfHour, "1h")
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	original := map[string]string{}
	lists, _ := kept(t, dir, endOfHour, "1h")
	for _, l := range lists {
		original[l.Board] = string(l.AppendJSON(nil))
	}
	check := func(what string, data []byte, least int) {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := openSamples(dir, endOfHour, "1h", nil)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		n := 0
		for l := s.next(); l != nil; l = s.next() {
			n++
			if string(l.AppendJSON(nil)) != original[l.Board] {
				t.Errorf("%s: %s", what, l.AppendJSON(nil))
			}
		}
		if n < least || n < 3 && s.bad == 0 && !strings.HasPrefix(what, "cut") {
			t.Errorf("%s: %d lists, %d bad", what, n, s.bad)
		}
	}
	for i := range good {
		flipped := bytes.Clone(good)
		flipped[i] ^= 0x10
		least := 2
		if good[i] == '\n' { // two lists become one line
			least = 1
		}
		check(fmt.Sprintf("byte %d", i), flipped, least)
		if i%7 == 0 {
			check(fmt.Sprintf("cut at %d", i), good[:i], bytes.Count(good[:i], []byte("\n")))
		}
	}
}

func TestSamplesOfAnotherPlaceAreRefused(t *testing.T) {
	dir := t.TempDir()
	good := func() crest.List { return sampleOf("m", "1h", endOfHour, 9) }
	for name, change := range map[string]func(*crest.List){
		"window":        func(l *crest.List) { l.Window = "5m" },
		"moment":        func(l *crest.List) { l.AsOf++ },
		"order":         func(l *crest.List) { l.Board = "a" },
		"k":             func(l *crest.List) { l.K = 0 },
		"a huge k":      func(l *crest.List) { l.K = 1 << 40 },
		"proven":        func(l *crest.List) { l.Proven = 2 },
		"error":         func(l *crest.List) { l.Top[0].Error = 10 },
		"an item twice": func(l *crest.List) { l.Top = append(l.Top, l.Top[0]) },
	} {
		first, bad := good(), good()
		bad.Board = "z"
		change(&bad)
		data := append(seal(first.AppendJSON(nil)), seal(bad.AppendJSON(nil))...)
		if err := writeFile(samplePath(dir, endOfHour, "1h"), data); err != nil {
			t.Fatal(err)
		}
		if lists, n := kept(t, dir, endOfHour, "1h"); len(lists) != 1 || n != 1 {
			t.Errorf("%s: %d lists, %d bad", name, len(lists), n)
		}
	}
}

// TestALineTooLongIsNotRead shows that a file without line ends takes no more memory than one list may.
func TestALineTooLongIsNotRead(t *testing.T) {
	dir := t.TempDir()
	first := sampleOf("a", "1h", endOfHour, 1)
	data := append(seal(first.AppendJSON(nil)), bytes.Repeat([]byte("x"), maxSample+1)...)
	if err := writeFile(samplePath(dir, endOfHour, "1h"), data); err != nil {
		t.Fatal(err)
	}
	if lists, bad := kept(t, dir, endOfHour, "1h"); len(lists) != 1 || bad != 1 {
		t.Errorf("%d lists, %d bad", len(lists), bad)
	}
}
