package pipeline

import (
	"time"

	"crest"
	"crest/internal/eventlog"
)

// marks remembers where in the log moments of received time are, as far back as the dedup horizon: there the ids begin
// that must be known again after a restart.
type marks struct {
	horizon time.Duration
	list    []mark
}

type mark struct {
	received crest.Millis // every record after offset was received at or after this
	offset   eventlog.Offset
}

// markEvery is the least time between two marks.
const markEvery = 10 * time.Second

// add notes that all records received before the watermark are before the offset.
func (m *marks) add(watermark crest.Millis, offset eventlog.Offset) {
	if n := len(m.list); n > 0 && watermark < m.list[n-1].received.Add(markEvery) {
		return
	}
	m.list = append(m.list, mark{watermark, offset})
	for len(m.list) > 1 && m.list[1].received <= watermark.Add(-2*m.horizon) {
		m.list = m.list[1:]
	}
}

// start returns the newest offset that no record comes before which was received within two horizons of the watermark:
// as long as an aggregator may remember an id.
func (m *marks) start(watermark crest.Millis) eventlog.Offset {
	var start eventlog.Offset
	for _, k := range m.list {
		if k.received > watermark.Add(-2*m.horizon) {
			break
		}
		start = k.offset
	}
	if start == 0 && len(m.list) > 0 {
		return m.list[0].offset
	}
	return start
}
