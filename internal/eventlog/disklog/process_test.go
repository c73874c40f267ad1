package disklog

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"crest/internal/eventlog"
)

func TestTwoOpeners(t *testing.T) {
	dir := t.TempDir()
	l := mustOpen(t, Config{Dir: dir})
	if _, err := Open(Config{Dir: dir}); err == nil || !strings.Contains(err.Error(), dir+" is in use by another process") {
		t.Fatalf("a second opener got %v", err)
	}
	add(t, l, "x")
	l.Close()
	l = mustOpen(t, Config{Dir: dir})
	if got, _ := readFrom(t, l, 0); len(got) != 1 {
		t.Fatal(got)
	}
}

// victimDir tells the test binary to be the process that is killed.
const victimDir = "CREST_DISKLOG_VICTIM"

// victim appends from several goroutines and prints what has been acknowledged, until it is killed.
func victim(t *testing.T, dir string) {
	t.Helper()
	l := mustOpen(t, Config{Dir: dir, SegmentBytes: 256 << 10})
	var printing sync.Mutex
	var wg sync.WaitGroup
	for a := range 4 {
		wg.Go(func() {
			for i := 0; ; i++ {
				p := fmt.Sprintf("%d-%d%s", a, i, strings.Repeat(".", 500*a))
				if _, err := l.Append(context.Background(), []eventlog.Append{{Partition: len(p) % 7, Payload: []byte(p)}}, true); err != nil {
					return
				}
				printing.Lock()
				fmt.Printf("acked %s\n", p)
				printing.Unlock()
			}
		})
	}
	wg.Wait()
}

func TestKill(t *testing.T) {
	if dir := os.Getenv(victimDir); dir != "" {
		victim(t, dir)
		return
	}
	dir := t.TempDir()
	var acked []string
	for round := range 3 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestKill$")
		cmd.Env = append(os.Environ(), victimDir+"="+dir)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		before := len(acked)
		for lines.Scan() {
			if p, ok := strings.CutPrefix(lines.Text(), "acked "); ok {
				acked = append(acked, fmt.Sprint(round, " ", p))
			}
			if len(acked) == before+100 {
				if err := cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
		}
		_ = cmd.Wait() // killed
		cancel()
		if len(acked) < before+100 {
			t.Fatalf("round %d: only %d were acknowledged", round, len(acked)-before)
		}
	}
	l := mustOpen(t, Config{Dir: dir})
	got, damaged := readFrom(t, l, 0)
	if damaged != 0 {
		t.Errorf("damage is reported %d times", damaged)
	}
	count := map[string]int{}
	for _, p := range got {
		count[p]++
	}
	wanted := map[string]int{}
	for _, p := range acked {
		_, p, _ = strings.Cut(p, " ")
		wanted[p]++
	}
	for p, n := range wanted {
		if count[p] < n {
			t.Errorf("%.10q was acknowledged %d times and is there %d times", p, n, count[p])
		}
	}
}

// A copy of the directory taken at any moment, as a backup would, opens too.
func TestCopiedWhileWriting(t *testing.T) {
	dir := t.TempDir()
	l := mustOpen(t, Config{Dir: dir})
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
				p := fmt.Sprintf("%d%s", i, strings.Repeat(".", 3000))
				if _, err := l.Append(context.Background(), []eventlog.Append{{Partition: len(p) % 7, Payload: []byte(p)}}, i%10 == 0); err != nil {
					t.Error(err)
					return
				}
			}
		}
	})
	for range 20 {
		_, end := l.Range()
		copied := t.TempDir()
		if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
		c := reopen(t, Config{Dir: copied})
		if _, has := c.Range(); has < end {
			t.Errorf("the log ended at %d, a copy made later at %d", end, has)
		}
		got, damaged := readFrom(t, c, 0)
		if damaged != 0 {
			t.Errorf("damage is reported %d times", damaged)
		}
		for i, p := range got {
			if !strings.HasPrefix(p, fmt.Sprintf("%d.", i)) {
				t.Fatalf("record %d is %.10q", i, p)
			}
		}
		c.Close()
	}
	close(stop)
	wg.Wait()
}
