package exact

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
	lockName   = "lock"
	lockPoll   = 100 * time.Millisecond // a lock that the system gives in turn can't be waited for until a context ends
	lockHolder = 200                    // bytes read of who holds it
)

// lock keeps other recounters, of this process or another, from the directory. It ends with the process, however that
// ends. While it waits for another holder it has waiting told, once, who that is.
func lock(ctx context.Context, dir string, waiting func(holder string)) (unlock func(), err error) {
	f, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR|os.O_CREATE, fileMode)
	if err != nil {
		return nil, fmt.Errorf("lock the exact counts: %w", err)
	}
	if err := acquire(ctx, f, waiting); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("lock the exact counts: %w", err)
	}
	// Who it is, for whoever waits; not for good, so that it is no trace of how often counting was interrupted.
	if err := errors.Join(f.Truncate(0), writeHolder(f)); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("lock the exact counts: %w", err)
	}
	return func() {
		_ = f.Truncate(0)
		_ = f.Close()
	}, nil
}

func writeHolder(f *os.File) error {
	_, err := fmt.Fprintf(f, "process %d", os.Getpid())
	return err
}

func acquire(ctx context.Context, f *os.File, waiting func(string)) error {
	told := false
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			return os.NewSyscallError("flock", err)
		}
		if !told {
			told = true
			waiting(holder(f))
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("held by %s: %w", holder(f), context.Cause(ctx))
		case <-time.After(lockPoll):
		}
	}
}

func holder(f *os.File) string {
	b, err := io.ReadAll(io.NewSectionReader(f, 0, lockHolder))
	if s := strings.TrimSpace(string(b)); err == nil && s != "" {
		return s
	}
	return "another recount"
}
