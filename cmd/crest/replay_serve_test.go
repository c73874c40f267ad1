package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"crest"
)

// syncBuffer is a buffer that a server writes to while a test reads it.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// testServer is crest serve as it runs in a test.
type testServer struct {
	address string
	config  string // file
	data    string // directory
	log     syncBuffer
	cancel  context.CancelFunc
	done    chan int
}

// startServer runs crest serve with a configuration, and with further flags, until the test ends or stops it.
func startServer(t *testing.T, yaml string, flags ...string) *testServer {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "crest.yaml")
	if err := os.WriteFile(file, []byte(yaml), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	s := &testServer{config: file, data: filepath.Join(dir, "data"), cancel: cancel, done: make(chan int, 1)}
	var out syncBuffer
	args := []string{"serve", "--config", file, "--data", s.data, "--listen", "127.0.0.1:0"}
	if len(flags) == 0 {
		flags = []string{"--admin", "127.0.0.1:0"}
	}
	go func() {
		s.done <- run(ctx, append(args, flags...), &streams{in: strings.NewReader(""), out: &out, err: &s.log})
	}()
	t.Cleanup(func() {
		if code := s.stop(); code != exitOK {
			t.Errorf("serve ended with %d:\n%s", code, s.log.String())
		}
	})
	address := regexp.MustCompile(`http://127\.0\.0\.1:\d+`)
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if s.address = address.FindString(out.String()); s.address != "" {
			return s
		}
	}
	t.Fatalf("the server does not start:\n%s%s", out.String(), s.log.String())
	return nil
}

// stop ends the server and returns its exit code.
func (s *testServer) stop() int {
	s.cancel()
	code := <-s.done
	s.done <- code // for the next who asks
	return code
}

// waitForTotal asks for a list until it has counted so much.
func waitForTotal(t *testing.T, address string, total uint64) crest.List {
	t.Helper()
	var list crest.List
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		list = crest.List{}
		if _, err := (server{address, "--url"}).get(t.Context(), "", "", &list); err != nil {
			t.Fatal(err)
		}
		if list.Total >= total {
			return list
		}
	}
	t.Fatalf("%s has counted %d, want %d", address, list.Total, total)
	return list
}

// TestReplayIntoServeGivesWhatRankGives posts real files to a server and compares its lists with those of rank.
func TestReplayIntoServeGivesWhatRankGives(t *testing.T) {
	server := startServer(t, `
preset: views
types:
  - {name: tag, normalize: hashtag}
  - {name: page}
windows:
  - {name: 1d, length: 24h, bucket: 1h, refresh: 1s}
lists: {max_k: 100, sizes: [100]}
counting: {flush: 100ms}
`).address
	for _, test := range []struct {
		file, kind string
		rank       []string
	}{
		{"../../testdata/fight_tags_emoji.ndjson.gz", "tag", []string{"--normalize", "hashtag"}},
		{"../../testdata/nasa_http_19950801.csv.gz", "page", nil},
	} {
		code, out, stderr := call(t, "", "replay", test.file, "--to", server, "--shift-to-now", "--speed", "max", "--type", test.kind, "--json")
		var posted struct{ Accepted, Rejected uint64 }
		if err := json.Unmarshal([]byte(out), &posted); err != nil || code != exitOK || posted.Accepted == 0 || posted.Rejected != 0 {
			t.Fatalf("replay %s: %d, %v\n%s%s", test.file, code, err, out, stderr)
		}
		code, out, stderr = call(t, "", append([]string{"rank", test.file, "-k", "100", "--json"}, test.rank...)...)
		var want document
		if err := json.Unmarshal([]byte(out), &want); err != nil || code != exitOK {
			t.Fatalf("rank %s: %d, %v\n%s", test.file, code, err, stderr)
		}
		list := waitForTotal(t, server+"/v1/top?k=100&type="+test.kind, posted.Accepted)
		if list.Total != want.Total || len(list.Top) != len(want.Top) || list.Duplicates != 0 {
			t.Errorf("%s: total %d of %d entries, %d duplicates; rank says %d of %d", test.file, list.Total, len(list.Top), list.Duplicates, want.Total, len(want.Top))
		}
		for i := range min(len(list.Top), len(want.Top)) {
			if e := list.Top[i]; (documentEntry{e.Rank, e.ID, e.Count, e.Error}) != want.Top[i] {
				t.Errorf("%s: the server's %+v is rank's %+v", test.file, e, want.Top[i])
			}
		}
	}
}
