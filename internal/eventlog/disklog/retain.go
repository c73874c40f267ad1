package disklog

import (
	"fmt"
	"slices"

	"crest"
	"crest/internal/eventlog"
)

// Retain deletes the oldest segments: those whose records are all older than RetainAge, and, whatever their age, those
// beyond RetainBytes. The segment being written always stays. Nothing at needed or after it is deleted for its age, so
// that what has not been read yet waits for its reader; to keep within RetainBytes it is deleted all the same, and the
// reader is told so. It returns the bytes freed. The owner of the log calls it from time to time.
func (l *Log) Retain(needed eventlog.Offset) (int64, error) {
	l.retaining.Lock()
	defer l.retaining.Unlock()
	oldest := crest.MillisOf(l.cfg.Now()).Add(-l.cfg.RetainAge)
	freed := int64(0)
	for {
		seg := l.forget(oldest, needed)
		if seg == nil {
			return freed, nil
		}
		if err := l.storage.Remove(seg.path); err != nil {
			l.mu.Lock()
			l.segments = slices.Insert(l.segments, 0, seg)
			l.mu.Unlock()
			return freed, fmt.Errorf("delete segment: %w", err)
		}
		freed += seg.size()
		if f := l.cfg.Observer.Trimmed; f != nil {
			f(seg.size())
		}
		// One after the other, lest a crash bring back one without the next and leave a gap.
		if err := l.storage.SyncDir(l.cfg.Dir); err != nil {
			return freed, fmt.Errorf("delete segment: %w", err)
		}
	}
}

// forget takes the oldest segment out of the log if it may go; otherwise it returns nil.
func (l *Log) forget(oldest crest.Millis, needed eventlog.Offset) *segment {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.segments) == 1 || l.closed {
		return nil
	}
	seg, next := l.segments[0], l.segments[1]
	tooOld := next.floor < oldest && seg.end <= needed
	if !tooOld && l.size() <= l.cfg.RetainBytes {
		return nil
	}
	l.segments = slices.Delete(l.segments, 0, 1)
	return seg
}
