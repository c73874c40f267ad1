package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// measured is what a program took: the least of the rounds, of memory the most.
type measured struct {
	name   string
	rounds int
	usage
}

type usage struct {
	Wall, CPU time.Duration
	Peak      int64 // bytes
}

// run has a small process of this program start and measure another: Linux counts what the process that starts one has in
// memory as the other's.
func (m *measured) run(ctx context.Context, name string, args ...string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	var said strings.Builder
	cmd := exec.CommandContext(ctx, self, append([]string{"measure", name}, args...)...) //nolint:gosec // the user names the program
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("%w\n%s", err, said.String())
	}
	var u usage
	if err := json.Unmarshal(out, &u); err != nil {
		return err
	}
	if m.rounds == 0 {
		m.usage = u
	}
	m.Wall, m.CPU, m.Peak = min(m.Wall, u.Wall), min(m.CPU, u.CPU), max(m.Peak, u.Peak)
	m.rounds++
	return nil
}

// measure runs a program and says what it took.
func measure(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return errors.New("no program to measure")
	}
	cmd := exec.CommandContext(ctx, args[0], args[1:]...) //nolint:gosec // the user names the program
	began := time.Now()
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, out)
	}
	state := cmd.ProcessState
	u := usage{Wall: time.Since(began), CPU: state.UserTime() + state.SystemTime()}
	if r, ok := state.SysUsage().(*syscall.Rusage); ok {
		u.Peak = r.Maxrss << 10 // Linux says KiB
	}
	return json.NewEncoder(os.Stdout).Encode(u)
}
