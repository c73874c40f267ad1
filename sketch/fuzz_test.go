package sketch

import (
	"bytes"
	"strings"
	"testing"
)

// FuzzUnmarshalBinary gives the decoder states with a right checksum: an error or a working summary, never a panic, and
// never more memory than the Config allows.
func FuzzUnmarshalBinary(f *testing.F) {
	exact, full := newSummary(f, MinMemory), newSummary(f, MinMemory)
	for i := range uint64(2000) {
		exact.Add(keyOf(i%20), 1)
		full.Add(keyOf(i*i%701), 1+i%3<<(i%40))
	}
	f.Add(encode(f, newSummary(f, MinMemory)))
	f.Add(encode(f, exact))
	f.Add(encode(f, full))
	f.Fuzz(func(t *testing.T, data []byte) {
		s := newSummary(t, MinMemory)
		if err := s.UnmarshalBinary(sealed(data)); err != nil {
			return
		}
		if got := s.Bytes() - cap(s.high)*highBytes; got > s.MaxBytes() || s.MaxBytes() > MinMemory {
			t.Fatalf("%d bytes; at most %d are allowed", got, s.MaxBytes())
		}
		state := encode(t, s)
		again := newSummary(t, MinMemory)
		if err := again.UnmarshalBinary(state); err != nil {
			t.Fatalf("its own state: %v", err)
		}
		for i := range uint64(300) {
			s.Add(keyOf(i%97), 1<<(i%40))
			again.Add(keyOf(i%97), 1<<(i%40))
		}
		if !bytes.Equal(encode(t, s), encode(t, again)) {
			t.Fatal("another future")
		}
		if err := s.Merge(again); err != nil {
			t.Fatal(err)
		}
		for _, e := range s.Top(s.Len()) {
			if e.Error >= e.Count {
				t.Fatalf("an entry of %d with error %d", e.Count, e.Error)
			}
		}
	})
}

// FuzzSummary runs operations on two summaries and compares both with exact counts.
func FuzzSummary(f *testing.F) {
	f.Add([]byte("a few bytes are a few operations"))
	f.Add(bytes.Repeat([]byte{0, 1, 2, 40, 41, 42, 0xfa, 0xfb, 3, 200, 0xfc, 150}, 50))
	long := make([]byte, 3000)
	for i := range long {
		long[i] = byte(i * i >> 3)
	}
	f.Add(long)
	f.Fuzz(func(t *testing.T, ops []byte) {
		s, other := newSummary(t, MinMemory), newSummary(t, MinMemory)
		truth, otherTruth := map[string]uint64{}, map[string]uint64{}
		for i, op := range ops {
			switch op {
			case 0xfa:
				s, other, truth, otherTruth = other, s, otherTruth, truth
			case 0xfb:
				if err := s.Merge(other); err != nil {
					t.Fatal(err)
				}
				for key, n := range otherTruth {
					truth[key] = addSaturating(truth[key], n)
				}
			case 0xfc:
				state := encode(t, s)
				s = new(Summary)
				if err := s.UnmarshalBinary(state); err != nil {
					t.Fatal(err)
				}
			case 0xfd:
				if i%5 == 0 {
					s.Reset()
					clear(truth)
				}
			default:
				key := keyOf(uint64(op)) + strings.Repeat("x", i%7*int(op)/8)
				weight := uint64(1) << (uint(i) * uint(op) % 36)
				if len(key) > MaxKey {
					key = key[:MaxKey]
				}
				s.Add(key, weight)
				truth[key] = addSaturating(truth[key], weight)
			}
		}
		if s.Total() != 1<<64-1 { // sums that saturate can't be compared
			checkSound(t, s, truth)
		}
		if other.Total() != 1<<64-1 {
			checkSound(t, other, otherTruth)
		}
	})
}
