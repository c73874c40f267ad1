package main

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"crest"
	"crest/internal/config"
)

func TestServeWithoutOperatorsEndpoints(t *testing.T) {
	for _, args := range [][]string{{"--admin", ""}, {"--admin="}} {
		s := startServer(t, "lists: {max_k: 10, sizes: []}\n", args...)
		s.stop()
		if log := s.log.String(); !strings.Contains(log, "admin=none") {
			t.Errorf("%q: %s", args, log)
		}
	}
	cfg := smallNode(t)
	cfg.Admin = ""
	n, err := newNode(cfg, slog.New(slog.DiscardHandler), nil)
	if err != nil {
		t.Fatal(err)
	}
	if n.admin != nil || n.operator != nil {
		t.Errorf("the node listens for operators at %v", n.operator.Addr())
	}
	if err := n.close(); err != nil {
		t.Error(err)
	}
}

// smallNode is a configuration for a node of a test.
func smallNode(t *testing.T) *config.Config {
	t.Helper()
	cfg, err := config.Preset("views")
	if err != nil {
		t.Fatal(err)
	}
	cfg.Data, cfg.Listen, cfg.Admin = filepath.Join(t.TempDir(), "data"), "127.0.0.1:0", "127.0.0.1:0"
	return &cfg
}

func TestNodeServesBeforeItSaysSo(t *testing.T) {
	n, err := newNode(smallNode(t), slog.New(slog.DiscardHandler), nil)
	if err != nil {
		t.Fatal(err)
	}
	if n.whyNotReady() == nil {
		t.Error("the node is ready before it runs")
	}
	ctx, stop := context.WithCancel(t.Context())
	said := false
	err = n.run(ctx, func() {
		said = true
		if err := n.whyNotReady(); err != nil {
			t.Error(err)
		}
		if _, err := (server{urlOf(n.listener), "--url"}).types(t.Context()); err != nil {
			t.Error(err)
		}
		stop()
	})
	if err != nil || !said {
		t.Errorf("%v, %v", said, err)
	}
}

func TestServeSaysThatItHasStopped(t *testing.T) {
	s := startServer(t, "lists: {max_k: 10, sizes: []}\n")
	s.stop()
	if log := s.log.String(); !strings.HasSuffix(strings.TrimSpace(log), "msg=stopped") {
		t.Errorf("%s", log)
	}
}

func TestOnlyRiddlesOfTheWriteEdgeAreLogged(t *testing.T) {
	var log bytes.Buffer
	n := &node{logger: slog.New(slog.NewTextHandler(&log, nil))}
	n.writeFailed(crest.Errorf(crest.CodeLogUnavailable, "", "the disk is full"))
	n.writeFailed(errors.New("a riddle"))
	if got := log.String(); strings.Contains(got, "disk") || !strings.Contains(got, "a riddle") {
		t.Error(got)
	}
}

// listenerAt is a listener of an address.
type listenerAt struct {
	net.Listener
	at net.TCPAddr
}

func (l *listenerAt) Addr() net.Addr { return &l.at }

func TestURLsAreForABrowserHere(t *testing.T) {
	for want, ip := range map[string]net.IP{
		"http://localhost:80": net.IPv6unspecified, "http://127.0.0.1:80": net.IPv4(127, 0, 0, 1), "http://[::1]:80": net.IPv6loopback,
	} {
		if got := urlOf(&listenerAt{at: net.TCPAddr{IP: ip, Port: 80}}); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestNamesOfTypes(t *testing.T) {
	for want, types := range map[string][]string{"videos and hashtags": {"video", "hashtag"}, "news": {"news"}, "news, tags and pages": {"news", "tags", "page"}} {
		var cfg config.Config
		for _, name := range types {
			cfg.Types = append(cfg.Types, config.Type{Name: name})
		}
		if got := typesOf(&cfg); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestDemoUsesTheDimensionsThatAreConfigured(t *testing.T) {
	cfg := config.Config{
		Types:      []config.Type{{Name: "song", Boards: [][]string{{"country"}}}, {Name: "tag", Normalize: "hashtag"}},
		Dimensions: []config.Dimension{{Name: "label"}, {Name: "country", Values: []string{"no", "se"}}},
	}
	for _, ev := range demoTraffic(&cfg).Events(50, 1_700_000_000_000) {
		country, ok := ev.Dimensions["country"]
		if ok != (ev.Type == "song") || ok && !slices.Contains([]string{"no", "se"}, country) || len(ev.Dimensions) > 1 {
			t.Errorf("%+v", ev)
		}
	}
}
