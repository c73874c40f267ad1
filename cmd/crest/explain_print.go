package main

import (
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"
	"time"

	"crest"
	"crest/internal/explain"
)

// printExplanation prints an explanation for people, with the newest of the buckets.
func printExplanation(out io.Writer, e *explain.Explanation, buckets int) error {
	fmt.Fprintf(out, "%s on board %s", printable(strconv.Quote(e.ID)), printable(e.Board))
	if e.Asked != "" {
		fmt.Fprintf(out, ", asked for as %s", printable(strconv.Quote(e.Asked)))
	}
	fmt.Fprintf(out, "\nshard %d of %d; counted: what was received before %s", e.Shard, e.Shards, clock(e.AsOf))
	if e.Since != 0 {
		fmt.Fprintf(out, ", from %s on", clock(e.Since))
	}
	if e.Exact != nil && e.Exact.Until != 0 {
		fmt.Fprintf(out, "; exact until %s\n", clock(e.Exact.Until))
	} else {
		fmt.Fprint(out, "; nothing has been counted exactly yet\n")
	}

	// Figures are aligned to the right, so the last column is text that follows a wide enough gap.
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "\nwindow\tcount\terror\tat least\texact\t  list\n")
	for i := range e.Windows {
		x := &e.Windows[i]
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t  %s\n", printable(x.Name), grouped(x.Count), grouped(x.Error), grouped(x.Lower), grouped(x.Exact), place(x))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for i := range e.Windows {
		if x := &e.Windows[i]; x.Late > 0 {
			fmt.Fprintf(out, "%s: events of %s came for hours that had been counted by then; any of them can be this item's, until the hours are counted again\n",
				printable(x.Name), grouped(x.Late))
		}
	}
	if e.Exact != nil {
		printExact(w, e.Exact)
	}
	for i := range e.Rings {
		printRing(w, &e.Rings[i], buckets)
	}
	return w.Flush()
}

func printExact(w io.Writer, x *explain.Exact) {
	if x.Until == 0 {
		return
	}
	fmt.Fprintf(w, "\nexact, all hours from %s to %s: %s\n", clock(x.First), clock(x.Until), grouped(x.AllTime))
	if x.Since != 0 {
		fmt.Fprintf(w, "what was received before %s is in no hour\n", clock(x.Since))
	}
	rows := false
	for _, h := range x.Hours {
		if h.Count == 0 && h.Duplicates == 0 && h.Late == 0 {
			continue
		}
		if !rows {
			fmt.Fprint(w, "hour\tcount\tduplicates\tboard's late\t  received before\n")
			rows = true
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t  %s\n", clock(h.Start), grouped(h.Count), grouped(h.Duplicates), grouped(h.Late), clock(h.Cut))
	}
	if !rows && len(x.Hours) > 0 {
		fmt.Fprintf(w, "nothing in the newest %d hours\n", len(x.Hours))
	}
}

func printRing(w io.Writer, r *explain.Ring, most int) {
	with := make([]explain.Bucket, 0, len(r.Buckets))
	for _, b := range r.Buckets {
		if b.Count > 0 {
			with = append(with, b)
		}
	}
	if most == 0 || len(with) == 0 {
		return
	}
	shown := with
	if most > 0 && len(with) > most {
		shown = with[len(with)-most:]
	}
	name := "all time"
	if r.Width != 0 {
		name = "buckets of " + trimZeros(time.Duration(r.Width).String())
	}
	fmt.Fprintf(w, "\n%s (%s)", name, printable(usesOf(r.Windows, r.Open)))
	if len(shown) < len(with) {
		fmt.Fprintf(w, ", the newest %d of %d", len(shown), len(with))
	}
	fmt.Fprint(w, "\nfrom\tcount\terror\tat least\t  \n")
	for _, b := range shown {
		from := "the beginning"
		switch {
		case r.Width == 0:
		case time.Duration(r.Width)%time.Minute != 0: // all of them with seconds
			from = b.Start.Time().Format(time.RFC3339)
		default:
			from = clock(b.Start)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t  %s\n", from, grouped(b.Count), grouped(b.Error), grouped(b.Lower), bucketNote(b))
	}
}

func bucketNote(b explain.Bucket) string {
	switch {
	case b.Exact:
		return "counted exactly since"
	case !b.Held:
		return "has no counters of its own; it can have no more"
	}
	return ""
}

// place says where the item is on a window's list, or why it is not on it.
func place(w *explain.Window) string {
	l := w.Listing
	switch {
	case l == nil:
		return "no list yet"
	case l.Removed:
		return "not on it: taken down"
	case l.Rank > 0 && l.Rank <= l.Proven:
		return fmt.Sprintf("rank %s of %s, certainly", grouped(uint64(l.Rank)), grouped(uint64(l.Entries)))
	case l.Rank > 0:
		return fmt.Sprintf("rank %s of %s, not certain", grouped(uint64(l.Rank)), grouped(uint64(l.Entries)))
	case w.Count == 0:
		return "not on it: no events"
	case w.Lower == 0:
		return fmt.Sprintf("not on it: has no counters of its own; %s", offList(w))
	case l.Entries < l.K:
		return fmt.Sprintf("not on it, which has room: counted since %s", clock(l.AsOf))
	case w.Count < l.Last:
		return fmt.Sprintf("not on it: %s below the last one's %s; %s", grouped(l.Last-w.Count), grouped(l.Last), offList(w))
	case w.Count == l.Last:
		return fmt.Sprintf("not on it: as many as the last one, whose id comes first; %s", offList(w))
	}
	return fmt.Sprintf("not on it: above the last one's %s since %s; it should be on the next", grouped(l.Last), clock(l.AsOf))
}

// offList says how many an item off the list can have. A list that is older than the count knows of no later events.
func offList(w *explain.Window) string {
	l := w.Listing
	if l.AsOf < w.AsOf || w.Lower == 0 && w.Count > l.Cutoff {
		return fmt.Sprintf("nothing off the list had more than %s as of %s", grouped(l.Cutoff), clock(l.AsOf))
	}
	return "nothing off the list has more than " + grouped(l.Cutoff)
}

// clock writes a moment for people, to the second where it has any.
func clock(m explain.Moment) string {
	t := m.Time()
	if crest.Millis(m)%crest.Millis(time.Minute.Milliseconds()) == 0 {
		return t.Format("2006-01-02T15:04Z")
	}
	return t.Format("2006-01-02T15:04:05Z")
}
