package window_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"crest"
	"crest/sketch"
	"crest/window"
)

// TestScenarios replays testdata/*.txt, which read as documentation. After a change that is meant, write the outputs
// anew with: go test ./window -run Scenarios -rewrite.
func TestScenarios(t *testing.T) {
	datadriven.Walk(t, "testdata/scenarios", func(t *testing.T, path string) { //nolint:thelper // it is the test
		s := &scenario{}
		datadriven.RunTest(t, path, s.run)
	})
}

// scenario keeps one ring. Times are in seconds.
type scenario struct {
	config window.Config
	ring   *window.Ring
}

func (s *scenario) run(t *testing.T, d *datadriven.TestData) string {
	t.Helper()
	switch d.Cmd {
	case "ring": // ring width=10s buckets=6 windows=(3,6) memory=4096
		return s.open(t, d)
	case "add": // lines of: time item [weight]
		return s.add(t, d)
	case "advance": // advance to=60
		s.ring.Advance(seconds(t, d, "to"))
		return ""
	case "list": // list window=0 k=3 as-of=60
		var win, k int
		d.ScanArgs(t, "window", &win)
		d.ScanArgs(t, "k", &k)
		return describe(s.ring.Top(win, k, seconds(t, d, "as-of")))
	case "restart": // save everything and restore it into a new ring
		s.ring = saveAndRestore(t, s.ring, s.config)
		return ""
	}
	t.Fatalf("%s: unknown command %q", d.Pos, d.Cmd)
	return ""
}

func (s *scenario) open(t *testing.T, d *datadriven.TestData) string {
	t.Helper()
	var width string
	d.ScanArgs(t, "width", &width)
	s.config = window.Config{}
	if width != "forever" {
		w, err := time.ParseDuration(width)
		if err != nil {
			t.Fatal(err)
		}
		s.config.Width = w
	}
	d.ScanArgs(t, "buckets", &s.config.Buckets)
	d.ScanArgs(t, "memory", &s.config.Memory)
	for _, v := range valuesOf(d, "windows") {
		n, err := strconv.Atoi(v)
		if err != nil {
			t.Fatal(err)
		}
		s.config.Windows = append(s.config.Windows, n)
	}
	ring, err := window.NewRing(s.config)
	if err != nil {
		return err.Error()
	}
	s.ring = ring
	return ""
}

func valuesOf(d *datadriven.TestData, key string) []string {
	for _, arg := range d.CmdArgs {
		if arg.Key == key {
			return arg.Vals
		}
	}
	return nil
}

func (s *scenario) add(t *testing.T, d *datadriven.TestData) string {
	t.Helper()
	var out strings.Builder
	for line := range strings.Lines(d.Input) {
		f := strings.Fields(line)
		at, err := strconv.ParseFloat(f[0], 64)
		if err != nil {
			t.Fatal(err)
		}
		weight := uint64(1)
		if len(f) > 2 {
			if weight, err = strconv.ParseUint(f[2], 10, 64); err != nil {
				t.Fatal(err)
			}
		}
		if !s.ring.Add(crest.Millis(at*1000), sketch.Hash(f[1]), f[1], weight) {
			fmt.Fprintf(&out, "too late: %s", line)
		}
	}
	return out.String()
}

func seconds(t *testing.T, d *datadriven.TestData, arg string) crest.Millis {
	t.Helper()
	var n int64
	d.ScanArgs(t, arg, &n)
	return crest.Millis(n * 1000)
}

func describe(r window.Report) string {
	var out strings.Builder
	for i, e := range r.Entries {
		fmt.Fprintf(&out, "%d. %s %d", i+1, e.Key, e.Count)
		if e.Error > 0 {
			fmt.Fprintf(&out, " at most %d too high", e.Error)
		}
		out.WriteByte('\n')
	}
	fmt.Fprintf(&out, "total %d, cutoff %d, late %d\n", r.Total, r.Cutoff, r.Late)
	return out.String()
}
