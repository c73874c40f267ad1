package exact

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
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

// refuseNewer returns a *VersionError for a manifest of a later format. Whatever else may be wrong with one is for who reads
// it.
func refuseNewer(path string) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	var d document
	if err := json.NewDecoder(io.LimitReader(f, maxManifest)).Decode(&d); err != nil || d.Format <= manifestFormat {
		return nil // damage is not what is asked
	}
	return &VersionError{path, d.Format}
}
