package sim

import (
	"fmt"
	"slices"

	"crest"
)

// cuts says up to which received time the exact count of an hour goes.
type cuts func(hour crest.Millis) crest.Millis

// check holds a list against the truth as of its moment, and calls wrong for each way in which it breaks a rule. It
// returns how many of the true top 100 are missing from the list's.
//
//   - A count is not below the truth, and not above it by more than its error.
//   - An item that is not on the list has at most the cutoff.
//   - A proven rank is right.
//   - The total is the weight of all events of the window.
func (t *Truth) check(l *crest.List, cut cuts, wrong func(format string, args ...any)) int {
	b := t.boards[l.Board]
	if b == nil {
		if l.Total != 0 || len(l.Top) != 0 {
			wrong("total %d, but nothing was sent", l.Total)
		}
		return 0
	}
	w := b.window(l.Window)
	if w == nil {
		wrong("there is no such window")
		return 0
	}
	w.reach(l.AsOf)
	if l.From != w.window.From(l.AsOf) {
		wrong("it begins at %s, not at %s", l.From.Time(), w.window.From(l.AsOf).Time())
	}
	repeats, repeated := b.repeatsIn(w.window, l.AsOf, l.ExactUntil, cut)
	c := comparison{board: b, tally: w, repeats: repeats, list: l, wrong: wrong}
	if least, most := w.total, w.total+repeated; l.Total < least || l.Total > most || !w.stitched && l.Total != most {
		wrong("total %d, truth %d and %d copies", l.Total, least, repeated)
	}
	c.entries()
	c.order()
	c.rest()
	return c.missing(wellKnown)
}

// wellKnown is the n of the recall that is looked at.
const wellKnown = 100

func (b *board) window(name string) *tally {
	for _, w := range b.windows {
		if w.window.Name == name {
			return w
		}
	}
	return nil
}

// comparison is one list beside the truth.
type comparison struct {
	board   *board
	tally   *tally
	repeats map[int32]uint64
	list    *crest.List
	wrong   func(format string, args ...any)

	truths []uint64 // of the list's entries
}

// entries checks each count and its error.
func (c *comparison) entries() {
	c.board.checks++
	for i := range c.list.Top {
		e := &c.list.Top[i]
		truth := uint64(0)
		if item, ok := c.board.naming.item(e.ID); ok && int(item) < len(c.tally.counts) {
			truth = uint64(c.tally.counts[item]) + c.repeats[item]
			if c.board.listed[item] == c.board.checks {
				c.wrong("%s is on it twice", e.ID)
			}
			c.board.listed[item] = c.board.checks
		} else {
			c.wrong("nobody sent %q", e.ID)
		}
		c.truths = append(c.truths, truth)
		if e.Count < truth || e.Error > e.Count || e.Count-e.Error > truth || e.Error > c.list.MaxOverCount {
			c.wrong("rank %d, %s: count %d, error %d (at most %d on the list), truth %d", e.Rank, e.ID, e.Count, e.Error, c.list.MaxOverCount, truth)
		}
	}
}

// order checks that entries are in order, and that the order of the proven ones is that of the truth.
func (c *comparison) order() {
	for i := range c.list.Top {
		e := &c.list.Top[i]
		if e.Rank != i+1 {
			c.wrong("%s has rank %d in place %d", e.ID, e.Rank, i+1)
		}
		if i+1 == len(c.list.Top) {
			return
		}
		next := &c.list.Top[i+1]
		if e.Count < next.Count || e.Count == next.Count && e.ID >= next.ID {
			c.wrong("%s with %d comes before %s with %d", e.ID, e.Count, next.ID, next.Count)
		}
	}
}

// rest checks what is off the list, and the proven ranks against everything behind them.
func (c *comparison) rest() {
	most, at := uint64(0), int32(0) // off the list
	see := func(item int32, n uint64) {
		if n > most && c.board.listed[item] != c.board.checks {
			most, at = n, item
		}
	}
	for item, n := range c.tally.counts {
		if uint64(n) > most {
			see(int32(item), uint64(n))
		}
	}
	for item, n := range c.repeats {
		if int(item) < len(c.tally.counts) {
			n += uint64(c.tally.counts[item])
		}
		see(item, n)
	}
	if most > c.list.Cutoff {
		c.wrong("%s is missing with %d, the cutoff is %d", c.board.naming.id(at), most, c.list.Cutoff)
	}
	if c.list.Proven > len(c.truths) {
		c.wrong("%d ranks of %d are proven", c.list.Proven, len(c.truths))
		return
	}
	behind, whose := most, ""
	for i, truth := range slices.Backward(c.truths) {
		if i < c.list.Proven && (truth < behind || truth == behind && whose != "" && whose < c.list.Top[i].ID) {
			c.wrong("rank %d is proven, but %s has %d and another has %d", i+1, c.list.Top[i].ID, truth, behind)
		}
		if truth >= behind {
			behind, whose = truth, c.list.Top[i].ID
		}
	}
}

// missing returns how many of the true top n are not among the list's first n. An item that ties with the n-th is as good.
func (c *comparison) missing(n int) int {
	if len(c.truths) < n {
		return 0 // all items that there are
	}
	least := slices.Min(c.truths[:n])
	most := uint64(0)
	for _, r := range c.repeats {
		most = max(most, r)
	}
	var above []uint64 // all truths that are more than that
	for item, count := range c.tally.counts {
		if uint64(count)+most <= least {
			continue
		}
		if truth := uint64(count) + c.repeats[int32(item)]; truth > least {
			above = append(above, truth)
		}
	}
	if len(above) < n {
		return 0
	}
	slices.Sort(above)
	nth, found := above[len(above)-n], 0
	for _, truth := range c.truths[:n] {
		if truth >= nth {
			found++
		}
	}
	return n - found
}

// describe says which list it is about.
func describe(l *crest.List) string {
	return fmt.Sprintf("%s %s as of %s", l.Board, l.Window, l.AsOf.Time().Format("2006-01-02 15:04:05"))
}
