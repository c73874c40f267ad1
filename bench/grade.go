package bench

// Grade is how good a reported top k is, compared with exact counts.
type Grade struct {
	Entries int // reported; fewer than asked for when the structure had no more

	// Recall is the share of the k places that hold a key which belongs in the top k. A key that ties with the k-th
	// belongs there.
	Recall float64

	MeanError float64 // mean distance between count and truth of the reported entries
	MaxError  uint64  // largest distance
	Under     int     // entries with a count below the truth
	Broken    int     // entries whose truth is outside the interval that the structure certifies
}

// GradeTop compares entries with the stream's exact counts. Certifies says that the entries' intervals are promises.
func GradeTop(entries []Entry, s *Stream, k int, certifies bool) Grade {
	g := Grade{Entries: len(entries)}
	threshold := s.Threshold(k)
	seen := make(map[string]bool, len(entries))
	hits, sum := 0, uint64(0)
	for _, e := range entries {
		truth := s.Truth(e.Key)
		if truth >= threshold && truth > 0 && !seen[e.Key] {
			hits++
		}
		seen[e.Key] = true
		distance := e.Count - truth
		if e.Count < truth {
			distance = truth - e.Count
			g.Under++
		}
		sum += distance
		g.MaxError = max(g.MaxError, distance)
		if certifies && (e.Count < truth || e.Count-truth > e.Error) {
			g.Broken++
		}
	}
	g.Recall = float64(min(hits, k)) / float64(k)
	if len(entries) > 0 {
		g.MeanError = float64(sum) / float64(len(entries))
	}
	return g
}
