package pipeline

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/datadriven"

	"crest"
)

// TestScenarios replays testdata/scenarios/*.txt: a node from event to list, with stops and crashes, in a time of its own.
// After a change that is meant, write the outputs anew with: go test ./internal/pipeline -run Scenarios -rewrite.
func TestScenarios(t *testing.T) {
	datadriven.Walk(t, "testdata/scenarios", func(t *testing.T, path string) { //nolint:thelper // it is the test
		synctest.Test(t, func(t *testing.T) {
			s := &scenario{}
			datadriven.RunTest(t, path, s.run)
			if s.node != nil {
				s.node.stop()
			}
		})
	})
}

// scenario keeps one node.
type scenario struct {
	node *node
	seen int
}

func (s *scenario) run(t *testing.T, d *datadriven.TestData) string {
	t.Helper()
	switch d.Cmd {
	case "node": // node preset=views
		var preset string
		d.ScanArgs(t, "preset", &preset)
		s.node = start(t, testConfig(t, preset), t.TempDir())
	case "post": // lines of: item [key=value ...]; keys id, ago, weight, category, region
		for line := range strings.Lines(d.Input) {
			s.node.post(s.event(t, line))
		}
	case "wait": // wait for=10s
		var length string
		d.ScanArgs(t, "for", &length)
		wait, err := time.ParseDuration(length)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(wait)
		synctest.Wait()
	case "stop": // in order, and start again
		s.node.stop()
		s.node = start(t, s.node.config, s.node.dir)
	case "crash": // kill -9, and start again with what is on disk
		dir := s.node.crash()
		s.node = start(t, s.node.config, dir)
	case "list": // list board=video window=1m
		var board, window string
		d.ScanArgs(t, "board", &board)
		d.ScanArgs(t, "window", &window)
		return describe(s.node.last(board, window))
	default:
		t.Fatalf("%s: unknown command %q", d.Pos, d.Cmd)
	}
	return ""
}

func (s *scenario) event(t *testing.T, line string) crest.Event {
	t.Helper()
	fields := strings.Fields(line)
	s.seen++
	ev := crest.Event{
		Type: s.node.config.Types[0].Name, Item: fields[0], Weight: 1, Session: 1,
		ID: crest.EventID{byte(s.seen), 1}, Time: crest.MillisOf(time.Now()),
	}
	for _, f := range fields[1:] {
		key, value, _ := strings.Cut(f, "=")
		switch key {
		case "id":
			ev.ID = crest.ParseEventID(value)
		case "ago":
			ago, err := time.ParseDuration(value)
			if err != nil {
				t.Fatal(err)
			}
			ev.Time = ev.Time.Add(-ago)
		case "weight":
			n, err := strconv.ParseUint(value, 10, 32)
			if err != nil {
				t.Fatal(err)
			}
			ev.Weight = uint32(n)
		case "category":
			ev.Dimensions[0] = value
		case "region":
			ev.Dimensions[1] = value
		default:
			t.Fatalf("unknown field %q", f)
		}
	}
	return ev
}

func describe(l crest.List) string {
	var out strings.Builder
	clock := func(m crest.Millis) string { return m.Time().Format(time.TimeOnly) }
	for _, e := range l.Top {
		fmt.Fprintf(&out, "%d. %s %d\n", e.Rank, e.ID, e.Count)
	}
	from := "the beginning"
	if l.From != 0 {
		from = clock(l.From)
	}
	fmt.Fprintf(&out, "from %s to %s: total %d, duplicates %d, late %d", from, clock(l.AsOf), l.Total, l.Duplicates, l.Late)
	if l.Short != "" {
		fmt.Fprintf(&out, ", %s", l.Short)
	}
	out.WriteByte('\n')
	return out.String()
}
