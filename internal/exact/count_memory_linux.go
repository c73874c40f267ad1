package exact

import "golang.org/x/sys/unix"

// mapMemory returns zeroed memory outside Go's heap. Huge pages spare most misses of the address cache, of which random
// access to tables of this size has one each.
func mapMemory(size int) ([]byte, error) {
	b, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return nil, err
	}
	_ = unix.Madvise(b, unix.MADV_HUGEPAGE) // it is only slower without
	return b, nil
}

func unmapMemory(b []byte) error { return unix.Munmap(b) }
