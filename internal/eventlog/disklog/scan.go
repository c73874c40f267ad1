package disklog

import (
	"errors"
	"io"
)

// scanner looks at the frames of a file by large reads. Positions are in the file.
type scanner struct {
	r   io.ReaderAt
	end int64 // of what may be read
	buf []byte
	at  int64 // where in the file buf begins
}

const scanBytes = 1 << 20

// bytes returns the n bytes at pos, which must end before s.end. They are valid until the next call.
func (s *scanner) bytes(pos int64, n int) ([]byte, error) {
	if pos < s.at || pos+int64(n) > s.at+int64(len(s.buf)) {
		size := min(int64(max(n, scanBytes)), s.end-pos)
		if int64(cap(s.buf)) < size {
			s.buf = make([]byte, size)
		}
		s.at, s.buf = pos, s.buf[:size]
		read, err := s.r.ReadAt(s.buf, pos)
		s.buf = s.buf[:read]
		if err != nil && (read < n || !errors.Is(err, io.EOF)) {
			return nil, err
		}
	}
	from := int(pos - s.at)
	return s.buf[from : from+n], nil
}

// header returns the frame header at pos, and false unless it is intact and the whole frame ends before s.end.
func (s *scanner) header(pos int64) (frameHeader, bool, error) {
	if s.end-pos < frameHeaderBytes {
		return frameHeader{}, false, nil
	}
	b, err := s.bytes(pos, frameHeaderBytes)
	if err != nil {
		return frameHeader{}, false, err
	}
	h, ok := parseFrameHeader(b)
	return h, ok && int64(h.length) <= s.end-pos-frameHeaderBytes, nil
}

// frame returns the header of the frame at pos, and false unless header and payload are intact.
func (s *scanner) frame(pos int64) (frameHeader, bool, error) {
	h, ok, err := s.header(pos)
	if !ok || err != nil {
		return h, false, err
	}
	payload, err := s.bytes(pos+frameHeaderBytes, h.length)
	if err != nil {
		return h, false, err
	}
	return h, checksum(payload) == h.sum, nil
}

// after returns the position of the first intact frame after the damaged one at pos, or s.end.
func (s *scanner) after(pos int64) (int64, error) {
	h, ok, err := s.header(pos)
	if err != nil {
		return 0, err
	}
	// An intact header tells where the frame ends; then nothing inside its payload is taken for a frame.
	if ok {
		pos += frameHeaderBytes + int64(h.length)
	} else {
		pos++
	}
	for ; pos < s.end; pos++ {
		if _, ok, err := s.frame(pos); ok || err != nil {
			return pos, err
		}
	}
	return s.end, nil
}
