package main

import (
	"bytes"
	"crypto/sha256"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

var kills = flag.Int("kills", 6, "how often TestRecountKilledAtAnyMoment kills")

// recountArgs makes the test binary crest itself: its value is the arguments, one a line.
const recountArgs = "CREST_TEST_ARGS"

// crestProcess is crest as a process of its own.
func crestProcess(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestRecountKilledAtAnyMoment$")
	cmd.Env = append(os.Environ(), recountArgs+"="+strings.Join(args, "\n"))
	return cmd
}

// TestRecountKilledAtAnyMoment kills crest recount a few times while it counts, as often as -kills says, and compares what it leaves in the end with what a
// run leaves that nothing happens to.
func TestRecountKilledAtAnyMoment(t *testing.T) {
	if args := os.Getenv(recountArgs); args != "" {
		os.Exit(run(t.Context(), strings.Split(args, "\n"), standardStreams()))
	}
	const seed = 8
	random := rand.New(rand.NewPCG(seed, 0))
	data := archiveOf(t, someEvents(seed, 2000), nine+6*oclk)
	clean := filepath.Join(t.TempDir(), "clean")
	if err := os.CopyFS(clean, os.DirFS(data)); err != nil {
		t.Fatal(err)
	}
	recount := []string{"recount", "--preset", "shares", "--quiet", "--data"}
	began := time.Now()
	if out, err := crestProcess(t, append(recount, clean)...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	took := time.Since(began)
	killed := 0
	for killed < *kills {
		args := append(slices.Clone(recount), data)
		if random.IntN(2) == 0 {
			args = append(args, "--force") // else there is soon nothing left to do
		}
		cmd := crestProcess(t, args...)
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		kill := time.AfterFunc(time.Duration(random.Int64N(int64(took))), func() { _ = cmd.Process.Kill() })
		err := cmd.Wait()
		kill.Stop()
		switch status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); {
		case err == nil:
		case ok && status.Signal() == syscall.SIGKILL:
			killed++
		default:
			t.Fatalf("seed %d, after %d kills: %v\n%s", seed, killed, err, out.String())
		}
	}
	if out, err := crestProcess(t, append(recount, data)...).CombinedOutput(); err != nil {
		t.Fatalf("seed %d: %v\n%s", seed, err, out)
	}
	want, got := contents(t, filepath.Join(clean, "exact")), contents(t, filepath.Join(data, "exact"))
	if !maps.Equal(want, got) {
		t.Errorf("seed %d: after %d kills there are %v, not %v", seed, *kills, got, want)
	}
	if code, out, errText := call(t, "", "compare", "--preset", "shares", "--data", data, "--server", "", "--hours"); code != exitOK {
		t.Errorf("seed %d: %s%s", seed, out, errText)
	}
}

// contents are the checksums of a directory's files, without those of no meaning for what is counted.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	sums := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path == "lock" || path == "manifest-before.json" {
			return err
		}
		b, err := os.ReadFile(filepath.Join(dir, path))
		sums[path] = fmt.Sprintf("%x", sha256.Sum256(b))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return sums
}
