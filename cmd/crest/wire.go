package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/goccy/go-yaml"

	"crest"
	"crest/internal/config"
	"crest/internal/demo"
	"crest/internal/eventlog/disklog"
	"crest/internal/grade"
	"crest/internal/httpapi"
	"crest/internal/ingest"
	"crest/internal/list"
	"crest/internal/pipeline"
	"crest/web"
)

// node is every role of Crest in one process: it accepts events, counts them, and serves lists.
type node struct {
	config  *config.Config
	logger  *slog.Logger
	metrics *metrics
	traffic *demo.Traffic // nil without demo traffic

	processors int // that counting may use

	log      *disklog.Log
	lists    *list.Store
	exact    *exactPath // nil without an archive
	counter  *pipeline.Pipeline
	ingester *ingest.Ingester
	public   *http.Server
	admin    *http.Server // nil without operator's endpoints, as the next
	listener net.Listener
	operator net.Listener
	ready    chan struct{}         // closed when the counting state has been restored
	failure  atomic.Pointer[error] // what counting has ended with
}

// shutdownTimeout bounds how long open requests may take to finish.
const shutdownTimeout = 10 * time.Second

// retainEvery is how often the log is trimmed.
const retainEvery = time.Minute

// newNode opens what the configuration names, from the bottom up: the log, the lists of an earlier run, the listeners.
// Nothing is counted or served before run.
func newNode(cfg *config.Config, logger *slog.Logger, traffic *demo.Traffic) (*node, error) {
	n := &node{config: cfg, logger: logger, metrics: newMetrics(), traffic: traffic, ready: make(chan struct{})}
	if err := n.open(); err != nil {
		return nil, errors.Join(err, n.close())
	}
	return n, nil
}

func (n *node) open() error {
	if err := os.MkdirAll(n.config.Data, 0o700); err != nil {
		return fmt.Errorf("make the data directory: %w", err)
	}
	var err error
	if n.log, err = disklog.Open(disklog.Config{
		Dir:             filepath.Join(n.config.Data, "log"),
		SegmentBytes:    int64(n.config.Log.Segment),
		RetainAge:       n.config.Log.RetainAge,
		RetainBytes:     int64(n.config.Log.RetainBytes),
		MaxPendingBytes: int(n.config.Log.MaxPending),
		Observer:        n.observeLog(),
	}); err != nil {
		return err // it says what could not be opened
	}
	if n.lists, err = list.Open(list.Config{
		Dir:      filepath.Join(n.config.Data, "lists"),
		Windows:  n.config.Windows,
		Serves:   httpapi.Serves(n.config),
		MaxK:     n.config.Lists.MaxK,
		Sizes:    n.config.Lists.Sizes,
		Observer: n.observeLists(),
	}); err != nil {
		return fmt.Errorf("open the lists: %w", err)
	}
	if n.config.Archive.Enabled {
		if n.exact, err = n.openExact(); err != nil {
			return err
		}
	}
	if n.ingester, err = ingest.New(n.config, n.log, time.Now, n.observeIngest()); err != nil {
		return fmt.Errorf("prepare ingest: %w", err)
	}
	return n.listen()
}

// listen builds the HTTP servers and binds their addresses.
func (n *node) listen() error {
	write := httpapi.WriteConfigOf(n.config)
	write.Failed = n.writeFailed
	var grades httpapi.Grades
	if n.exact != nil {
		grades = grade.NewReader(gradesDir(n.config))
	}
	handler, err := httpapi.NewPublic(httpapi.Public{
		Config:     n.config,
		Lists:      n.lists,
		Grades:     grades,
		Write:      func(mux *http.ServeMux) { httpapi.WriteRoutes(mux, n.ingester, write) },
		Page:       web.FS(),
		PagePolicy: web.ContentSecurityPolicy,
		Ready:      n.whyNotReady,
		Observer:   n.observeHTTP(),
	})
	if err != nil {
		return fmt.Errorf("prepare the public API: %w", err)
	}
	n.public = httpapi.NewServer(handler)
	var c net.ListenConfig
	if n.listener, err = c.Listen(context.Background(), "tcp", n.config.Listen); err != nil {
		return fmt.Errorf("listen for the public API (choose another address with --listen): %w", err)
	}
	if n.config.Admin == "" {
		return nil
	}
	settings, err := yaml.Marshal(n.config)
	if err != nil {
		return fmt.Errorf("describe the configuration: %w", err)
	}
	n.admin = httpapi.NewAdminServer(httpapi.NewAdmin(httpapi.Admin{
		Metrics: n.figures, Config: string(settings), Ready: handler, Panicked: n.observeHTTP().Panicked, Exact: n.operatorsExact,
	}))
	if n.operator, err = c.Listen(context.Background(), "tcp", n.config.Admin); err != nil {
		return fmt.Errorf("listen for the operator's endpoints (choose another address with --admin): %w", err)
	}
	return nil
}

// writeFailed logs what is wrong here with a request to write. What has a code of its own is no riddle: the log says
// itself that it can't be written, and a node that stops says so too.
func (n *node) writeFailed(err error) {
	if crest.CodeOf(err) == crest.CodeInternal {
		n.logger.Error("a request with events failed", "err", err)
	}
}

func (n *node) whyNotReady() error {
	select {
	case <-n.ready:
	default:
		return errors.New("the counting state is being restored")
	}
	if failure := n.failure.Load(); failure != nil {
		return fmt.Errorf("counting has ended: %w", *failure)
	}
	return nil
}

// run serves until ctx ends or a part fails. Then it stops downstream: no more requests, count what the log holds,
// publish and save that, close. It calls serving when everything that the node does can be asked for.
func (n *node) run(ctx context.Context, serving func()) error {
	failed := make(chan error, 4)
	lists := n.start(context.Background(), failed, n.lists.Run)
	go n.serve(n.public, n.listener, failed)
	if n.admin != nil {
		go n.serve(n.admin, n.operator, failed)
	}

	err := n.restore()
	if err == nil {
		close(n.ready)
		serving()
		counting := n.start(context.Background(), failed, n.count)
		recounting := n.exact.start(n, failed)
		retaining := n.start(context.Background(), failed, n.retain)
		visiting := n.start(ctx, failed, n.playDemo)
		select {
		case <-ctx.Done():
			n.logger.Info("stopping", "why", context.Cause(ctx))
		case err = <-failed:
		}
		visiting.stop()
		err = errors.Join(err, n.shutdown(n.public))
		counting.stop()
		recounting.stop()
		retaining.stop()
	}
	lists.stop()
	return errors.Join(err, n.close())
}

// restore brings back the counting state and the exact counts.
func (n *node) restore() (err error) {
	options := pipeline.Options{
		Log: n.log, Lists: n.lists, Checkpoint: filepath.Join(n.config.Data, "checkpoint"),
		Processors: n.processors, Now: time.Now, Observer: n.observePipeline(), Titles: n.titles(),
	}
	if n.exact != nil {
		if err := n.exact.load(n); err != nil {
			return err
		}
		options.Lists, options.Exact = n.exact.sampler, n.exact.runner.Exact
	}
	n.counter, err = pipeline.New(n.config, options)
	return err
}

// titles says how items are shown, nil when they have no titles.
func (n *node) titles() list.Titles {
	if n.traffic == nil {
		return nil
	}
	return n.traffic
}

// count runs the pipeline. When it can't go on, the node does: events are still accepted and archived, and lists of exact
// hours are published.
func (n *node) count(ctx context.Context) error {
	err := n.counter.Run(ctx)
	if err != nil {
		n.failure.Store(&err)
		n.logger.Error("counting has ended; lists grow stale, and those of long windows come from the recount alone. Restart this node", "err", err)
	}
	return nil
}

// part is a running part of the node.
type part struct {
	cancel context.CancelFunc
	done   chan struct{}
}

// start runs a part in a goroutine of its own. An error of the part goes to failed.
func (n *node) start(ctx context.Context, failed chan<- error, run func(context.Context) error) part {
	ctx, cancel := context.WithCancel(ctx)
	p := part{cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(p.done)
		if err := run(ctx); err != nil && ctx.Err() == nil {
			failed <- err
		}
	}()
	return p
}

// stop ends the part and waits for it.
func (p part) stop() {
	p.cancel()
	<-p.done
}

func (n *node) serve(s *http.Server, l net.Listener, failed chan<- error) {
	if err := s.Serve(l); err != nil && !errors.Is(err, http.ErrServerClosed) {
		failed <- fmt.Errorf("serve %s: %w", l.Addr(), err)
	}
}

// shutdown refuses new requests and waits for those under way.
func (n *node) shutdown(s *http.Server) error {
	ctx, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
	defer cancel()
	if err := s.Shutdown(ctx); err != nil {
		return errors.Join(fmt.Errorf("finish open requests: %w", err), s.Close())
	}
	return nil
}

// retain keeps the log within its limits.
func (n *node) retain(ctx context.Context) error {
	tick := time.NewTicker(retainEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			needed := n.counter.Needed()
			if n.exact != nil {
				needed = min(needed, n.exact.archive.Needed())
			}
			if _, err := n.log.Retain(needed); err != nil {
				n.logger.Error("trimming the event log failed; it is tried again", "err", err)
			}
		}
	}
}

// close gives up what open has opened. Everything that uses it must have ended.
func (n *node) close() error {
	var err error
	if n.admin != nil {
		err = errors.Join(err, n.admin.Close())
	}
	for _, l := range []net.Listener{n.listener, n.operator} {
		if l != nil {
			if e := l.Close(); !errors.Is(e, net.ErrClosed) {
				err = errors.Join(err, e)
			}
		}
	}
	if n.exact != nil {
		err = errors.Join(err, n.exact.archive.Close())
	}
	if n.log != nil {
		err = errors.Join(err, n.log.Close())
	}
	return err
}
