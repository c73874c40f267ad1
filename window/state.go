package window

import (
	"encoding/binary"
	"errors"
	"fmt"
	"iter"

	"crest"
	"crest/sketch"
)

// The versions of a bucket's saved form, drawn in docs/formats/checkpoint.md.
const (
	stateVersion        = 1
	stateVersionArrived = 2 // with what came for closed hours
)

const flagDedupPartial = 1

// maxNumber is far beyond every bucket there can be, and far from where numbers overflow.
const maxNumber = 1 << 60

var errState = errors.New("window: damaged bucket state")

// Newest returns the number of the newest bucket, and false while the ring has never been moved.
func (r *Ring) Newest() (number int64, ok bool) { return r.newest, r.started }

// Buckets yields the numbers of the buckets that hold anything, oldest first, and whether each has changed since it
// was last marked as saved.
func (r *Ring) Buckets() iter.Seq2[int64, bool] {
	return func(yield func(int64, bool) bool) {
		if !r.started {
			return
		}
		for n := r.oldest(); n <= r.newest; n++ {
			if b := r.at(n); !b.empty() && !yield(n, b.changed) {
				return
			}
		}
	}
}

func (b *bucket) empty() bool {
	if b.summary != nil || b.duplicates != 0 || b.dedupPartial || len(b.arrivals) > 0 {
		return false
	}
	for _, n := range b.late {
		if n != 0 {
			return false
		}
	}
	return true
}

// AppendBucket appends the saved form of the bucket of that number, which Buckets has yielded, and marks it as saved.
func (r *Ring) AppendBucket(dst []byte, number int64) ([]byte, error) {
	b := r.at(number)
	b.changed = false
	flags := byte(0)
	if b.dedupPartial {
		flags |= flagDedupPartial
	}
	version := byte(stateVersion)
	if len(b.arrivals) > 0 {
		version = stateVersionArrived
	}
	dst = append(dst, version, flags)
	dst = binary.AppendUvarint(dst, b.duplicates)
	dst = binary.AppendUvarint(dst, uint64(len(b.late)))
	for _, n := range b.late {
		dst = binary.AppendUvarint(dst, n)
	}
	if version == stateVersionArrived {
		dst = appendArrivals(dst, b.arrivals)
	}
	if b.summary == nil {
		return append(dst, 0), nil
	}
	return b.summary.AppendBinary(append(dst, 1))
}

// Restore replaces the ring's content with saved buckets, by number; newest is what Newest returned. The ring must have
// the configuration that it was saved with.
func (r *Ring) Restore(newest int64, buckets iter.Seq2[int64, []byte]) error {
	if newest > maxNumber || newest < -maxNumber {
		return fmt.Errorf("%w: bucket %d is beyond all time", errState, newest)
	}
	r.restart(newest)
	for number, data := range buckets {
		if number < r.oldest() || number > newest {
			return fmt.Errorf("%w: bucket %d is outside the ring %d to %d", errState, number, r.oldest(), newest)
		}
		if err := r.restoreBucket(r.at(number), data); err != nil {
			return fmt.Errorf("bucket %d: %w", number, err)
		}
	}
	for i, w := range r.windows {
		buckets := int64(r.config.Windows[i])
		for n := newest - buckets + 1; n <= newest-open; n++ {
			if s := r.at(n).summary; s != nil && r.has(i, n) {
				w.addBucket(s)
			}
		}
	}
	return nil
}

func (r *Ring) restoreBucket(b *bucket, data []byte) error {
	if len(data) < 2 || data[0] != stateVersion && data[0] != stateVersionArrived {
		return errState
	}
	version := data[0]
	b.dedupPartial = data[1]&flagDedupPartial != 0
	rd := stateReader{data: data[2:]}
	b.duplicates = rd.number()
	windows := rd.number()
	if rd.failed {
		return errState
	}
	if windows != uint64(len(b.late)) {
		return fmt.Errorf("%w: it is of %d windows, the ring has %d", errState, windows, len(b.late))
	}
	for i := range b.late {
		b.late[i] = rd.number()
	}
	if version == stateVersionArrived {
		b.arrivals = rd.readArrivals()
		r.late += countAttributed(b.arrivals)
	}
	if rd.failed || len(rd.data) == 0 {
		return errState
	}
	if rd.data[0] == 0 {
		return nil
	}
	s, err := sketch.New(sketch.Config{Memory: r.config.Memory})
	if err != nil {
		return err
	}
	if err := s.UnmarshalBinary(rd.data[1:]); err != nil {
		return err
	}
	b.summary = s
	return nil
}

// stateReader reads numbers and texts. After the first failure it returns zeros.
type stateReader struct {
	data   []byte
	failed bool
}

func (r *stateReader) fail() {
	r.failed, r.data = true, nil
}

// took passes over what a number took, 0 or less for none that can be read.
func (r *stateReader) took(n int) {
	if n <= 0 {
		r.fail()
		return
	}
	r.data = r.data[n:]
}

func (r *stateReader) number() uint64 {
	v, n := binary.Uvarint(r.data)
	r.took(n)
	return v
}

func (r *stateReader) moment() crest.Millis {
	v, n := binary.Varint(r.data)
	r.took(n)
	return crest.Millis(v)
}

// count reads how many bytes or things of at least a byte follow.
func (r *stateReader) count() uint64 {
	n := r.number()
	if n > uint64(len(r.data)) {
		r.fail()
		return 0
	}
	return n
}

func (r *stateReader) text() string {
	n := r.count()
	s := string(r.data[:n])
	r.data = r.data[n:]
	return s
}
