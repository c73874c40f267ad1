// Command lookupbench measures the files of exact counts: writing sorted rows, reading them from one end to the other, and
// looking for random keys with cold and with warm caches. Reading runs in a process of its own, so that its memory is what
// reading takes.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"crest/internal/counts"
)

// plan is what the writing process leaves for the reading one.
type plan struct {
	Path    string
	Info    counts.Info
	Present []string // keys that are in the file
	Absent  []string // keys that are not
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "lookupbench:", err)
		os.Exit(1)
	}
}

func run() error {
	rows := flag.Int("rows", 30_000_000, "rows of the file")
	keys := flag.Int("keys", 5000, "random keys to look for, and as many that are not there")
	seed := flag.Uint64("seed", 1, "seed of the rows and keys")
	dir := flag.String("dir", os.TempDir(), "directory for the file, which is removed at the end")
	read := flag.String("read", "", "read what another process has written (used by lookupbench itself)")
	flag.Parse()
	if *read != "" {
		return measure(*read)
	}
	if *keys < 1 || *rows < *keys {
		return fmt.Errorf("%d keys of %d rows", *keys, *rows)
	}

	work, err := os.MkdirTemp(*dir, "lookupbench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	p := plan{Path: filepath.Join(work, "counts.parquet")}
	began := time.Now()
	if err := p.write(*rows, *keys, *seed); err != nil {
		return err
	}
	took := time.Since(began)
	fmt.Printf("%d rows, %d keys, seed %d\n\n", *rows, *keys, *seed)
	fmt.Printf("write                %8.3f s  %.2f M rows/s, %.1f bytes a row, %.0f MB\n",
		took.Seconds(), float64(*rows)/took.Seconds()/1e6, float64(p.Info.Bytes)/float64(*rows), float64(p.Info.Bytes)/1e6)

	data, err := json.Marshal(p)
	if err != nil {
		return err
	}
	name := filepath.Join(work, "plan.json")
	if err := os.WriteFile(name, data, 0o600); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	child := exec.CommandContext(context.Background(), self, "-read", name) //nolint:gosec // this program
	child.Stdout, child.Stderr = os.Stdout, os.Stderr
	return child.Run()
}
