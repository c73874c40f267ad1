package archive

import "testing"

// A directory need not be written in the shortest way.
func TestDirIsAnyPath(t *testing.T) {
	for _, dir := range []string{"./archive", "a/../archive/", t.TempDir() + "/."} {
		t.Chdir(t.TempDir())
		log := newFakeLog(noon)
		log.add(nil, event(1, noon))
		cfg := Config{Dir: dir}
		w := start(t, cfg, log)
		w.commit(t)
		w.mustStop(t)
		if got := len(readAll(t, dir)); got != 1 {
			t.Errorf("%s: %d rows", dir, got)
		}
	}
}
