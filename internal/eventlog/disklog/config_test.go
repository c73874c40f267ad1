package disklog

import (
	"strings"
	"testing"
)

func TestValidate(t *testing.T) {
	for name, c := range map[string]struct {
		cfg  Config
		want string // in the error; empty for none
	}{
		"defaults":          {Config{Dir: "x"}, ""},
		"large segments":    {Config{Dir: "x", SegmentBytes: 1 << 40}, ""},
		"no directory":      {Config{}, "no directory"},
		"small segments":    {Config{Dir: "x", SegmentBytes: 100}, "too small"},
		"negative segments": {Config{Dir: "x", SegmentBytes: -1}, "too small"},
		"negative age":      {Config{Dir: "x", RetainAge: -1}, "negative"},
		"little kept":       {Config{Dir: "x", RetainBytes: 1 << 20}, "does not allow one segment"},
		"tiny queue":        {Config{Dir: "x", MaxPendingBytes: 1}, "out of range"},
		"huge queue":        {Config{Dir: "x", MaxPendingBytes: 1 << 31}, "out of range"},
	} {
		t.Run(name, func(t *testing.T) {
			err := c.cfg.Validate()
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
	if _, err := Open(Config{}); err == nil {
		t.Error("opened without a directory")
	}
}

func TestObserver(t *testing.T) {
	var commits []Commit
	l := mustOpen(t, Config{Dir: t.TempDir(), Observer: Observer{Committed: func(c Commit) { commits = append(commits, c) }}})
	add(t, l, "x", "yy")
	add(t, l, "zzz")
	if l.Queued() != 0 {
		t.Errorf("%d bytes are queued", l.Queued())
	}
	size := l.Size()
	l.Close()
	if len(commits) != 2 || commits[0].Bytes != 2*frameHeaderBytes+3 {
		t.Fatalf("commits %+v", commits)
	}
	if want := size - segmentHeaderBytes; int64(commits[0].Bytes+commits[1].Bytes) != want {
		t.Errorf("%d and %d bytes were committed of %d", commits[0].Bytes, commits[1].Bytes, want)
	}
}
