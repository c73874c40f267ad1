package sketch

import (
	"encoding/binary"
	"hash/crc32"
	"math/bits"
)

// The encoding of a Summary, drawn in docs/formats/summary.md.
const (
	encodingMagic   = "CRSM"
	encodingVersion = 1
	headerBytes     = 20
	checksumBytes   = 4
	flagFull        = 1
)

// AppendBinary appends the state of s to dst. Decoding it gives a summary that behaves like s from then on. It takes
// about the bytes of the keys and a few more for each, and the light part's cells that are not zero. The error is always
// nil.
func (s *Summary) AppendBinary(dst []byte) ([]byte, error) {
	from := len(dst)
	flags := byte(0)
	if s.full {
		flags = flagFull
	}
	dst = append(dst, encodingMagic...)
	dst = append(dst, encodingVersion, flags, byte(bits.Len(uint(len(s.sets)))-1), 0)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(s.config.Memory))
	dst = binary.LittleEndian.AppendUint64(dst, s.total)
	for index := range s.sets {
		dst = s.appendSet(dst, index)
	}
	if s.full {
		dst = s.light.appendTo(dst)
	}
	return binary.LittleEndian.AppendUint32(dst, checksum(dst[from:])), nil
}

// MarshalBinary returns the state of s; see [Summary.AppendBinary].
func (s *Summary) MarshalBinary() ([]byte, error) { return s.AppendBinary(nil) }

func checksum(data []byte) uint32 { return crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli)) }

func (s *Summary) appendSet(dst []byte, index int) []byte {
	t := &s.sets[index]
	dst = append(dst, byte(t.n))
	if s.full {
		dst = binary.AppendUvarint(dst, s.floor(index))
	}
	for i := range int(t.n) {
		dst = binary.AppendUvarint(dst, s.count(index, i))
		if s.full {
			dst = binary.AppendUvarint(dst, s.err(index, i))
		}
		dst = append(dst, t.size[i])
		dst = append(dst, s.key(t, i)...)
	}
	return dst
}

// appendTo writes the lines that are not blank, each after the number of blank lines before it.
func (l *light) appendTo(dst []byte) []byte {
	blank := uint64(0)
	for i := range l.lines {
		line, used := &l.lines[i], byte(0)
		for w, word := range line {
			if word != 0 {
				used |= 1 << w
			}
		}
		if used == 0 {
			blank++
			continue
		}
		dst = binary.AppendUvarint(dst, blank)
		blank = 0
		dst = append(dst, l.width[i], used)
		for _, word := range line {
			if word != 0 {
				dst = binary.LittleEndian.AppendUint64(dst, word)
			}
		}
	}
	if blank != 0 {
		dst = binary.AppendUvarint(dst, blank)
	}
	return dst
}
