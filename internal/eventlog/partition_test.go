package eventlog

import (
	"encoding/binary"
	"testing"

	"crest"
)

func TestPartitionFollowsTheSession(t *testing.T) {
	for session := uint64(1); session < 1000; session++ {
		want := Partition(session, crest.EventID{}, 8)
		if got := Partition(session, crest.EventID{1, 2, 3}, 8); got != want {
			t.Fatalf("session %d: partition %d and %d", session, got, want)
		}
	}
}

func TestPartitionsAreEven(t *testing.T) {
	const n, each = 16, 4000
	bySession, byID := make([]int, n), make([]int, n)
	for i := range uint64(n * each) {
		bySession[Partition(i+1, crest.EventID{}, n)]++
		var id crest.EventID
		binary.BigEndian.PutUint64(id[8:], i)
		byID[Partition(0, id, n)]++
	}
	for p := range n {
		for _, got := range []int{bySession[p], byID[p]} {
			if got < each*9/10 || got > each*11/10 {
				t.Errorf("partition %d got %d of %d", p, got, each)
			}
		}
	}
}

// What Partition returns is kept in logs, so it may not change.
func TestPartitionIsPinned(t *testing.T) {
	got := []int{
		Partition(1, crest.EventID{}, 8), Partition(2, crest.EventID{}, 8), Partition(0xdeadbeef, crest.EventID{}, 256),
		Partition(0, crest.EventID{1}, 256), Partition(0, crest.EventID{15: 1}, 256), Partition(0, crest.EventID{}, 1),
	}
	want := []int{5, 1, 210, 180, 117, 0}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("got %v, want %v", got, want)
		}
	}
}
