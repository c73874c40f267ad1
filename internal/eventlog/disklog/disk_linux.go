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

// reserve gives n bytes of the disk to the file from a position on, without making it longer. Where the file system
// can't, syncs are slower, and nothing else.
func reserve(f *os.File, from, n int64) {
	_ = unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_KEEP_SIZE, from, n)
}
