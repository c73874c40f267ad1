package exact

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"crest/internal/durable"
)

// Counts that a later program wrote are left as they are, whichever of the manifests it has written.
func TestNewerManifest(t *testing.T) {
	seed := seedOf(t)
	w := newWorld(t, days(rand.New(rand.NewPCG(seed, 0)), testHour, 4, 6))
	w.advance(testHour.Add(3*time.Hour + 11*time.Minute))
	w.count(w.recounter())
	w.advance(testHour.Add(4*time.Hour + 11*time.Minute))
	for _, name := range []string{manifestName, beforeName} {
		path := filepath.Join(w.config.Dir, name)
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		newer := strings.Replace(string(b), `{"format":1`, `{"format":2`, 1)
		for _, content := range []string{newer, newer + "what else it may have\n"} {
			if err := os.WriteFile(path, []byte(content), durable.FileMode); err != nil {
				t.Fatal(err)
			}
			want := contents(t, w.config.Dir)
			_, err = w.recounter().Round(t.Context())
			if e, ok := errors.AsType[*VersionError](err); !ok || e.Path != path || isDamage(err) ||
				!strings.Contains(err.Error(), path+" was written by a newer crest") {
				t.Errorf("%s: %v", name, err)
			}
			if _, err := Load(w.config); isDamage(err) || !strings.Contains(fmt.Sprint(err), "newer crest") {
				t.Errorf("load with %s: %v", name, err)
			}
			sameContents(t, contents(t, w.config.Dir), want)
		}
		if err := os.WriteFile(path, b, durable.FileMode); err != nil {
			t.Fatal(err)
		}
	}
}
