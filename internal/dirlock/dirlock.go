// Package dirlock lets one process at a time work on a directory. A lock is the system's (flock), on a file in the
// directory: it ends with the process that holds it, by whatever end that finds, and the file stays.
package dirlock

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const (
	fileMode  = 0o600
	poll      = 100 * time.Millisecond // a lock that the system gives in turn can't be waited for until a context ends
	maxHolder = 200                    // bytes read of who holds it
)

// Lock is held until it is closed.
type Lock struct {
	file  *os.File
	named bool // the file says who holds it
}

// Take locks a directory, which exists, by the file of that name in it. It is an error that another process, or another
// taker in this one, holds it.
func Take(dir, name string) (*Lock, error) {
	f, err := open(dir, name)
	if err != nil {
		return nil, err
	}
	held, err := try(f)
	if err == nil && !held {
		err = fmt.Errorf("%s is in use by another process", dir)
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return &Lock{file: f}, nil
}

// Wait locks a directory as Take does, but waits for its holder until ctx ends, and calls waiting once, with who that is as
// far as it says so. As long as the lock is held the file says by which process.
func Wait(ctx context.Context, dir, name string, waiting func(holder string)) (*Lock, error) {
	f, err := open(dir, name)
	if err != nil {
		return nil, err
	}
	err = acquire(ctx, f, waiting)
	if err == nil {
		// Not for good, so that it is no trace of how often work was interrupted.
		err = errors.Join(f.Truncate(0), writeHolder(f))
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return &Lock{f, true}, nil
}

// Close gives the lock up.
func (l *Lock) Close() error {
	if l.named {
		_ = l.file.Truncate(0)
	}
	return l.file.Close()
}

func open(dir, name string) (*os.File, error) {
	return os.OpenFile(filepath.Join(dir, name), os.O_RDWR|os.O_CREATE, fileMode) //nolint:gosec // the directory is the operator's choice
}

// try returns whether the lock could be had.
func try(f *os.File) (held bool, err error) {
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, unix.EWOULDBLOCK):
			return false, nil
		case !errors.Is(err, unix.EINTR):
			return false, os.NewSyscallError("flock", err)
		}
	}
}

func acquire(ctx context.Context, f *os.File, waiting func(string)) error {
	for told := false; ; told = true {
		held, err := try(f)
		if held || err != nil {
			return err
		}
		if !told {
			waiting(holder(f))
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("held by %s: %w", holder(f), context.Cause(ctx))
		case <-time.After(poll):
		}
	}
}

func writeHolder(f *os.File) error {
	_, err := fmt.Fprintf(f, "process %d", os.Getpid())
	return err
}

func holder(f *os.File) string {
	b, err := io.ReadAll(io.NewSectionReader(f, 0, maxHolder))
	if s := strings.TrimSpace(string(b)); err == nil && s != "" {
		return s
	}
	return "another process"
}
