package disklog

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// syncData is fdatasync: unlike fsync it does not wait for times of access and change to be written.
func syncData(f *os.File) error {
	for {
		err := unix.Fdatasync(int(f.Fd()))
		if !errors.Is(err, unix.EINTR) {
			return os.NewSyscallError("fdatasync", err)
		}
	}
}
