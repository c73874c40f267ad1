package list

import (
	"fmt"
	"path"
	"strings"

	"github.com/zeebo/xxh3"
)

const (
	blobSuffix  = ".json"
	pointerName = "current"
	asideSuffix = ".tmp" // a pointer being written
)

// maxNameBytes is the length of a directory name from which a hash takes the place of its end; file systems allow 255.
const maxNameBytes = 200

// directory returns where a list's files are, relative to the store's directory and with slashes.
func directory(board, window string) string {
	return path.Join(escape(board), escape(window))
}

// escape turns any text into one directory name: whatever is not a plain letter, digit, ".", "_", "=" or "-", and a dot
// in front, becomes %XX.
func escape(s string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		plain := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' ||
			c == '_' || c == '=' || c == '-' || c == '.' && i > 0
		if plain {
			b.WriteByte(c)
		} else {
			b.Write([]byte{'%', hex[c>>4], hex[c&15]})
		}
	}
	name := b.String()
	if len(name) <= maxNameBytes {
		return name
	}
	return fmt.Sprintf("%s~%016x", name[:maxNameBytes-17], xxh3.HashString(s))
}
