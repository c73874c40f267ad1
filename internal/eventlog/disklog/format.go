package disklog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"path/filepath"
	"strconv"
	"strings"

	"crest"
	"crest/internal/eventlog"
)

// docs/formats/log.md draws these formats.
const (
	magic              = "crestlog"
	segmentVersion     = 1
	segmentHeaderBytes = 32
	frameHeaderBytes   = 28
	segmentSuffix      = ".log"
)

func checksum(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }

// segmentName is the base offset in 20 digits, so that names sort as offsets do.
func segmentName(base eventlog.Offset) string { return fmt.Sprintf("%020d%s", base, segmentSuffix) }

func parseSegmentName(name string) (eventlog.Offset, bool) {
	digits, ok := strings.CutSuffix(name, segmentSuffix)
	if !ok || len(digits) != 20 {
		return 0, false
	}
	base, err := strconv.ParseUint(digits, 10, 63)
	return eventlog.Offset(base), err == nil
}

// segmentHeader is the beginning of a segment's file.
type segmentHeader struct {
	base  eventlog.Offset // of the first record
	floor crest.Millis    // no record of the segment is stamped earlier, none before it later
}

func (h segmentHeader) encode() []byte {
	b := make([]byte, 0, segmentHeaderBytes)
	b = append(b, magic...)
	b = binary.LittleEndian.AppendUint32(b, segmentVersion)
	b = binary.LittleEndian.AppendUint64(b, uint64(h.base))
	b = binary.LittleEndian.AppendUint64(b, uint64(h.floor))
	return binary.LittleEndian.AppendUint32(b, checksum(b))
}

// errNoHeader says that a file does not begin with an intact header.
var errNoHeader = errors.New("it does not begin with the header of a segment")

func parseSegmentHeader(b []byte) (segmentHeader, error) {
	if len(b) < segmentHeaderBytes || string(b[:8]) != magic {
		return segmentHeader{}, errNoHeader
	}
	if v := binary.LittleEndian.Uint32(b[8:]); v != segmentVersion {
		return segmentHeader{}, fmt.Errorf("its format is version %d; this program knows version %d", v, segmentVersion)
	}
	if binary.LittleEndian.Uint32(b[28:]) != checksum(b[:28]) {
		return segmentHeader{}, errNoHeader
	}
	return segmentHeader{
		base:  eventlog.Offset(binary.LittleEndian.Uint64(b[12:])),
		floor: crest.Millis(binary.LittleEndian.Uint64(b[20:])),
	}, nil
}

// frameHeader precedes each record's payload.
type frameHeader struct {
	length    int
	partition int
	received  crest.Millis
	back      int64  // bytes from the start of the commit that the frame was written with
	sum       uint32 // of the payload
}

func (h frameHeader) appendTo(b []byte) []byte {
	start := len(b)
	b = binary.LittleEndian.AppendUint32(b, uint32(h.length))
	b = binary.LittleEndian.AppendUint16(b, uint16(h.partition))
	b = binary.LittleEndian.AppendUint16(b, 0)
	b = binary.LittleEndian.AppendUint64(b, uint64(h.received))
	b = binary.LittleEndian.AppendUint32(b, uint32(h.back))
	b = binary.LittleEndian.AppendUint32(b, h.sum)
	return binary.LittleEndian.AppendUint32(b, checksum(b[start:]))
}

// parseFrameHeader returns false unless b begins with an intact header.
func parseFrameHeader(b []byte) (frameHeader, bool) {
	if len(b) < frameHeaderBytes {
		return frameHeader{}, false
	}
	length := binary.LittleEndian.Uint32(b)
	// Looking at the length and the unused bytes first makes the search for a header, byte by byte, quick.
	if length == 0 || length > eventlog.MaxRecordBytes || b[6]|b[7] != 0 {
		return frameHeader{}, false
	}
	if binary.LittleEndian.Uint32(b[24:]) != checksum(b[:24]) {
		return frameHeader{}, false
	}
	return frameHeader{
		length:    int(length),
		partition: int(binary.LittleEndian.Uint16(b[4:])),
		received:  crest.Millis(binary.LittleEndian.Uint64(b[8:])),
		back:      int64(binary.LittleEndian.Uint32(b[16:])),
		sum:       binary.LittleEndian.Uint32(b[20:]),
	}, true
}

// segment is one file of the log. Its fields don't change once it is no longer the last, but for end while it is.
type segment struct {
	path  string
	base  eventlog.Offset
	end   eventlog.Offset // after the last record that readers may get
	floor crest.Millis
}

func newSegment(dir string, h segmentHeader) *segment {
	return &segment{path: filepath.Join(dir, segmentName(h.base)), base: h.base, end: h.base, floor: h.floor}
}

// position returns where in the file the record at an offset begins.
func (s *segment) position(at eventlog.Offset) int64 { return segmentHeaderBytes + int64(at-s.base) }

// size returns the bytes of the file.
func (s *segment) size() int64 { return s.position(s.end) }
