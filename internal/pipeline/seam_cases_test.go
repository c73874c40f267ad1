package pipeline

import (
	"context"
	"testing"
	"testing/synctest"

	"crest"
	"crest/internal/list"
)

// TestAnExplanationTakesNothingFromLists asks just after the end of a minute, before its lists are made.
func TestAnExplanationTakesNothingFromLists(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDrive(t, testConfig(t, "views"))
		d.post(night+10, night+20, d.event("video", "older", night+5, 10))
		d.post(night+2*minute+10, night+2*minute+20, d.event("video", "old", night+2*minute+5, 10))
		for m := crest.Millis(3); m < 62; m++ {
			d.post(night+m*minute+10, night+m*minute+20, d.event("video", "new", night+m*minute, 1))
		}
		answered := make(chan bool, 1)
		go func() {
			x, err := d.pipeline.Explain(context.Background(), crest.Board{Type: "video"}, "old")
			answered <- err == nil && x.Windows[3].Count == 10
		}()
		synctest.Wait()
		d.post(0, night+62*minute+37)
		d.check(d.end(), "video", "1h")
		if !<-answered {
			t.Error("no answer, or a wrong one for all time")
		}
	})
}

// TestTheFirstEventOfABoardIsLate has a board of which the first event comes for an hour that has been counted.
func TestTheFirstEventOfABoardIsLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDrive(t, testConfig(t, "shares"))
		d.post(night+10, night+20, d.event("article", "x", night+5, 10, "sports", "eu"))
		d.post(0, night+hour+10*minute)
		d.exact = d.truth.recount(nil, night+hour, night+hour+10*minute)
		d.post(0, night+hour+20*minute)
		d.post(night+hour+20*minute+10, night+hour+20*minute+20, d.event("article", "x", night+30*minute, 100, "art", "eu"))
		d.post(0, night+hour+25*minute)
		lists := d.end()
		for _, board := range []string{"article", "article/category=art", "article/region=eu"} {
			d.check(lists, board, "24h")
		}
	})
}

// TestCountingBeganAfterTheWindow has exact hours, but no estimate of the piece of an hour at the window's beginning, since
// the counting state was lost. The list must say so.
func TestCountingBeganAfterTheWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDrive(t, testConfig(t, "shares"))
		d.truth.add(night+10*hour+30*minute+10, d.event("article", "x", night+10*hour+30*minute, 1000, "art", "eu"))
		d.post(night+11*hour+30*minute, night+11*hour+30*minute+10, d.event("article", "y", night+11*hour+30*minute-5, 1, "art", "eu"))
		d.exact = d.truth.recount(nil, night+day+9*hour, night+day+9*hour+10*minute)
		for m := crest.Millis(0); m <= 20; m += 5 {
			d.post(0, night+day+10*hour+m*minute)
		}
		lists := d.end()
		d.check(lists, "article", "24h")
		last := lists[len(lists)-1]
		if last.ExactUntil == 0 || last.Since != d.pipeline.since {
			t.Errorf("exact until %d, since %d; counting began at %d", last.ExactUntil, last.Since, d.pipeline.since)
		}
	})
}

// laterBoard has exact counts of its boards only from a moment on: they were declared then.
type laterBoard struct {
	*recounted
	since crest.Millis
}

func (l laterBoard) Base(board string, from crest.Millis) (*list.Base, error) {
	return l.recounted.Base(board, max(from, l.since))
}

func (l laterBoard) Counts(board string, from crest.Millis, ids []string) ([]uint64, error) {
	return l.recounted.Counts(board, max(from, l.since), ids)
}

func TestABoardWasDeclaredLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDrive(t, testConfig(t, "views"))
		d.truth.add(night+10, d.event("video", "x", night+5, 1000)) // in no count of the board
		for _, h := range []crest.Millis{27, 28} {
			at := night + h*hour + 30*minute
			d.post(at, at+5, d.event("video", "y", at, 1))
		}
		d.post(0, night+30*hour+12*minute)
		d.exact = laterBoard{d.truth.recount(nil, night+30*hour, night+30*hour+10*minute), night + 28*hour}
		d.post(0, night+30*hour+15*minute)
		lists := d.end()
		d.check(lists, "video", "24h")
		d.check(lists, "video", "all")
	})
}

func TestLateWeightIsASettingOfTheState(t *testing.T) {
	a, b := testConfig(t, "shares"), testConfig(t, "shares")
	b.Archive.Enabled = false
	if layoutFingerprint(a, layoutOf(a)) == layoutFingerprint(b, layoutOf(b)) {
		t.Error("a state that knows what is late, and one that doesn't, count as the same")
	}
}

// damaged has exact counts until they can't be read any more.
type damaged struct {
	*recounted
	broken bool
}

func (d *damaged) Base(board string, from crest.Millis) (*list.Base, error) {
	if d.broken {
		return nil, crest.Errorf(crest.CodeNotReady, "window", "there are no totals of the hours")
	}
	return d.recounted.Base(board, from)
}

// TestDamagedCountsMakeAListAnEstimateAgain loses the exact counts of a day between two lists. The next ones say that
// nothing is exact, and hold.
func TestDamagedCountsMakeAListAnEstimateAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDrive(t, testConfig(t, "views"))
		for h := range crest.Millis(4) {
			at := night + h*hour + 20*minute
			d.post(at, at+1, d.event("video", "x", at, 5), d.event("video", "y", at-minute, uint32(h)+1))
		}
		x := &damaged{recounted: d.truth.recount(nil, night+3*hour, night+3*hour+10*minute)}
		d.exact = x
		d.post(0, night+3*hour+30*minute)
		x.broken = true
		d.post(0, night+3*hour+40*minute)
		lists := d.end()
		for _, w := range []string{"24h", "all"} {
			var until []crest.Millis
			for i := range lists {
				if l := &lists[i]; l.Board == "video" && l.Window == w && l.AsOf >= night+3*hour+30*minute {
					until = append(until, l.ExactUntil)
					d.truth.check(t, l)
				}
			}
			if len(until) != 2 || until[0] != night+3*hour || until[1] != 0 {
				t.Errorf("%s: exact until %v, want %d and then nothing", w, until, night+3*hour)
			}
		}
	})
}
