// Command sketchbench compares Crest's summary with its peers and with the classic structures, and prints Markdown.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"

	"crest/bench"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "sketchbench:", err)
		os.Exit(1)
	}
}

func run() error {
	spec := bench.FullSize()
	size := bench.Size{K: 1000}
	flag.IntVar(&spec.IDs, "ids", spec.IDs, "distinct ids of the Zipf part")
	flag.IntVar(&spec.Updates, "updates", spec.Updates, "updates of the Zipf part")
	flag.IntVar(&spec.Spam, "spam", spec.Spam, "ids that come once, on the streams with spam")
	flag.Float64Var(&spec.Skew, "skew", spec.Skew, "exponent of the Zipf distribution")
	flag.Uint64Var(&spec.Seed, "seed", spec.Seed, "seed of the streams")
	flag.IntVar(&size.Budget, "bytes", 5_436_580, "bytes for each structure; the default is a Count-Min of 271,829 x 5")
	flag.IntVar(&size.K, "k", size.K, "entries to report")
	flag.IntVar(&size.Rounds, "rounds", 3, "timings of each structure, of which the best counts")
	only := flag.String("only", "", "run the structures alone whose name contains this")
	kinds := flag.String("streams", "plain,late,spam,late+spam", "streams to run")
	verbose := flag.Bool("v", false, "say what is running")
	flag.Parse()

	progress := io.Discard
	if *verbose {
		progress = os.Stderr
	}
	contenders := slices.DeleteFunc(bench.Contenders(), func(c bench.Contender) bool { return !strings.Contains(c.Name, *only) })
	if len(contenders) == 0 {
		return fmt.Errorf("no structure has %q in its name", *only)
	}
	fmt.Printf("Zipf(%g), %d ids, %d updates, %d one-off ids of spam, %d bytes a structure, top %d, seed %d; %s, %s/%s, %d cores\n",
		spec.Skew, spec.IDs, spec.Updates, spec.Spam, size.Budget, size.K, spec.Seed,
		runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
	for kind := range strings.SplitSeq(*kinds, ",") {
		if !slices.Contains(bench.Kinds(), bench.Kind(kind)) {
			return fmt.Errorf("no stream is named %q; there are %v", kind, bench.Kinds())
		}
		s, err := bench.NewStream(bench.Kind(kind), spec)
		if err != nil {
			return err
		}
		results, err := bench.Compare(contenders, s, size, progress)
		if err != nil {
			return err
		}
		if err := bench.Weigh(results, contenders, s, size); err != nil {
			return err
		}
		fmt.Printf("\n%s: %d updates of %d distinct keys\n\n", kind, s.Len(), s.Distinct())
		if err := bench.WriteTable(os.Stdout, results, bench.SummaryName); err != nil {
			return err
		}
	}
	return nil
}
