//go:build !linux

package exact

// mapMemory returns zeroed memory.
func mapMemory(size int) ([]byte, error) { return make([]byte, size), nil }

func unmapMemory([]byte) error { return nil }
