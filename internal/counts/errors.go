package counts

import (
	"errors"
	"fmt"
	"strconv"
)

// CorruptError says that a file is not what was written: changed, cut, or of another kind.
type CorruptError struct {
	Path   string
	Reason string
	Cause  error // what decoding it failed with; may be nil
}

// Error names the file and says what is wrong with it.
func (e *CorruptError) Error() string {
	if e.Cause != nil {
		return fmt.Sprintf("%s is damaged: %s: %v", e.Path, e.Reason, e.Cause)
	}
	return fmt.Sprintf("%s is damaged: %s", e.Path, e.Reason)
}

// Unwrap returns the cause.
func (e *CorruptError) Unwrap() error { return e.Cause }

// VersionError says that a file is of a later format than this program reads: nothing is wrong with it.
type VersionError struct {
	Path    string
	Version int
}

// Error names the file and its version.
func (e *VersionError) Error() string {
	return fmt.Sprintf("%s was written by a newer crest: it is of version %d; this program reads version %s", e.Path, e.Version, version)
}

// checkVersion tells later formats, which are no damage, from what nobody has written.
func checkVersion(path, got string) error {
	if got == version {
		return nil
	}
	known, _ := strconv.Atoi(version)
	if n, err := strconv.Atoi(got); err == nil && n > known {
		return &VersionError{Path: path, Version: n}
	}
	return fmt.Errorf("it has version %q; this program reads version %s", got, version)
}

func isVersion(err error) bool {
	_, ok := errors.AsType[*VersionError](err)
	return ok
}
