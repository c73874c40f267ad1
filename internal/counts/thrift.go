package counts

import (
	"encoding/binary"
	"errors"

	"github.com/parquet-go/parquet-go/encoding/thrift"
)

// Thrift's compact protocol gives the size of a list in front of it, and the decoder allocates what it says: a damaged size
// can ask for more memory than there is. So bytes are walked through before they are decoded: a list can't have more
// elements than bytes that are left.

// The types of the compact protocol.
const (
	thriftTrue   = 1
	thriftFalse  = 2
	thriftByte   = 3
	thriftI16    = 4
	thriftI32    = 5
	thriftI64    = 6
	thriftDouble = 7
	thriftBinary = 8
	thriftList   = 9
	thriftSet    = 10
	thriftMap    = 11
	thriftStruct = 12

	thriftDepth = 16 // of structs and lists in each other; Parquet needs 7
)

var errThrift = errors.New("its encoding is broken")

// decodeThrift decodes a struct at the beginning of b and returns how many bytes it takes.
func decodeThrift(b []byte, v any) (int, error) {
	w := thriftWalk{b}
	if err := w.structure(thriftDepth); err != nil {
		return 0, err
	}
	n := len(b) - len(w.left)
	return n, thrift.Unmarshal(new(thrift.CompactProtocol), b[:n], v)
}

// thriftWalk walks through encoded bytes.
type thriftWalk struct{ left []byte }

func (w *thriftWalk) take(n uint64) error {
	if n > uint64(len(w.left)) {
		return errThrift
	}
	w.left = w.left[n:]
	return nil
}

func (w *thriftWalk) byte() (byte, error) {
	if len(w.left) == 0 {
		return 0, errThrift
	}
	b := w.left[0]
	w.left = w.left[1:]
	return b, nil
}

func (w *thriftWalk) varint() (uint64, error) {
	v, n := binary.Uvarint(w.left)
	if n <= 0 {
		return 0, errThrift
	}
	w.left = w.left[n:]
	return v, nil
}

func (w *thriftWalk) structure(depth int) error {
	for {
		head, err := w.byte()
		if err != nil || head == 0 {
			return err
		}
		if head>>4 == 0 { // the field's number follows, else it is the one before plus this
			if _, err := w.varint(); err != nil {
				return err
			}
		}
		if kind := head & 15; kind == thriftTrue || kind == thriftFalse {
			continue
		}
		if err := w.value(head&15, depth-1); err != nil {
			return err
		}
	}
}

func (w *thriftWalk) value(kind byte, depth int) error {
	if depth < 0 {
		return errThrift
	}
	switch kind {
	case thriftTrue, thriftFalse, thriftByte:
		return w.take(1)
	case thriftI16, thriftI32, thriftI64:
		_, err := w.varint()
		return err
	case thriftDouble:
		return w.take(8)
	case thriftBinary:
		n, err := w.varint()
		return errors.Join(err, w.take(n))
	case thriftList, thriftSet:
		return w.list(depth)
	case thriftMap:
		return w.mapping(depth)
	case thriftStruct:
		return w.structure(depth)
	}
	return errThrift
}

func (w *thriftWalk) list(depth int) error {
	head, err := w.byte()
	if err != nil {
		return err
	}
	n := uint64(head >> 4)
	if n == 15 {
		if n, err = w.varint(); err != nil {
			return err
		}
	}
	if n > uint64(len(w.left)) {
		return errThrift
	}
	for range n {
		if err := w.value(head&15, depth-1); err != nil {
			return err
		}
	}
	return nil
}

func (w *thriftWalk) mapping(depth int) error {
	n, err := w.varint()
	if err != nil || n == 0 {
		return err
	}
	kinds, err := w.byte()
	if err != nil || n > uint64(len(w.left)) {
		return errThrift
	}
	for range n {
		if err := errors.Join(w.value(kinds>>4, depth-1), w.value(kinds&15, depth-1)); err != nil {
			return err
		}
	}
	return nil
}
