package exact

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"crest"
	"crest/internal/archive"
	"crest/internal/counts"
	"crest/internal/eventlog"
	"crest/internal/exact/exacttest"
)

// world is a log, its archive and its exact counts, in a directory.
type world struct {
	t       *testing.T
	dir     string
	config  Config
	retain  time.Duration
	events  []exacttest.Received // by received time
	records []eventlog.Record
	taken   int // of events, that are in the log
	now     crest.Millis
	refused int // answers that were an error
}

func newWorld(t *testing.T, events []exacttest.Received) *world {
	t.Helper()
	w := &world{t: t, config: testConfig(), events: events}
	w.config.Windows = []crest.Window{{Name: "24h", Length: 24 * time.Hour}, {Name: "3h", Length: 3 * time.Hour}, {Name: "all"}}
	w.config.Candidates = 5
	w.config.Memory = 64 << 20
	w.place(scratch(t))
	return w
}

// scratch returns a directory in memory where there is such a thing: what tests wait for is the disk.
func scratch(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "exact-") //nolint:usetesting // elsewhere than it would be
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// place says where the directories are.
func (w *world) place(dir string) {
	w.dir = dir
	w.config.Dir, w.config.Archive = filepath.Join(dir, "exact"), filepath.Join(dir, "archive")
}

// advance has everything archived that was received before a moment.
func (w *world) advance(now crest.Millis) {
	w.t.Helper()
	w.now = now
	var encoder eventlog.Encoder
	for w.taken < len(w.events) && w.events[w.taken].At < now {
		encoder.Reset(w.config.Dimensions)
		if err := encoder.Add(&w.events[w.taken].Event); err != nil {
			w.t.Fatal(err)
		}
		w.records = append(w.records, eventlog.Record{
			Received: w.events[w.taken].At, Next: eventlog.Offset(len(w.records) + 1), Payload: slices.Clone(encoder.Bytes()),
		})
		w.taken++
	}
	a, err := archive.Open(archive.Config{Dir: w.config.Archive, Dimensions: w.config.Dimensions, Retain: w.retain})
	if err != nil {
		w.t.Fatal(err)
	}
	ended, end := context.WithCancel(context.Background())
	end()
	if err := errors.Join(a.Run(ended, w), a.Close()); err != nil {
		w.t.Fatal(err)
	}
}

// watermark returns how far the archive is.
func (w *world) watermark() crest.Millis {
	w.t.Helper()
	view, err := archive.Read(w.config.Archive)
	if err != nil {
		w.t.Fatal(err)
	}
	return view.State.Watermark
}

// The rest of eventlog.Log is not asked for.
func (w *world) Append(context.Context, []eventlog.Append, bool) (crest.Millis, error) {
	panic("append")
}

func (w *world) Close() error { return nil }

func (w *world) Range() (oldest, end eventlog.Offset) { return 0, eventlog.Offset(len(w.records)) }

func (w *world) NewReader(from eventlog.Offset) (eventlog.Reader, error) {
	return &worldReader{w, int(from)}, nil
}

type worldReader struct {
	w  *world
	at int
}

func (r *worldReader) Read(context.Context, time.Duration) (eventlog.Batch, error) {
	to := min(r.at+100, len(r.w.records))
	b := eventlog.Batch{Records: r.w.records[r.at:to], Next: eventlog.Offset(to), Watermark: r.w.now}
	if to < len(r.w.records) {
		b.Watermark = r.w.records[to-1].Received
	}
	r.at = to
	return b, nil
}

func (r *worldReader) Close() error { return nil }

func (w *world) recounter() *Recounter {
	w.t.Helper()
	r, err := NewRecounter(w.config)
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

// count does rounds until nothing is due, and returns what they did.
func (w *world) count(r *Recounter) []Result {
	w.t.Helper()
	var all []Result
	for {
		result, err := r.Round(w.t.Context())
		if err != nil {
			w.t.Fatal(err)
		}
		all = append(all, result)
		if result.Done {
			return all
		}
		if len(all) > 1000 {
			w.t.Fatal("there is no end to it")
		}
	}
}

func (w *world) load() *Snapshot {
	w.t.Helper()
	s, err := Load(w.config)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { s.Close() })
	return s
}

// naive counts [from, to) of what was received before cut.
func (w *world) naive(from, to, cut crest.Millis) naive {
	var near []exacttest.Received
	for _, e := range w.events {
		if e.Time >= from.Floor(time.Hour).Add(-time.Hour) && e.Time < to.Add(2*time.Hour) && e.At < cut {
			near = append(near, e)
		}
	}
	return countNaively(w.config, near, from, to, cut)
}

// truth is what should have been counted: per hour, by its own cut.
type truth map[crest.Millis]map[[2]string]counts.Row

func (w *world) truth(s *Snapshot) truth {
	all := truth{}
	for _, h := range s.Hours() {
		all[h.Hour] = w.naive(h.Hour, h.Hour.Add(time.Hour), h.Cut).rows
		if h.TooMany {
			maps.DeleteFunc(all[h.Hour], func(key [2]string, _ counts.Row) bool { return isNarrow(key[0]) })
		}
	}
	return all
}

// narrowSince returns the end of the last hour that has too many boards, or 0.
func narrowSince(s *Snapshot) crest.Millis {
	since := crest.Millis(0)
	for _, h := range s.Hours() {
		if h.TooMany {
			since = h.Hour.Add(time.Hour)
		}
	}
	return since
}

// sum adds up the hours [from, until), of narrowed boards those from a moment on.
func (tr truth) sum(from, until, narrow crest.Millis) map[[2]string]counts.Row {
	sum := map[[2]string]counts.Row{}
	for h, rows := range tr {
		if h < from || h >= until {
			continue
		}
		for key, row := range rows {
			if h < narrow && isNarrow(key[0]) {
				continue
			}
			s := sum[key]
			sum[key] = counts.Row{Board: key[0], Item: key[1], Count: s.Count + row.Count, Duplicates: s.Duplicates + row.Duplicates}
		}
	}
	return sum
}

// boardsOf returns the boards of rows, and one that is not there.
func boardsOf(rows map[[2]string]counts.Row) []string {
	seen := map[string]bool{"article/category=none": true}
	for key := range rows {
		seen[key[0]] = true
	}
	return slices.Sorted(maps.Keys(seen))
}

// check compares all that a snapshot says with the truth. Where something is damaged it may refuse to answer, but not
// answer wrongly.
func (w *world) check(s *Snapshot, damaged bool) {
	w.t.Helper()
	reach := s.Reach()
	if reach.Until == 0 {
		return
	}
	tr := w.truth(s)
	since := narrowSince(s)
	wide := 0 // narrowed boards of all time; of any window there are no more
	for _, board := range boardsOf(tr.sum(0, reach.Until, since)) {
		if isNarrow(board) {
			wide++
		}
	}
	refused := func(board string, err error) bool {
		w.t.Helper()
		if err != nil && !damaged && (!isNarrow(board) || w.config.maxNarrow == 0 || wide <= w.config.maxNarrow || crest.CodeOf(err) != crest.CodeNotReady) {
			w.t.Fatal(err)
		}
		if err != nil {
			w.refused++
		}
		return err != nil
	}
	for _, h := range s.Hours() {
		rows := tr[h.Hour]
		for board, items := range itemsOf(rows) {
			got, err := s.HourCounts(h.Hour, board, items)
			if refused("", err) {
				continue
			}
			for i, item := range items {
				if got[i] != rows[[2]string{board, item}] {
					w.t.Fatalf("hour %s, board %s, item %s: %v, not %v", hourText(h.Hour), board, item, got[i], rows[[2]string{board, item}])
				}
			}
		}
		w.checkChecked(h, rows)
	}
	froms := []crest.Millis{
		0, reach.First, reach.Until.Add(-3 * time.Hour), reach.Until.Add(-2 * time.Hour), reach.Until.Add(-time.Hour), reach.Until,
		reach.Until.Add(-24 * time.Hour), reach.Until.Add(-23 * time.Hour), reach.Until.Add(-20 * time.Hour),
	}
	for _, from := range froms {
		if from != 0 && from < reach.Until.Add(-24*time.Hour) {
			continue
		}
		sum := tr.sum(from, reach.Until, since)
		for _, board := range boardsOf(sum) {
			if b, err := s.Base(board, from); !refused(board, err) {
				begin := from
				if isNarrow(board) && since > max(from, reach.First) {
					begin = since
				}
				w.checkBase(s, board, from, begin, sum)
				if again, _ := s.Base(board, from); again != b {
					w.t.Fatal("the base is made again")
				}
			}
			items := append(itemsOf(sum)[board], "nothing")
			got, err := s.Counts(board, from, items)
			if refused(board, err) {
				continue
			}
			for i, item := range items {
				if want := sum[[2]string{board, item}].Count; got[i] != want {
					w.t.Fatalf("board %s from %s, item %s: %d, not %d", board, fromText(from), item, got[i], want)
				}
			}
		}
	}
}

// checkChecked makes sure that nothing is missing of what was received before the moment that an hour was checked for.
func (w *world) checkChecked(h HourInfo, rows map[[2]string]counts.Row) {
	w.t.Helper()
	if h.Checked == h.Cut {
		return
	}
	later := w.naive(h.Hour, h.Hour.Add(time.Hour), h.Checked).rows
	if h.TooMany {
		maps.DeleteFunc(later, func(key [2]string, _ counts.Row) bool { return isNarrow(key[0]) })
	}
	if !maps.Equal(rows, later) {
		w.t.Fatalf("hour %s was counted as of %s; as of %s, when it was checked, it has other counts", hourText(h.Hour), timeText(h.Cut), timeText(h.Checked))
	}
}

func (w *world) checkBase(s *Snapshot, board string, from, begin crest.Millis, sum map[[2]string]counts.Row) {
	w.t.Helper()
	b, err := s.Base(board, from)
	if err != nil {
		w.t.Fatal(err)
	}
	where := fmt.Sprintf("base of %s from %s", board, fromText(from))
	if b.From != begin || b.Until != s.Reach().Until {
		w.t.Fatalf("%s: it is from %s to %s", where, timeText(b.From), timeText(b.Until))
	}
	total, duplicates := uint64(0), uint64(0)
	left := map[string]uint64{}
	for key, row := range sum {
		if key[0] == board {
			total += row.Count
			duplicates += row.Duplicates
			left[key[1]] = row.Count
		}
	}
	if b.Total != total || b.Duplicates != duplicates {
		w.t.Fatalf("%s: total %d, duplicates %d, not %d, %d", where, b.Total, b.Duplicates, total, duplicates)
	}
	if len(b.Candidates) > w.config.Candidates {
		w.t.Fatalf("%s: %d candidates", where, len(b.Candidates))
	}
	for i, c := range b.Candidates {
		if c.Count != left[c.ID] || c.Count == 0 {
			w.t.Fatalf("%s: candidate %s has %d, not %d", where, c.ID, c.Count, left[c.ID])
		}
		if i > 0 && (b.Candidates[i-1].Count < c.Count || b.Candidates[i-1].Count == c.Count && b.Candidates[i-1].ID >= c.ID) {
			w.t.Fatalf("%s: candidates are out of order", where)
		}
		delete(left, c.ID)
	}
	most := uint64(0)
	for _, n := range left {
		most = max(most, n)
	}
	if most > b.Rest {
		w.t.Fatalf("%s: an item that is no candidate has %d, more than the rest, %d", where, most, b.Rest)
	}
	if from == 0 && b.Until == s.m.Until && b.Rest != most {
		w.t.Fatalf("%s: the rest is %d, not %d", where, b.Rest, most)
	}
}

func itemsOf(rows map[[2]string]counts.Row) map[string][]string {
	items := map[string][]string{}
	for key := range rows {
		items[key[0]] = append(items[key[0]], key[1])
	}
	return items
}

// days makes random traffic of some hours: a few events an hour, some hours without any, some events late, and very late;
// some sent again.
func days(random *rand.Rand, start crest.Millis, hours, perHour int) []exacttest.Received {
	var all []exacttest.Received
	for i := range hours {
		if random.IntN(6) == 0 && i > 0 {
			continue // a quiet hour
		}
		for range random.IntN(2*perHour) + 1 {
			at := start.Add(time.Duration(i)*time.Hour + time.Duration(random.Int64N(int64(time.Hour))))
			ev := crest.Event{
				ID: crest.ParseEventID(fmt.Sprint(random.Uint64(), len(all))), Type: []string{"article", "video", "podcast"}[random.IntN(3)],
				Item: fmt.Sprint("item-", random.IntN(1+random.IntN(12))), Weight: uint32(1 + random.IntN(3)),
			}
			ev.Dimensions[0] = []string{"", "sports", "news"}[random.IntN(3)]
			ev.Dimensions[1] = []string{"", "eu", "us"}[random.IntN(3)]
			ev.Time = at.Add(-time.Duration(random.Int64N(int64(time.Second))))
			switch random.IntN(20) {
			case 0:
				ev.Time = at.Add(-time.Duration(random.Int64N(int64(71 * time.Hour))))
			case 1, 2:
				ev.Time = at.Add(-time.Duration(random.Int64N(int64(9 * time.Minute))))
			}
			all = append(all, exacttest.Received{Event: ev, At: at})
			if random.IntN(6) == 0 { // sent again, at once or late, perhaps with another time
				again := ev
				after := time.Duration(random.Int64N(int64([]time.Duration{time.Second, 8 * time.Minute, 5 * time.Hour}[random.IntN(3)])))
				if random.IntN(2) == 0 {
					again.Time = again.Time.Add(min(after, 5*time.Minute))
				}
				all = append(all, exacttest.Received{Event: again, At: at.Add(after)})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b exacttest.Received) int { return cmp.Compare(a.At, b.At) })
	for i := range all {
		all[i].Time = min(max(all[i].Time, all[i].At.Add(-crest.MaxAge)), all[i].At)
	}
	return all
}
