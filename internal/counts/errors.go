package counts

import (
	"fmt"
)

// CorruptError says that a file is not what was written: changed, cut, or of another kind or version.
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
