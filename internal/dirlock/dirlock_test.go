package dirlock

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const name = "lock"

func TestOneTakerAtATime(t *testing.T) {
	dir := t.TempDir()
	l, err := Take(dir, name)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Take(dir, name); err == nil || err.Error() != dir+" is in use by another process" {
		t.Fatalf("a second taker got %v", err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if l, err = Take(dir, name); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Take(filepath.Join(dir, "absent"), name); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a directory that is not there: %v", err)
	}
}

func TestWaitersTakeTurns(t *testing.T) {
	dir := t.TempDir()
	first, err := Wait(t.Context(), dir, name, func(string) { t.Error("nobody holds it") })
	if err != nil {
		t.Fatal(err)
	}
	me := fmt.Sprint("process ", os.Getpid())
	ctx, cancel := context.WithCancelCause(t.Context())
	waits, done := make(chan string, 2), make(chan error)
	wait := func() {
		l, err := Wait(ctx, dir, name, func(holder string) { waits <- holder })
		if err == nil {
			err = l.Close()
		}
		done <- err
	}
	go wait()
	if got := <-waits; got != me {
		t.Errorf("the holder is %q, not %q", got, me)
	}
	reason := errors.New("no time left")
	cancel(reason)
	if err := <-done; !errors.Is(err, reason) || !strings.Contains(err.Error(), me) {
		t.Errorf("error %v", err)
	}
	ctx = t.Context()
	go wait()
	<-waits
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	if len(waits) > 0 {
		t.Error("it was told twice that somebody else is at work")
	}
	if b, err := os.ReadFile(filepath.Join(dir, name)); err != nil || len(b) > 0 {
		t.Errorf("the lock has %q, %v", b, err)
	}
}

// victimDir tells the test binary to be the process that is killed.
const victimDir = "CREST_DIRLOCK_VICTIM"

// A lock ends with its process, even one that is killed.
func TestHolderIsKilled(t *testing.T) {
	if dir := os.Getenv(victimDir); dir != "" {
		l, err := Wait(t.Context(), dir, name, func(string) {})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		fmt.Println("locked")
		_, _ = io.ReadAll(os.Stdin) // until it is killed
		return
	}
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestHolderIsKilled$")
	cmd.Env = append(os.Environ(), victimDir+"="+dir)
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if lines.Text() == "locked" {
			break
		}
	}
	if _, err := Take(dir, name); err == nil {
		t.Error("the lock of another process could be taken")
	}
	told := make(chan string, 1)
	done := make(chan error)
	go func() {
		l, err := Wait(t.Context(), dir, name, func(holder string) { told <- holder })
		if err == nil {
			err = l.Close()
		}
		done <- err
	}()
	if got, want := <-told, fmt.Sprint("process ", cmd.Process.Pid); got != want {
		t.Errorf("the holder is %q, not %q", got, want)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // killed
	if err := <-done; err != nil {
		t.Error(err)
	}
}
