package exact

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"crest"
	"crest/internal/counts"
)

func TestRoundsFollowTheArchive(t *testing.T) {
	random := rand.New(rand.NewPCG(seedOf(t), 0))
	w := newWorld(t, days(random, testHour, 84, 20))
	r := w.recounter()
	reasons := map[Reason]int{}
	until := crest.Millis(0)
	for now := testHour.Add(30 * time.Minute); now < testHour.Add(85*time.Hour); now = now.Add(time.Duration(random.Int64N(int64(150 * time.Minute)))) {
		w.advance(now)
		for _, result := range w.count(r) {
			for _, c := range result.Counted {
				reasons[c.Reason]++
			}
			if len(result.Problems) > 0 || len(result.Repaired) > 0 {
				t.Fatalf("%v, repaired %v", result.Problems, result.Repaired)
			}
		}
		if random.IntN(6) > 0 {
			continue
		}
		s := w.load()
		reach := s.Reach()
		if reach.Until == 0 {
			continue
		}
		w.check(s, false)
		closed := w.watermark().Add(-crest.CloseAfter).Floor(time.Hour)
		if reach.Until < closed && closed > testHour.Add(time.Hour) || reach.Until < until {
			t.Fatalf("at %s counts go until %s", timeText(now), timeText(reach.Until))
		}
		until = reach.Until
		w.checkCuts(s)
		w.checkTruth(s, random)
	}
	t.Log(reasons)
	for _, want := range []Reason{ReasonClosed, ReasonLate} {
		if reasons[want] == 0 {
			t.Errorf("no hour was counted because it was %s", want)
		}
	}
}

// checkCuts makes sure that whoever adds, to what has been counted, the events received after the cuts has them all.
func (w *world) checkCuts(s *Snapshot) {
	w.t.Helper()
	reach := s.Reach()
	cuts := map[crest.Millis]crest.Millis{}
	for _, c := range s.Cuts(0) {
		cuts[c.Hour] = c.Received
	}
	for _, e := range w.events {
		hour := e.Time.Floor(time.Hour)
		if hour >= reach.Until {
			continue
		}
		cut, open := cuts[hour]
		info, counted := s.Hour(hour)
		switch {
		case counted && e.At < info.Cut:
		case open && e.At >= cut:
		case counted && e.At < info.Checked:
			w.t.Fatalf("an event of hour %s, received %s, is in no count and before the check", hourText(hour), timeText(e.At))
		default:
			w.t.Fatalf("an event of hour %s, received %s, is in no count and after no cut", hourText(hour), timeText(e.At))
		}
	}
}

// checkTruth compares what a list should have said as of the end of some hour.
func (w *world) checkTruth(s *Snapshot, random *rand.Rand) {
	w.t.Helper()
	reach := s.Reach()
	hours := s.Hours()
	asOf := hours[max(0, len(hours)-1-random.IntN(3))].Hour.Add(time.Hour)
	for _, from := range []crest.Millis{0, asOf.Add(-time.Hour), asOf.Add(-24 * time.Hour)} {
		want := map[[2]string]uint64{}
		for h := max(from, reach.First); h < asOf; h = h.Add(time.Hour) {
			for key, row := range w.naive(h, h.Add(time.Hour), asOf).rows {
				if row.Count > 0 && s.Has(key[0], from, asOf) {
					want[key] += row.Count
				}
			}
		}
		var last [2]string
		err := s.Truth(w.t.Context(), from, asOf, func(row counts.Row) error {
			key := [2]string{row.Board, row.Item}
			if slices.Compare(last[:], key[:]) >= 0 {
				w.t.Fatal("rows are out of order")
			}
			last = key
			if !s.Has(row.Board, from, asOf) {
				return nil
			}
			if n := want[key]; n < row.Count || n > row.Count+row.Duplicates || from == asOf.Add(-time.Hour) && n != row.Count {
				w.t.Fatalf("as of %s from %s: %v has %d, not %d", timeText(asOf), fromText(from), key, row.Count, want[key])
			}
			delete(want, key)
			return nil
		})
		if err != nil {
			w.t.Fatal(err)
		}
		if len(want) > 0 {
			w.t.Fatalf("as of %s from %s: %v are missing", timeText(asOf), fromText(from), want)
		}
	}
}
