package exact

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// VersionError says that a manifest is of a later format than this program reads: nothing is wrong with it, and what it
// refers to must be left as it is.
type VersionError struct {
	Path   string
	Format int
}

// Error names the file and its format.
func (e *VersionError) Error() string {
	return fmt.Sprintf("%s was written by a newer crest: it is of format %d; this program knows format %d", e.Path, e.Format, manifestFormat)
}

// leadingFormat returns the format of a file that is not what this program writes, by its first value: a later format may go
// on after that, or be larger. It is 0 when that value is damaged too.
func leadingFormat(b []byte) int {
	var d document
	if err := json.NewDecoder(bytes.NewReader(b)).Decode(&d); err != nil {
		return 0
	}
	return d.Format
}
