package window

import "crest"

// span is a run of bucket numbers, the end not included.
type span struct{ from, to int64 }

// has reports whether the bucket of that number counts in the window of that index.
func (r *Ring) has(window int, number int64) bool {
	w := r.without[window]
	return number > r.newest-int64(r.config.Windows[window]) && (number < w.from || number >= w.to)
}

// Without makes a window leave out the buckets of [from, to), which are counted elsewhere: both are multiples of the
// width. The next call takes the place of this one, and equal moments leave out nothing. What settled buckets come and go
// is added and taken away at once; a ring that is restored leaves out nothing.
func (r *Ring) Without(window int, from, to crest.Millis) {
	next := span{r.config.Number(from), r.config.Number(to)}
	if next.from >= next.to {
		next = span{}
	}
	was := r.without[window]
	if was == next {
		return
	}
	t := r.windows[window]
	for n := r.newest - int64(r.config.Windows[window]) + 1; r.started && n <= r.newest-open; n++ {
		r.without[window] = was
		before := r.has(window, n)
		r.without[window] = next
		after := r.has(window, n)
		switch s := r.at(n).summary; {
		case s == nil || before == after:
		case after:
			t.addBucket(s)
		default:
			t.removeBucket(s)
		}
	}
	r.without[window] = next
}

// Bucket is what one bucket says of an item: the truth lies in [Count - Error, Count].
type Bucket struct {
	Start crest.Millis
	Count uint64
	Error uint64
	Held  bool // the item is monitored
}

// BucketsOf returns the buckets that can have any of an item, oldest first.
func (r *Ring) BucketsOf(key string) []Bucket {
	var buckets []Bucket
	if !r.started {
		return nil
	}
	for n := r.oldest(); n <= r.newest; n++ {
		s := r.at(n).summary
		if s == nil {
			continue
		}
		if e := s.Estimate(key); e.Count > 0 {
			buckets = append(buckets, Bucket{crest.Millis(n * r.config.Width.Milliseconds()), e.Count, e.Error, e.Monitored})
		}
	}
	return buckets
}
