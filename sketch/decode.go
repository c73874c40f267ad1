package sketch

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// UnmarshalLimit is the largest Config.Memory of a state that a zero Summary takes, in bytes. A Summary made by [New]
// takes the states of its own Config instead, however large.
const UnmarshalLimit = 64 << 20

var errShort = errors.New("ends too early")

// UnmarshalBinary replaces s by the state that [Summary.AppendBinary] wrote. Whatever data is, it takes no more memory
// than a summary of that Config can have. When it returns an error, s is as it was.
func (s *Summary) UnmarshalBinary(data []byte) error {
	decoded, err := decode(data, s.config)
	if err != nil {
		return fmt.Errorf("sketch: decode summary: %w", err)
	}
	*s = *decoded
	return nil
}

func decode(data []byte, want Config) (*Summary, error) {
	if len(data) < headerBytes+checksumBytes || string(data[:4]) != encodingMagic {
		return nil, errors.New("is not a summary")
	}
	if data[4] != encodingVersion {
		return nil, fmt.Errorf("has version %d; only version %d can be read", data[4], encodingVersion)
	}
	end := len(data) - checksumBytes
	if binary.LittleEndian.Uint32(data[end:]) != checksum(data[:end]) {
		return nil, errors.New("has a wrong checksum")
	}
	memory := uint64(binary.LittleEndian.Uint32(data[8:]))
	switch {
	case want.Memory != 0 && memory != uint64(want.Memory):
		return nil, fmt.Errorf("has Memory %d; %d is wanted", memory, want.Memory)
	case want.Memory == 0 && memory > UnmarshalLimit:
		return nil, fmt.Errorf("has Memory %d; a zero Summary takes at most %d", memory, UnmarshalLimit)
	}
	s, err := New(Config{Memory: int(memory)})
	if err != nil {
		return nil, err
	}
	flags, setBits := data[5], data[6]
	if flags&^flagFull != 0 || data[7] != 0 {
		return nil, errors.New("has unknown flags")
	}
	r := reader{rest: data[headerBytes:end]}
	// Each set takes at least a byte, which bounds the allocation by the data.
	if setBits > 31 || len(r.rest) < 1<<setBits || s.heavyBytes < setBytes<<setBits {
		return nil, fmt.Errorf("can't have 2^%d sets", setBits)
	}
	s.total = binary.LittleEndian.Uint64(data[12:])
	s.sets = make([]set, 1<<setBits)
	if flags == flagFull {
		s.becomeFull()
	}
	if err := s.read(&r); err != nil {
		return nil, err
	}
	return s, nil
}

// read reads sets and light part, and checks that they can be the state of a summary.
func (s *Summary) read(r *reader) error {
	certain := uint64(0)
	for index := range s.sets {
		weight, err := s.readSet(r, index)
		if err != nil {
			return fmt.Errorf("set %d: %w", index, err)
		}
		certain = addSaturating(certain, weight)
	}
	if s.full {
		if err := s.light.read(r); err != nil {
			return fmt.Errorf("light part: %w", err)
		}
	}
	switch {
	case r.short:
		return errShort
	case len(r.rest) != 0:
		return fmt.Errorf("has %d bytes too many", len(r.rest))
	case certain > s.total || (!s.full && certain != s.total):
		return fmt.Errorf("has entries of %d, but a total of %d", certain, s.total)
	case s.full && s.cutoff == 0:
		return errors.New("is full, but nothing was evicted or refused")
	}
	return nil
}

// readSet reads a set and returns the sum of its entries' lower bounds.
func (s *Summary) readSet(r *reader, index int) (certain uint64, err error) {
	n := r.byte()
	if n > setEntries {
		return 0, fmt.Errorf("has %d entries", n)
	}
	if s.full {
		floor := r.uvarint()
		if floor > s.total {
			return 0, fmt.Errorf("has floor %d, above the total", floor)
		}
		s.raiseFloor(index, floor)
	}
	for range n {
		count, lack := r.uvarint(), uint64(0)
		if s.full {
			lack = r.uvarint()
		}
		key := string(r.bytes(int(r.byte()) + 1))
		hash := Hash(key)
		switch {
		case r.short:
			return 0, errShort
		case count > s.total || lack >= count:
			return 0, fmt.Errorf("has an entry of %d with error %d", count, lack)
		case s.SetOf(hash) != index:
			return 0, errors.New("has a key of another set")
		case s.find(&s.sets[index], hash, key) >= 0:
			return 0, errors.New("has a key twice")
		case !s.fits(len(key), 0):
			return 0, errors.New("has more keys than memory allows")
		}
		s.insert(index, hash, key, count, lack)
		certain = addSaturating(certain, count-lack)
	}
	return certain, nil
}

// read reads the lines that append wrote.
func (l *light) read(r *reader) error {
	for i := 0; i < len(l.lines); i++ {
		blank := r.uvarint()
		if blank >= uint64(len(l.lines)-i) {
			if blank > uint64(len(l.lines)-i) {
				return errors.New("has too many lines")
			}
			break
		}
		i += int(blank)
		width, used := r.byte(), r.byte()
		switch {
		case r.short:
			return errShort
		case width > maxWidth || used == 0:
			return fmt.Errorf("line %d has width %d and words %b", i, width, used)
		}
		l.width[i] = width
		for w := range lineWords {
			if used>>w&1 != 0 {
				l.lines[i][w] = r.uint64()
			}
		}
	}
	return nil
}

// reader takes values off the front of rest. Once there are too few bytes it is short and gives zeros.
type reader struct {
	rest  []byte
	short bool
}

func (r *reader) bytes(n int) []byte {
	if len(r.rest) < n {
		r.rest, r.short = nil, true
		return nil
	}
	taken := r.rest[:n]
	r.rest = r.rest[n:]
	return taken
}

func (r *reader) byte() byte {
	if b := r.bytes(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *reader) uint64() uint64 {
	if b := r.bytes(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.rest)
	if n <= 0 {
		r.rest, r.short = nil, true
		return 0
	}
	r.rest = r.rest[n:]
	return v
}
