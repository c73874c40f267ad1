package exact

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
)

// spill is what did not fit in the memory: runs of sorted sums in temporary files. The files have no names, so nothing of
// them is left whatever happens.
type spill struct {
	dir  string
	runs []*run
}

// run is a file of records in order: the board's number, the slot, how many bytes the item shares with the one before,
// how many more it has, these, and the sum. Numbers are varints.
type run struct {
	file    *os.File
	records int64
}

const (
	maxRuns   = 48       // open at once; more are merged into one
	runBuffer = 64 << 10 // bytes for reading or writing one
)

// write makes a run of all that a merge gives.
func (s *spill) write(ctx context.Context, m *merge) (*run, error) {
	f, err := os.CreateTemp(s.dir, "spill-*.tmp")
	if err != nil {
		return nil, fmt.Errorf("spill sums to disk: %w", err)
	}
	if err := os.Remove(f.Name()); err != nil {
		return nil, errors.Join(fmt.Errorf("spill sums to disk: %w", err), f.Close())
	}
	w := runWriter{out: bufio.NewWriterSize(f, runBuffer)}
	err = m.each(ctx, w.record)
	if err == nil {
		err = w.out.Flush()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("spill sums to disk: %w", err), f.Close())
	}
	return &run{f, w.records}, nil
}

// add keeps a run.
func (s *spill) add(r *run) { s.runs = append(s.runs, r) }

// shrink merges all runs into one when there are too many.
func (s *spill) shrink(ctx context.Context, ranks []uint32) error {
	if len(s.runs) < maxRuns {
		return nil
	}
	m := &merge{ranks: ranks}
	for _, r := range s.runs {
		if err := m.addRun(r); err != nil {
			return err
		}
	}
	whole, err := s.write(ctx, m)
	if err != nil {
		return err
	}
	err = s.close()
	s.add(whole)
	return err
}

func (s *spill) close() error {
	var errs []error
	for _, r := range s.runs {
		errs = append(errs, r.file.Close())
	}
	s.runs = nil
	return errors.Join(errs...)
}

type runWriter struct {
	out     *bufio.Writer
	last    []byte
	buffer  []byte
	records int64
}

func (w *runWriter) record(r *record) error {
	shared := 0
	for shared < min(len(w.last), len(r.item)) && w.last[shared] == r.item[shared] {
		shared++
	}
	b := binary.AppendUvarint(w.buffer[:0], uint64(r.board))
	b = binary.AppendUvarint(b, uint64(r.slot))
	b = binary.AppendUvarint(b, uint64(shared))
	b = binary.AppendUvarint(b, uint64(len(r.item)-shared))
	b = append(b, r.item[shared:]...)
	b = binary.AppendUvarint(b, r.sum)
	w.buffer = b
	w.last = append(w.last[:shared], r.item[shared:]...)
	w.records++
	_, err := w.out.Write(b)
	return err
}

// runReader reads a run from its start.
type runReader struct {
	in   *bufio.Reader
	left int64
	item []byte
}

func newRunReader(r *run) *runReader {
	return &runReader{in: bufio.NewReaderSize(io.NewSectionReader(r.file, 0, 1<<62), runBuffer), left: r.records}
}

// next reads a record; false at the end. Its item is valid until the next call.
func (r *runReader) next(to *record) (bool, error) {
	if r.left == 0 {
		return false, nil
	}
	r.left--
	var numbers [4]uint64 // board, slot, shared, more
	for i := range numbers {
		n, err := binary.ReadUvarint(r.in)
		if err != nil {
			return false, fmt.Errorf("read spilled sums: %w", err)
		}
		numbers[i] = n
	}
	shared, more := int(numbers[2]), int(numbers[3])
	if shared > len(r.item) || more >= chunkBytes {
		return false, errors.New("read spilled sums: they are not what was written")
	}
	r.item = append(r.item[:shared], make([]byte, more)...)
	if _, err := io.ReadFull(r.in, r.item[shared:]); err != nil {
		return false, fmt.Errorf("read spilled sums: %w", err)
	}
	sum, err := binary.ReadUvarint(r.in)
	if err != nil {
		return false, fmt.Errorf("read spilled sums: %w", err)
	}
	*to = record{board: uint32(numbers[0]), slot: uint16(numbers[1]), item: r.item, sum: sum}
	return true, nil
}
