package bench

import (
	"io"
	"testing"
)

// The claims of docs/benchmarks.md at a quarter of the size. Streams and structures are the same in every run.
var (
	claimSpec = Spec{IDs: 1_250_000, Updates: 5_000_000, Spam: 2_500_000, Skew: 1.05, Seed: 1}
	claimSize = Size{Budget: 5_436_580 / 4, K: 250, Rounds: 1}
)

func TestSummaryIsSoundAndCloserThanItsPeers(t *testing.T) {
	for _, kind := range Kinds() {
		t.Run(string(kind), func(t *testing.T) {
			s := newStream(t, kind, claimSpec)
			results, err := Compare(Contenders(), s, claimSize, io.Discard)
			if err != nil {
				t.Fatal(err)
			}
			if err := WriteTable(t.Output(), results, SummaryName); err != nil {
				t.Fatal(err)
			}
			for _, r := range results[:len(ours())] {
				checkSound(t, r)
				if r.Grade.Recall < 0.99 {
					t.Errorf("%s: recall %.3f", r.Name, r.Grade.Recall)
				}
			}
			for _, r := range results[len(ours()):][:len(classics())] {
				checkSound(t, r)
			}
			if kind == Late || kind == LateSpam {
				for _, peer := range results[len(ours()):] {
					checkCloser(t, results[0], peer)
				}
			}
		})
	}
}

func checkSound(t *testing.T, r Result) {
	t.Helper()
	g := r.Grade
	if g.Entries != claimSize.K || g.Under != 0 || g.Broken != 0 {
		t.Errorf("%s: %d entries, %d below the truth, %d broken certificates", r.Name, g.Entries, g.Under, g.Broken)
	}
}

// checkCloser compares with a peer. One that counts below the truth answers another question: its counts scatter around
// the truth and bound nothing, which halves its distances. It has to be seen doing that, or it is held to the mean too.
func checkCloser(t *testing.T, summary, peer Result) {
	t.Helper()
	ours, theirs := summary.Grade, peer.Grade
	if ours.MaxError >= theirs.MaxError {
		t.Errorf("largest error %d, %s has %d", ours.MaxError, peer.Name, theirs.MaxError)
	}
	if ours.MeanError >= theirs.MeanError && theirs.Under == 0 {
		t.Errorf("mean error %.2f, %s has %.2f", ours.MeanError, peer.Name, theirs.MeanError)
	}
}

func TestStructuresKeepToTheBudget(t *testing.T) {
	const budget = 1 << 20
	s := newStream(t, LateSpam, claimSpec)
	for _, c := range Contenders() {
		bytes, err := HeapBytes(c, s, budget, claimSize.K)
		if err != nil {
			t.Fatal(err)
		}
		// The allocator rounds up; a size that has to be a power of two can be half of what is allowed.
		if bytes > budget*11/10 || bytes < budget/2 {
			t.Errorf("%s takes %d bytes of %d", c.Name, bytes, budget)
		}
	}
}
