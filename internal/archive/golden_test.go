package archive

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"crest"
)

var update = flag.Bool("update", false, "write the golden archive anew")

// goldenEvents are what the golden archive has: in two hours, the second with a late event.
func goldenEvents(t *testing.T, dir string) expected {
	t.Helper()
	dimensions := []string{"category", "region"}
	log := newFakeLog(noon + 5*minute)
	want := expected{}
	w := start(t, Config{Dir: dir, Dimensions: dimensions}, log)
	send := func(events ...crest.Event) {
		log.add(dimensions, events...)
		for _, ev := range events {
			want.add(ev, log.now)
		}
		w.commit(t)
	}
	send(
		crest.Event{ID: id(1), Type: "video", Item: "dQw4w9WgXcQ", Time: noon + 4*minute, Session: 77, Weight: 1, Dimensions: crest.Dimensions{"music", "eu"}},
		crest.Event{ID: id(2), Type: "hashtag", Item: "käse", Spelling: "KÄSE", Time: noon + 3*minute, Weight: 1},
		crest.Event{ID: id(3), Type: "video", Item: "a", Time: noon - 1, Weight: 1_000_000, Generated: true, Dimensions: crest.Dimensions{"", "us"}},
	)
	log.set(noon + 12*minute)
	send(crest.Event{ID: id(1), Type: "video", Item: "dQw4w9WgXcQ", Time: noon + 4*minute, Session: 77, Weight: 1})
	log.set(noon + 20*minute)
	w.waitFor(t, noon+20*minute)
	w.mustStop(t)
	return want
}

// TestGoldenArchive reads an archive of version 1 that an earlier program wrote, and writes the same.
func TestGoldenArchive(t *testing.T) {
	golden := filepath.Join("testdata", "v1")
	dir := t.TempDir()
	want := goldenEvents(t, dir)
	sameRows(t, readAll(t, dir), want.all())
	if *update {
		if err := os.RemoveAll(golden); err != nil {
			t.Fatal(err)
		}
		if err := os.CopyFS(golden, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
		os.Remove(filepath.Join(golden, lockName))
	}
	sameRows(t, readAll(t, golden), want.all())
	v := view(t, golden)
	if v.State.Watermark != noon+20*minute || v.State.Offset != 20 || v.State.Since != 0 || len(v.Hours()) != 2 {
		t.Errorf("state %+v, hours %v", v.State, v.Hours())
	}
	old, now := readTree(t, golden), readTree(t, dir)
	delete(now, lockName)
	if !equalContents(old, now) {
		for name := range now {
			if old[name] != now[name] {
				t.Errorf("%s is now written differently:\n%.1000q", name, now[name])
			}
		}
	}
}
