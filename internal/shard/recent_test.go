package shard

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"
	"time"

	"crest"
)

func testSecret() Secret { return Secret{0x9e3779b97f4a7c15, 0xc2b2ae3d27d4eb4f} }

func idOf(n uint64) (id crest.EventID) {
	binary.BigEndian.PutUint64(id[:8], n)
	binary.BigEndian.PutUint64(id[8:], n*n)
	return id
}

func TestIDsAreKnownForTheHorizon(t *testing.T) {
	const horizon = 2 * time.Minute
	r := newRecentIDs(horizon, 0, 8<<20, testSecret())
	random := rand.New(rand.NewPCG(5, 1))
	firstSeen := map[uint64]crest.Millis{}
	now := crest.Millis(1_700_000_000_000)
	again, forgotten := 0, 0
	for range 200_000 {
		now += crest.Millis(random.IntN(20))
		n := random.Uint64N(100_000)
		before, known := firstSeen[n]
		dup := r.seen(idOf(n), now)
		switch {
		case dup && !known:
			t.Fatalf("a new id was taken for a duplicate")
		case known && !dup && now <= before.Add(horizon):
			t.Fatalf("an id was forgotten after %d ms", now-before)
		case dup:
			again++
		case known:
			forgotten++
		}
		if !dup {
			firstSeen[n] = now
		}
	}
	if again == 0 || forgotten == 0 {
		t.Fatalf("the stream proves nothing: %d duplicates, %d forgotten in time", again, forgotten)
	}
	if r.takeForgot() {
		t.Fatal("says that ids were forgotten too early")
	}
}

func TestIDsForgottenTooEarlyAreReportedAndNeverDropNewOnes(t *testing.T) {
	r := newRecentIDs(time.Minute, 0, 64<<10, testSecret())
	now := crest.Millis(1_700_000_000_000)
	for n := range uint64(100_000) {
		if r.seen(idOf(n), now) {
			t.Fatalf("id %d is new", n)
		}
	}
	if !r.takeForgot() || r.takeForgot() {
		t.Fatal("must say once that ids were forgotten")
	}
	if got := len(r.slots) * 8; got > 64<<10 {
		t.Fatalf("the ids take %d bytes", got)
	}
	if !r.seen(idOf(99_999), now) {
		t.Fatal("the newest id must be known")
	}
}

func TestSilenceForgetsBothGenerations(t *testing.T) {
	r := newRecentIDs(time.Minute, 0, 64<<10, testSecret())
	now := crest.Millis(1_700_000_000_000).Floor(time.Minute)
	r.seen(idOf(1), now)
	if !r.seen(idOf(1), now.Add(119*time.Second)) {
		t.Fatal("must be known in the next generation")
	}
	if r.seen(idOf(1), now.Add(10*time.Minute)) {
		t.Fatal("must be forgotten after ten minutes")
	}
}

func TestIDsUseMostOfTheirMemory(t *testing.T) {
	const memory = 8 << 20
	r := newRecentIDs(time.Minute, 0, memory, testSecret())
	for n := range uint64(memory / 8 * 7 / 10) {
		r.seen(idOf(n), 1_700_000_000_000)
	}
	if r.takeForgot() {
		t.Fatal("ids were forgotten with 3 places of 10 still free")
	}
}

func BenchmarkSeen(b *testing.B) {
	r := newRecentIDs(2*time.Minute, 0, 32<<20, testSecret())
	for n := range uint64(1_000_000) {
		r.seen(idOf(n*7919), 1)
	}
	for n := uint64(0); b.Loop(); n++ {
		r.seen(idOf(n*104729), 1)
	}
}
