package eventlog

import (
	"errors"
	"fmt"
)

// ErrClosed is returned by readers whose log, or who themselves, have been closed.
var ErrClosed = errors.New("event log is closed")

// TrimmedError says that retention has removed the records at a position.
type TrimmedError struct {
	From   Offset // where reading was to go on
	Oldest Offset // the oldest position that can be read
}

// Error says what is gone and where reading can go on.
func (e *TrimmedError) Error() string {
	return fmt.Sprintf("event log no longer has the records at offset %d; the oldest it keeps are at %d", e.From, e.Oldest)
}

// BeyondError says that a position is after the end of the log: the log has lost records, or it is another log.
type BeyondError struct {
	From Offset
	End  Offset
}

// Error says where reading was to start and where the log ends.
func (e *BeyondError) Error() string {
	return fmt.Sprintf("event log ends at offset %d, before offset %d: it has lost records, or is not the log it was", e.End, e.From)
}

// CorruptError says that records are damaged. A reader that may go on without them opens a new reader at Resume.
type CorruptError struct {
	Path   string // the file
	Offset Offset // of the first damaged record
	Resume Offset // of the next intact one, or the end of the log
	Reason string
}

// Error says what is damaged and where.
func (e *CorruptError) Error() string {
	return fmt.Sprintf("event log %s is damaged at offset %d (%s); the next intact record is at %d", e.Path, e.Offset, e.Reason, e.Resume)
}
