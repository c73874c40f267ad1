package sketch

import (
	"bytes"
	"encoding/binary"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func encode(tb testing.TB, s *Summary) []byte {
	tb.Helper()
	data, err := s.AppendBinary(nil)
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

func TestEncodingHasTheSameFuture(t *testing.T) {
	const updates = 10_000
	for _, memory := range []int{MinMemory, 32 << 10, 256 << 10} {
		for _, stream := range streams() {
			t.Run(fmt.Sprintf("%s/%d", stream.name, memory), func(t *testing.T) {
				t.Parallel()
				seed := rand.Uint64()
				t.Logf("seed %d", seed)
				s, truth := newSummary(t, memory), map[string]uint64{}
				restored := s
				for i, u := range stream.random(randomOf(seed), updates) {
					s.Add(u.key, u.weight)
					if restored != s {
						restored.Add(u.key, u.weight)
					}
					truth[u.key] += u.weight
					if i == updates/20 || i == updates/2 {
						restored = new(Summary)
						if err := restored.UnmarshalBinary(encode(t, s)); err != nil {
							t.Fatal(err)
						}
						checkSound(t, restored, truth)
					}
				}
				checkSound(t, restored, truth)
				if !bytes.Equal(encode(t, s), encode(t, restored)) {
					t.Error("the restored summary has another future")
				}
			})
		}
	}
}

// update writes the golden files anew; only a new version of the encoding may need that.
var updateGolden = flag.Bool("update", false, "write the golden files")

func TestGoldenFiles(t *testing.T) {
	exact, full, wide := newSummary(t, MinMemory), newSummary(t, MinMemory), newSummary(t, MinMemory)
	for i := range uint64(20) {
		exact.Add(fmt.Sprintf("item %d", i), 100-i)
	}
	for i := range uint64(3000) {
		full.Add(fmt.Sprintf("item %d", i*i%701), 1+i%3)
		wide.Add(fmt.Sprintf("item %d", i*i%701), 1+i%3<<(i%50))
	}
	for name, s := range map[string]*Summary{"exact": exact, "full": full, "wide": wide} {
		file := filepath.Join("testdata", "summary-v1-"+name+".bin")
		if *updateGolden {
			if err := os.WriteFile(file, encode(t, s), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		golden, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(golden, encode(t, s)) {
			t.Errorf("%s: the encoding has changed", name)
		}
		decoded := new(Summary)
		if err := decoded.UnmarshalBinary(golden); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !bytes.Equal(golden, encode(t, decoded)) {
			t.Errorf("%s: the decoded state is another", name)
		}
	}
}

// sealed returns a state with the checksum that it should have.
func sealed(data []byte) []byte {
	body := data[:max(len(data)-checksumBytes, 0)]
	return binary.LittleEndian.AppendUint32(bytes.Clone(body), checksum(body))
}

func TestCraftedStateIsAnError(t *testing.T) {
	header := func(flags, setBits byte, memory uint32, total uint64, body ...byte) []byte {
		data := append([]byte(encodingMagic), encodingVersion, flags, setBits, 0)
		data = binary.LittleEndian.AppendUint32(data, memory)
		data = binary.LittleEndian.AppendUint64(data, total)
		return sealed(append(append(data, body...), 0, 0, 0, 0))
	}
	const memory = MinMemory
	good := header(0, 0, memory, 7, 1, 7, 0, 'a')
	if err := new(Summary).UnmarshalBinary(good); err != nil {
		t.Fatalf("a good state: %v", err)
	}
	lines := byte(newSummary(t, memory).lightLines)
	blank := []byte{lines}
	other := byte('b')
	for Hash("a")&1 == Hash(string(other))&1 {
		other++
	}
	for _, test := range []struct {
		name, want string
		data       []byte
	}{
		{"nothing", "not a summary", nil},
		{"another magic", "not a summary", append([]byte("XRSM"), good[4:]...)},
		{"a later version", "version 2", append([]byte("CRSM\x02"), good[5:]...)},
		{"a flipped bit", "checksum", append(bytes.Clone(good[:len(good)-5]), good[len(good)-5]^1, 0, 0, 0, 0)},
		{"an unknown flag", "flags", header(2, 0, memory, 7, 1, 7, 0, 'a')},
		{"too little memory", "Memory", header(0, 0, 1, 7, 1, 7, 0, 'a')},
		{"too much memory", "Memory", header(0, 0, MaxMemory, 7, 1, 7, 0, 'a')},
		{"more memory than there is", "Memory", header(0, 0, 1<<32-1, 7, 1, 7, 0, 'a')},
		{"more sets than data", "sets", header(0, 3, memory, 7, 1, 7, 0, 'a')},
		{"more sets than there are numbers", "sets", header(0, 255, memory, 7, 1, 7, 0, 'a')},
		{"more sets than memory", "sets", header(0, 6, memory, 0, make([]byte, 64)...)},
		{"nine entries", "9 entries", header(0, 0, memory, 7, 9)},
		{"a missing entry", "too early", header(0, 0, memory, 7, 2, 7, 0, 'a')},
		{"a missing set", "sets", header(0, 0, memory, 0)},
		{"a cut key", "too early", header(0, 0, memory, 7, 1, 7, 9, 'a')},
		{"an endless number", "too early", header(0, 0, memory, 7, 1, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255)},
		{"a key twice", "twice", header(0, 0, memory, 14, 2, 7, 0, 'a', 7, 0, 'a')},
		{"a key of another set", "another set", header(0, 1, memory, 7,
			append(make([]byte, Hash(string(other))&1), 1, 7, 0, 'a', 0)...)},
		{"a count of nothing", "entry of 0", header(0, 0, memory, 0, 1, 0, 0, 'a')},
		{"a count above the total", "entry of 8", header(0, 0, memory, 7, 1, 8, 0, 'a')},
		{"a total above the counts", "total", header(0, 0, memory, 8, 1, 7, 0, 'a')},
		{"something after the end", "too many", header(0, 0, memory, 7, 1, 7, 0, 'a', 0)},
		{"an error as large as its count", "with error 7", header(1, 0, memory, 9, append([]byte{1, 1, 7, 7, 0, 'a'}, blank...)...)},
		{"a floor above the total", "floor", header(1, 0, memory, 7, append([]byte{1, 8, 7, 0, 0, 'a'}, blank...)...)},
		{"full without a reason", "nothing was evicted", header(1, 0, memory, 7, append([]byte{1, 0, 7, 0, 0, 'a'}, blank...)...)},
		{"too many lines", "lines", header(1, 0, memory, 7, 1, 1, 6, 0, 0, 'a', lines+1)},
		{"no light part", "too early", header(1, 0, memory, 7, 1, 1, 6, 0, 0, 'a')},
		{"cells too wide", "width 4", header(1, 0, memory, 7, 1, 1, 6, 0, 0, 'a', 0, 4, 1, 1, 0, 0, 0, 0, 0, 0, 0, lines-1)},
		{"a line of nothing", "words 0", header(1, 0, memory, 7, 1, 1, 6, 0, 0, 'a', 0, 0, 0, lines-1)},
	} {
		s := newSummary(t, memory)
		s.Add("kept", 1)
		for _, s := range []*Summary{s, new(Summary)} {
			err := s.UnmarshalBinary(test.data)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s: error %v; want one about %q", test.name, err, test.want)
			}
		}
		if s.Total() != 1 || !s.Estimate("kept").Monitored {
			t.Errorf("%s: the error changed the summary", test.name)
		}
	}
	if err := newSummary(t, 2*memory).UnmarshalBinary(good); err == nil {
		t.Error("a summary of another Config takes the state")
	}
	for n := range good {
		if err := new(Summary).UnmarshalBinary(sealed(good[:n])); err == nil {
			t.Errorf("the first %d bytes are a state", n)
		}
	}
}

func TestStateIsSmall(t *testing.T) {
	s := newSummary(t, 1<<20)
	if n := len(encode(t, s)); n > 64 {
		t.Errorf("an empty state takes %d bytes", n)
	}
	for i := range uint64(50) {
		s.Add(keyOf(i), 1)
	}
	if n := len(encode(t, s)); n > 50*24+200 {
		t.Errorf("50 keys take %d bytes", n)
	}
	for i := range uint64(200_000) {
		s.Add(keyOf(i), 1)
	}
	if n := len(encode(t, s)); n > s.MaxBytes() {
		t.Errorf("a full state takes %d bytes, more than the %d in memory", n, s.MaxBytes())
	}
}
