package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// node is a running `crest serve`.
type node struct {
	process    *exec.Cmd
	crest      string
	url, admin string
	data       string
	http       *http.Client
}

// startNode starts a node of a preset, changed by configuration in YAML where that isn't empty.
func startNode(ctx context.Context, s settings, preset, configuration string) (*node, error) {
	listen, err := freeAddress(ctx)
	if err != nil {
		return nil, err
	}
	admin, err := freeAddress(ctx)
	if err != nil {
		return nil, err
	}
	data, err := os.MkdirTemp(s.dir, preset+"-")
	if err != nil {
		return nil, fmt.Errorf("make data directory: %w", err)
	}
	n := &node{
		crest: s.crest, url: "http://" + listen, admin: "http://" + admin, data: data,
		http: &http.Client{Timeout: 5 * time.Minute},
	}
	log, err := os.Create(filepath.Join(s.dir, preset+".log"))
	if err != nil {
		return nil, fmt.Errorf("make log: %w", err)
	}
	defer log.Close()
	args := []string{"serve", "--preset", preset, "--data", data, "--listen", listen, "--admin", admin}
	if configuration != "" {
		file := filepath.Join(s.dir, preset+".yaml")
		if err := os.WriteFile(file, []byte(configuration), 0o600); err != nil {
			return nil, fmt.Errorf("write configuration: %w", err)
		}
		args = append(args, "--config", file)
	}
	n.process = exec.Command(s.crest, args...) //nolint:gosec,noctx // the binary that was asked for; stop ends it in order
	n.process.Stdout, n.process.Stderr = log, log
	if err := n.process.Start(); err != nil {
		return nil, fmt.Errorf("start crest serve: %w", err)
	}
	err = n.wait(ctx, 30*time.Second, "an answer of /healthz", func() (bool, error) {
		_, err := n.get(ctx, n.url+"/healthz")
		return err == nil, nil
	})
	if err != nil {
		return nil, errors.Join(err, n.stop())
	}
	return n, nil
}

// freeAddress returns an address that nothing listened on a moment ago.
func freeAddress(ctx context.Context) (string, error) {
	var c net.ListenConfig
	l, err := c.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("find a free port: %w", err)
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// stop ends the node in order and removes its data.
func (n *node) stop() error {
	kill := time.AfterFunc(30*time.Second, func() { _ = n.process.Process.Kill() })
	defer kill.Stop()
	_ = n.process.Process.Signal(syscall.SIGTERM) // it may have ended already, which Wait tells
	return errors.Join(n.process.Wait(), os.RemoveAll(n.data))
}

// wait polls until done, and says what it waited for when that doesn't come.
func (n *node) wait(ctx context.Context, limit time.Duration, what string, done func() (bool, error)) error {
	deadline := time.Now().Add(limit)
	for {
		ok, err := done()
		switch {
		case err != nil:
			return err
		case ok:
			return nil
		case time.Now().After(deadline):
			return fmt.Errorf("no %s within %s", what, limit)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

var errStatus = errors.New("answered")

func (n *node) get(ctx context.Context, url string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, fmt.Errorf("request: %w", err)
	}
	return n.do(request)
}

// commitArchive returns when all that was accepted is in the archive.
func (n *node) commitArchive(ctx context.Context) error {
	return n.post(ctx, n.admin+"/v1/archive:commit", "")
}

func (n *node) post(ctx context.Context, url, body string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return fmt.Errorf("request: %w", err)
	}
	request.Header.Set("Content-Type", "application/json")
	_, err = n.do(request)
	return err
}

func (n *node) do(request *http.Request) ([]byte, error) {
	answer, err := n.http.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode/100 != 2 {
		err = fmt.Errorf("%s %w %s: %.200s", request.URL.Path, errStatus, answer.Status, body)
	}
	return body, err
}

// list is the part of a published list that is measured.
type list struct {
	AsOf  time.Time `json:"as_of"`
	Short string    `json:"short"`
	Top   []struct {
		ID        string `json:"id"`
		ArticleID string `json:"article_id"`
	} `json:"top"`
}

func (n *node) top(ctx context.Context, query string) (list, error) {
	var l list
	body, err := n.get(ctx, n.url+"/v1/top?"+query)
	if err != nil {
		return l, err
	}
	if err := json.Unmarshal(body, &l); err != nil {
		return l, fmt.Errorf("read list: %w", err)
	}
	return l, nil
}

// metric returns the sum of all samples of a metric.
func (n *node) metric(ctx context.Context, name string) (float64, error) {
	body, err := n.get(ctx, n.admin+"/metrics")
	if err != nil {
		return 0, err
	}
	sum := 0.0
	lines := bufio.NewScanner(strings.NewReader(string(body)))
	for lines.Scan() {
		rest, ok := strings.CutPrefix(lines.Text(), name)
		if !ok || rest == "" || rest[0] != ' ' && rest[0] != '{' {
			continue
		}
		v, err := strconv.ParseFloat(rest[strings.LastIndexByte(rest, ' ')+1:], 64)
		if err != nil {
			return 0, fmt.Errorf("metric %q: %w", lines.Text(), err)
		}
		sum += v
	}
	return sum, nil
}

// drained waits until all that was accepted has been counted.
func (n *node) drained(ctx context.Context) error {
	return n.wait(ctx, time.Minute, "counting of all accepted events", func() (bool, error) {
		accepted, err := n.metric(ctx, "crest_ingest_events_total")
		if err != nil {
			return false, err
		}
		counted, err := n.metric(ctx, "crest_count_events_total")
		return counted >= accepted, err
	})
}

// processor returns the user and system time that the node has used.
func (n *node) processor() (time.Duration, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", n.process.Process.Pid))
	if err != nil {
		return 0, fmt.Errorf("read processor time: %w", err)
	}
	_, rest, _ := strings.Cut(string(stat), ") ") // the program's name may have blanks
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0, fmt.Errorf("read processor time: %q", stat)
	}
	ticks := 0
	for _, f := range fields[11:13] { // utime and stime, in hundredths of a second
		t, err := strconv.Atoi(f)
		if err != nil {
			return 0, fmt.Errorf("read processor time: %w", err)
		}
		ticks += t
	}
	return time.Duration(ticks) * 10 * time.Millisecond, nil
}

// resident returns the node's resident memory in bytes.
func (n *node) resident() (int, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", n.process.Process.Pid))
	if err != nil {
		return 0, fmt.Errorf("read resident memory: %w", err)
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kib, err := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(rest), " kB"))
			if err != nil {
				return 0, fmt.Errorf("read resident memory: %w", err)
			}
			return kib << 10, nil
		}
	}
	return 0, errors.New("read resident memory: no VmRSS")
}

// loaded is what `crest load` says of itself.
type loaded struct {
	Acked     uint64            `json:"events_acked"`
	Rejected  uint64            `json:"events_rejected"`
	PerSecond float64           `json:"acked_per_second"`
	P50       float64           `json:"latency_p50_ms"`
	P99       float64           `json:"latency_p99_ms"`
	Errors    map[string]uint64 `json:"errors"`
}

// load runs the load generator on the node.
func (n *node) load(ctx context.Context, duration time.Duration, args ...string) (loaded, error) {
	var l loaded
	args = append([]string{"load", "--url", n.url, "--for", duration.String(), "--json", "--quiet"}, args...)
	c := exec.CommandContext(ctx, n.crest, args...) //nolint:gosec // the binary that was asked for
	c.Stderr = os.Stderr
	out, err := c.Output()
	if err != nil {
		return l, fmt.Errorf("crest load: %w", err)
	}
	if err := json.Unmarshal(out, &l); err != nil {
		return l, fmt.Errorf("read what crest load says: %w", err)
	}
	return l, nil
}
