package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"crest"
)

// binary builds Crest as it is released, once for all tests of a run. It is deleted with removeBinary.
var (
	binary       = sync.OnceValues(buildBinary)
	removeBinary = func() {}
)

func buildBinary() (string, error) {
	dir, err := os.MkdirTemp("", "crest-bin-")
	if err != nil {
		return "", err
	}
	removeBinary = func() { _ = os.RemoveAll(dir) }
	path := filepath.Join(dir, "crest")
	build := exec.Command("go", "build", "-o", path, "./cmd/crest")
	build.Dir = ".."
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build crest: %w\n%s", err, out)
	}
	return path, nil
}

// node is a Crest that runs.
type node struct {
	t      *testing.T
	URL    string
	cmd    *exec.Cmd
	output *bytes.Buffer
	ended  chan error
}

// settings is a deployment that has a bit of everything, and makes a new list every second.
const settings = `
preset: shares
types:
  - name: article
    id_field: article_id
    boards: [[category], [region], [category, region]]
  - name: hashtag
    normalize: hashtag
windows:
  - {name: 5m, length: 5m, bucket: 10s, refresh: 1s}
  - {name: all, refresh: 1s}
ingest:
  ack: logged
counting:
  checkpoint: 2s
  narrow_bucket: 1MiB
`

// serve starts a node on a data directory and waits until it takes requests.
func serve(t *testing.T, data string, arguments ...string) *node {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	arguments = append([]string{"serve", "--data", data, "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"}, arguments...)
	n := &node{t: t, cmd: exec.Command(path, arguments...), output: &bytes.Buffer{}, ended: make(chan error, 1)}
	out, err := n.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	n.cmd.Stderr = n.output
	if err := n.cmd.Start(); err != nil {
		t.Fatalf("start crest: %v", err)
	}
	t.Cleanup(n.kill)
	address := make(chan string, 1)
	go func() {
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			if _, url, ok := strings.Cut(lines.Text(), "Open "); ok {
				address <- url
			}
		}
		n.ended <- n.cmd.Wait()
		close(n.ended)
	}()
	select {
	case n.URL = <-address:
	case err := <-n.ended:
		t.Fatalf("crest ended before it served: %v\n%s", err, n.output)
	case <-time.After(30 * time.Second):
		t.Fatal("crest did not say where it serves within 30 s")
	}
	return n
}

// serveSettings starts a node with the settings above.
func serveSettings(t *testing.T, data string) *node {
	t.Helper()
	file := filepath.Join(t.TempDir(), "crest.yaml")
	if err := os.WriteFile(file, []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	return serve(t, data, "--config", file)
}

// kill ends the node as a power cut would, as far as its process can tell.
func (n *node) kill() {
	_ = n.cmd.Process.Kill()
	for range n.ended { // until it is closed
	}
}

// stop asks the node to end and returns how it ended.
func (n *node) stop() error {
	n.t.Helper()
	if err := n.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		n.t.Fatalf("signal: %v", err)
	}
	select {
	case err := <-n.ended:
		return err
	case <-time.After(20 * time.Second):
		n.t.Fatal("crest did not end within 20 s of SIGTERM")
		return nil
	}
}

// answer is what the node said to a request.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// accepted is the JSON of an answer to events.
type accepted struct {
	Accepted int `json:"accepted"`
	Rejected int `json:"rejected"`
	Errors   []struct {
		Index   int        `json:"index"`
		Code    crest.Code `json:"code"`
		Field   string     `json:"field"`
		Message string     `json:"message"`
	} `json:"errors"`
	Error struct {
		Code crest.Code `json:"code"`
	} `json:"error"`
}

func (a answer) accepted(t *testing.T) accepted {
	t.Helper()
	var got accepted
	if err := json.Unmarshal(a.body, &got); err != nil {
		t.Fatalf("answer %d %q: %v", a.status, a.body, err)
	}
	return got
}

var patient = &http.Client{Timeout: 30 * time.Second}

// post posts a body; headers are name and value in turn. The error is for what a dying node does to a request.
func (n *node) post(path string, body io.Reader, headers ...string) (answer, error) {
	request, err := http.NewRequest(http.MethodPost, n.URL+path, body)
	if err != nil {
		return answer{}, err
	}
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	return do(request)
}

// mustPost posts to a node that has to answer.
func (n *node) mustPost(path string, body io.Reader, headers ...string) answer {
	n.t.Helper()
	a, err := n.post(path, body, headers...)
	if err != nil {
		n.t.Fatalf("POST %s: %v\n%s", path, err, n.output)
	}
	return a
}

func (n *node) get(path string) answer {
	n.t.Helper()
	request, err := http.NewRequest(http.MethodGet, n.URL+path, nil)
	if err != nil {
		n.t.Fatal(err)
	}
	a, err := do(request)
	if err != nil {
		n.t.Fatalf("GET %s: %v\n%s", path, err, n.output)
	}
	return a
}

func do(request *http.Request) (answer, error) {
	response, err := patient.Do(request)
	if err != nil {
		return answer{}, err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	return answer{status: response.StatusCode, header: response.Header, body: body}, err
}

// list reads a list.
func (n *node) list(query string) crest.List {
	n.t.Helper()
	a := n.get("/v1/top?" + query)
	if a.status != http.StatusOK {
		n.t.Fatalf("GET /v1/top?%s: %d %s", query, a.status, a.body)
	}
	var l crest.List
	if err := json.Unmarshal(a.body, &l); err != nil {
		n.t.Fatalf("list %q: %v", a.body, err)
	}
	return l
}

// listOf waits until the list counts so much in all.
func (n *node) listOf(query string, total uint64) crest.List {
	n.t.Helper()
	var l crest.List
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if a := n.get("/v1/top?" + query); a.status == http.StatusNotFound {
			continue // a narrowed board comes into being with its first event
		}
		if l = n.list(query); l.Total >= total {
			break
		}
	}
	if l.Total != total {
		n.t.Fatalf("%s counts %d in all (duplicates %d, late %d), want %d", query, l.Total, l.Duplicates, l.Late, total)
	}
	return l
}
