package archive

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"crest"
)

// Events that come late to an hour, one by one, don't leave a file each.
func TestLateEventsShareAFile(t *testing.T) {
	log := newFakeLog(noon + 30*minute)
	cfg := Config{Dir: t.TempDir()}
	want := expected{}
	w := start(t, cfg, log)
	send := func(ev crest.Event) {
		log.add(nil, ev)
		want.add(ev, log.now)
	}
	send(event(1, noon))
	for n := range 30 {
		log.set(log.now + 10*minute)
		send(event(10+n, noon+1))
	}
	w.commit(t)
	w.mustStop(t)
	sameRows(t, readAll(t, cfg.Dir), want.all())
	h, err := view(t, cfg.Dir).Hour(noon)
	if err != nil {
		t.Fatal(err)
	}
	// One for each slot until the hour was closed at 13:10, the last of them taken up by all that came later.
	if len(h.Files) != 4 || h.Files[3].Rows != 28 {
		t.Errorf("%d files: %+v", len(h.Files), h.Files)
	}
	checkNothingElse(t, cfg.Dir)
}

// A file with other columns is left alone.
func TestDimensionsChange(t *testing.T) {
	log := newFakeLog(noon + 3*hour)
	cfg := Config{Dir: t.TempDir(), Dimensions: []string{"category", "region"}}
	put := func(n int) {
		ev := event(n, noon)
		ev.Dimensions = crest.Dimensions{"sports", "eu"}
		log.add([]string{"category", "region"}, ev)
		w := start(t, cfg, log)
		w.commit(t)
		w.mustStop(t)
	}
	put(1)
	cfg.Dimensions = []string{"region"}
	// Who reads the archive finds them before anything has been added.
	w, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if got := view(t, cfg.Dir).State.Dimensions; !slices.Equal(got, cfg.Dimensions) {
		t.Errorf("dimensions %q, want %q", got, cfg.Dimensions)
	}
	put(2)
	put(3)
	v := view(t, cfg.Dir)
	h, err := v.Hour(noon)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(v.State.Dimensions, []string{"region"}) || len(h.Files) != 2 {
		t.Fatalf("%+v, files %+v", v.State, h.Files)
	}
	rows := readFile(t, v, noon, h.Files[1])
	if len(rows) != 2 || rows[0].Dimensions.V0 != "eu" || rows[1].Dimensions.V0 != "eu" {
		t.Errorf("rows %+v", rows)
	}
	p, c, err := v.OpenFile(noon, h.Files[0])
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, ok := p.Schema().Lookup(ColumnDimensions, "category"); !ok {
		t.Error("the first file has lost a column")
	}
}

// Where events come in no order at all, all hours are written at once, with bounded memory.
func TestManyHoursAtOnce(t *testing.T) {
	r := seeded(t)
	log := newFakeLog(noon)
	log.batch = 100
	cfg := Config{Dir: t.TempDir()}
	want := expected{}
	for n := range 60_000 {
		ev := event(n, noon-crest.Millis(r.Int64N(int64(40*hour))))
		if n%500 == 0 {
			log.set(log.now + 1)
		}
		log.add(nil, ev)
		want.add(ev, log.now)
	}
	w := start(t, cfg, log)
	w.commit(t)
	w.mustStop(t)
	sameRows(t, readAll(t, cfg.Dir), want.all())
}

func TestFilesAreOfALimitedSize(t *testing.T) {
	log := newFakeLog(noon)
	for n := range 5000 {
		log.add(nil, event(n, noon))
	}
	cfg := Config{Dir: t.TempDir(), FileRows: 1000}
	w := start(t, cfg, log)
	w.commit(t)
	w.mustStop(t)
	h, err := view(t, cfg.Dir).Hour(noon)
	if err != nil {
		t.Fatal(err)
	}
	rows := int64(0)
	for _, f := range h.Files {
		if f.Rows > 1000+blockRows {
			t.Errorf("%s has %d rows", f.Name, f.Rows)
		}
		rows += f.Rows
	}
	if len(h.Files) < 3 || rows != 5000 {
		t.Errorf("%d files with %d rows", len(h.Files), rows)
	}
}

func TestRetention(t *testing.T) {
	log := newFakeLog(noon)
	deleted := 0
	cfg := Config{Dir: t.TempDir(), Retain: 100 * time.Hour, Observer: Observer{Deleted: func(hours int, bytes int64) {
		deleted += hours
		if bytes <= 0 {
			t.Errorf("%d hours with %d bytes", hours, bytes)
		}
	}}}
	w := start(t, cfg, log)
	for n := range 5 {
		log.add(nil, event(n, log.now))
		w.commit(t)
		log.set(log.now + 24*hour)
	}
	w.waitFor(t, noon+120*hour)
	w.commit(t)
	w.mustStop(t)
	v := view(t, cfg.Dir)
	// At 120 h, hours that ended 100 h ago go: that of noon. What began 20 h after it is the oldest that is kept.
	if v.State.KeptFrom != noon+20*hour || !slices.Equal(v.Hours(), []crest.Millis{noon + 24*hour, noon + 48*hour, noon + 72*hour, noon + 96*hour}) {
		t.Errorf("kept from %s, hours %v", v.State.KeptFrom.Time(), v.Hours())
	}
	if deleted != 1 || exists(filepath.Dir(hourDir(cfg.Dir, noon))) {
		t.Errorf("%d hours deleted; their day is there: %v", deleted, exists(filepath.Dir(hourDir(cfg.Dir, noon))))
	}
	if h, err := v.Hour(noon); err != nil || len(h.Files) != 0 {
		t.Errorf("the deleted hour is %+v, error %v", h, err)
	}
}

// full returns an archive with files in three hours, and its configuration.
func full(t *testing.T, observer Observer) Config {
	t.Helper()
	log := newFakeLog(noon)
	cfg := Config{Dir: t.TempDir(), FileRows: 300, Observer: observer}
	w := start(t, cfg, log)
	for n := range 1500 {
		log.set(log.now + 6*second)
		log.add(nil, event(n, log.now-crest.Millis(n%7)*minute))
	}
	w.commit(t)
	w.mustStop(t)
	return cfg
}

// Whatever file is damaged or missing, a reader is told which; nothing is read as if it were right.
func TestDamageIsFound(t *testing.T) {
	r := seeded(t)
	cfg := full(t, Observer{})
	want := readAll(t, cfg.Dir)
	for name, content := range readTree(t, cfg.Dir) {
		if name == lockName {
			continue
		}
		path := filepath.Join(cfg.Dir, name)
		damage := map[string]func(){
			"missing":   func() { os.Remove(path) },
			"shortened": func() { write(t, path, content[:len(content)-1-r.IntN(len(content)-1)]) },
			"lengthened": func() {
				write(t, path, content+"x")
			},
			"flipped": func() {
				b := []byte(content)
				b[r.IntN(len(b))] ^= 1 << r.IntN(8)
				write(t, path, string(b))
			},
		}
		for kind, do := range damage {
			do()
			got, err := readQuietly(cfg.Dir)
			corrupt, ok := errors.AsType[*CorruptError](err)
			switch isDocument := filepath.Ext(name) == ".json"; {
			case isDocument && (err != nil || !slices.Equal(got, want)): // its copy is there
				t.Errorf("%s %s: %d rows, error %v", name, kind, len(got), err)
			case !isDocument && (!ok || corrupt.Path != path):
				t.Errorf("%s %s: %v", name, kind, err)
			}
		}
		write(t, path, content)
	}
	sameRows(t, readAll(t, cfg.Dir), want)
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// readQuietly counts on errors instead of failing.
func readQuietly(dir string) ([]stored, error) {
	v, err := Read(dir)
	if err != nil {
		return nil, err
	}
	var all []stored
	for _, h := range v.Hours() {
		hour, err := v.Hour(h)
		if err != nil {
			return nil, err
		}
		for _, f := range hour.Files {
			p, c, err := v.OpenFile(h, f)
			if err != nil {
				return nil, err
			}
			rows := make([]row, f.Rows)
			_, _ = newParquetReader(p, nil).Read(rows)
			c.Close()
			for _, r := range rows {
				all = append(all, stored{r, h})
			}
		}
	}
	return all, nil
}

// A writer that finds a document or its copy damaged makes it again from the other.
func TestWriterMendsDocuments(t *testing.T) {
	r := seeded(t)
	repaired := &note{}
	cfg := full(t, Observer{Repaired: func(path, what string) { repaired.add(path + ": " + what) }})
	reopen(t, cfg)
	if len(repaired.all) > 0 {
		t.Errorf("nothing was damaged, and %q", repaired.all)
	}
	whole := readTree(t, cfg.Dir)
	for name, content := range whole {
		if filepath.Ext(name) != ".json" {
			continue
		}
		path := filepath.Join(cfg.Dir, name)
		for _, damaged := range []string{"", "{}", content[:r.IntN(len(content)-2)], strings.Replace(content, "1", "2", 1)} {
			write(t, path, damaged)
			reopen(t, cfg)
			if !equalContents(whole, readTree(t, cfg.Dir)) {
				t.Fatalf("%s, damaged to %.80q, is not as it was", name, damaged)
			}
		}
		os.Remove(path)
		reopen(t, cfg)
		if !equalContents(whole, readTree(t, cfg.Dir)) {
			t.Fatalf("%s, removed, is not as it was", name)
		}
		if isCopy := strings.Contains(name, ".copy."); repaired.has(path+":") == isCopy {
			t.Errorf("about %s: %q", name, repaired.all)
		}
	}
}

func reopen(t *testing.T, cfg Config) {
	t.Helper()
	w, err := open(cfg, unsynced{})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// What can't be made again is said to be lost, for good; the archive goes on.
func TestLostManifest(t *testing.T) {
	cfg := full(t, Observer{})
	want := readAll(t, cfg.Dir)
	hours := view(t, cfg.Dir).Hours()
	path := filepath.Join(hourDir(cfg.Dir, hours[0]), manifestName)
	write(t, path, "{}")
	write(t, copyOf(path), "{}")
	os.RemoveAll(hourDir(cfg.Dir, hours[1]))
	for range 2 {
		for _, h := range hours[:2] {
			_, err := view(t, cfg.Dir).Hour(h)
			if corrupt, ok := errors.AsType[*CorruptError](err); !ok || corrupt.Path != filepath.Join(hourDir(cfg.Dir, h), manifestName) {
				t.Errorf("the hour at %s: %v", h.Time(), err)
			}
		}
		reopen(t, cfg)
	}
	if !exists(filepath.Join(filepath.Dir(path), fileName(0))) {
		t.Error("files that may be of use are gone")
	}
	log := newFakeLog(noon + 3*hour)
	log.trimmed = len(log.records)
	for range 1500 + 1 { // the log goes on where the archive is
		log.add(nil, event(9999, hours[0]))
	}
	w := start(t, cfg, log)
	w.commit(t)
	w.mustStop(t)
	if _, err := view(t, cfg.Dir).Hour(hours[0]); err == nil {
		t.Error("with an event more, the hour passes for whole")
	}
	var got []stored
	v := view(t, cfg.Dir)
	for _, h := range hours[2:] {
		hour, err := v.Hour(h)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range hour.Files {
			for _, r := range readFile(t, v, h, f) {
				got = append(got, stored{r, h})
			}
		}
	}
	sameRows(t, got, slices.DeleteFunc(want, func(s stored) bool { return s.hour < hours[2] }))
}

// Without a state nothing can be said of an archive, and nothing is.
func TestLostState(t *testing.T) {
	cfg := full(t, Observer{})
	before := readTree(t, cfg.Dir)
	path := filepath.Join(cfg.Dir, stateName)
	for _, content := range []string{"", "{}", "gone"} {
		write(t, path, content)
		write(t, copyOf(path), content)
		if content == "gone" {
			os.Remove(path)
			os.Remove(copyOf(path))
		}
		if _, err := open(cfg, unsynced{}); err == nil || !strings.Contains(err.Error(), "move the archive aside") {
			t.Errorf("a writer: %v", err)
		}
		_, err := Read(cfg.Dir)
		if _, ok := errors.AsType[*CorruptError](err); !ok {
			t.Errorf("a reader: %v", err)
		}
	}
	write(t, path, before[stateName])
	reopen(t, cfg)
	if !equalContents(before, readTree(t, cfg.Dir)) {
		t.Error("with its state back, the archive is not what it was")
	}
}

// A reader whose view is older than what the writer has replaced is told to look again.
func TestReplacedFiles(t *testing.T) {
	log := newFakeLog(noon + 3*hour)
	cfg := Config{Dir: t.TempDir(), Retain: MinRetain}
	w := start(t, cfg, log)
	log.add(nil, event(1, noon))
	w.commit(t)
	old := view(t, cfg.Dir)
	h, err := old.Hour(noon)
	if err != nil || len(h.Files) != 1 {
		t.Fatal(h, err)
	}
	log.set(log.now + 20*minute)
	log.add(nil, event(2, noon))
	w.commit(t)
	if _, _, err := old.OpenFile(noon, h.Files[0]); !errors.Is(err, ErrReplaced) {
		t.Errorf("the file that was replaced: %v", err)
	}
	now := view(t, cfg.Dir)
	if h, err = now.Hour(noon); err != nil || len(h.Files) != 1 || h.Files[0].Rows != 2 {
		t.Fatal(h, err)
	}
	log.set(log.now + 100*hour)
	w.waitFor(t, log.now.Floor(crest.Slot))
	w.commit(t)
	if _, err := now.Hour(noon); !errors.Is(err, ErrReplaced) {
		t.Errorf("the hour that was deleted: %v", err)
	}
	if _, _, err := now.OpenFile(noon, h.Files[0]); !errors.Is(err, ErrReplaced) {
		t.Errorf("the file that was deleted: %v", err)
	}
	w.mustStop(t)
}
