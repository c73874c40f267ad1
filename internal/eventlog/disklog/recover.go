package disklog

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"crest"
	"crest/internal/eventlog"
)

// listSegments returns the segments of a directory in order, as far as their names and headers tell: each ends where
// the next begins, and the end of the last is not known yet. A last file whose header a crash left unfinished is
// returned apart; it has never held a record.
func listSegments(dir string) (segments []*segment, unfinished *segment, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, nil, err
	}
	var bases []eventlog.Offset
	for _, e := range entries {
		if base, ok := parseSegmentName(e.Name()); ok {
			bases = append(bases, base)
		}
	}
	slices.Sort(bases)
	for i, base := range bases {
		seg := newSegment(dir, segmentHeader{base: base})
		if i > 0 {
			segments[i-1].end = base
		}
		h, size, err := readSegmentHeader(seg.path)
		if errors.Is(err, errNoHeader) && size <= segmentHeaderBytes && i == len(bases)-1 {
			return segments, seg, nil
		}
		if err == nil && h.base != base {
			err = fmt.Errorf("its header says that it begins at offset %d", h.base)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("segment %s: %w", seg.path, err)
		}
		seg.floor = h.floor
		segments = append(segments, seg)
	}
	return segments, nil, nil
}

func readSegmentHeader(path string) (h segmentHeader, size int64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return h, 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return h, 0, err
	}
	b := make([]byte, min(segmentHeaderBytes, info.Size()))
	if _, err := f.ReadAt(b, 0); err != nil {
		return h, 0, err
	}
	h, err = parseSegmentHeader(b)
	return h, info.Size(), err
}

// recoverTail finds the end of the last segment and the newest stamp in it, and cuts off what a crash left unfinished.
//
// A damaged frame is taken for the tear of a crash unless a later frame proves otherwise: one whose commit began after
// the damaged frame was only written once all before it was durable. A torn commit was never acknowledged, so it goes
// from the tear on; damage within what was durable stays, for readers to report.
//
// Nothing from limit on is looked at, as far as limit is after the segment's beginning.
func recoverTail(f file, size int64, seg *segment, limit eventlog.Offset) (newest crest.Millis, r Recovery, err error) {
	r.Path = seg.path
	whole := size
	if limit > seg.base {
		size = min(size, seg.position(limit))
	}
	newest = seg.floor
	s := scanner{r: f, end: size}
	pos, tear := int64(segmentHeaderBytes), int64(-1)
	for pos < size {
		h, ok, err := s.frame(pos)
		if err != nil {
			return 0, r, err
		}
		if !ok {
			if tear < 0 {
				tear = pos
			}
			if pos, err = s.after(pos); err != nil {
				return 0, r, err
			}
			continue
		}
		if tear >= 0 && pos-h.back > tear {
			r.Damaged++
			tear = -1
		}
		newest = max(newest, h.received)
		pos += frameHeaderBytes + int64(h.length)
	}
	if tear >= 0 {
		pos = tear
	}
	if pos < whole {
		if err := f.Truncate(pos); err != nil {
			return 0, r, fmt.Errorf("cut off an unfinished write: %w", err)
		}
		r.Cut = whole - pos
		r.CutAt = seg.base + eventlog.Offset(pos-segmentHeaderBytes)
	}
	seg.end = seg.base + eventlog.Offset(pos-segmentHeaderBytes)
	// What an ended process wrote may be in the page cache alone, and readers get only what is on disk.
	return newest, r, f.Sync()
}
