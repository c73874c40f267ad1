package disklog

import (
	"encoding/hex"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"crest/internal/eventlog"
)

var update = flag.Bool("update", false, "write golden files anew")

// The file that version 1 writes, as a hex dump, so that changes to it can be read.
const golden = "testdata/segment-v1.hex"

func TestGoldenSegment(t *testing.T) {
	dir := t.TempDir()
	l := mustOpen(t, Config{Dir: dir, Now: fixedClock})
	add(t, l, "the first record")
	add(t, l, "two records", "of one commit")
	l.Close()
	written := hex.Dump(readFile(t, filepath.Join(dir, segmentName(0))))
	if *update {
		if err := os.WriteFile(golden, []byte(written), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want := string(readFile(t, golden))
	if written != want {
		t.Errorf("version 1 is now written differently:\n%s", written)
	}

	var content []byte
	for line := range strings.Lines(want) {
		bytes, err := hex.DecodeString(strings.Join(strings.Fields(line[8:min(59, len(line))]), ""))
		if err != nil {
			t.Fatal(err)
		}
		content = append(content, bytes...)
	}
	other := t.TempDir()
	writeFile(t, filepath.Join(other, segmentName(0)), content)
	l = mustOpen(t, Config{Dir: other})
	got, _ := readFrom(t, l, 0)
	same(t, "version 1", got, []string{"the first record", "two records", "of one commit"})
	r, err := l.NewReader(0)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	b, err := r.Read(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	if stamp := b.Records[0].Received.Time(); !stamp.Equal(fixedClock()) {
		t.Errorf("stamped %s", stamp)
	}
	if want := eventlog.Offset(len(content) - segmentHeaderBytes); b.Next != want {
		t.Errorf("the log ends at %d, want %d", b.Next, want)
	}
}
