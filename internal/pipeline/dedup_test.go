package pipeline

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"crest"
	"crest/internal/config"
	"crest/internal/eventlog/disklog"
)

// numbered returns an event with an id of its own.
func numbered(i uint64, typ, item string) crest.Event {
	ev := crest.Event{Type: typ, Item: item, Weight: 1, Session: 1 + i%1000, Time: crest.MillisOf(time.Now())}
	binary.BigEndian.PutUint64(ev.ID[:], i*0x9e3779b97f4a7c15+1)
	binary.BigEndian.PutUint64(ev.ID[8:], i)
	return ev
}

func three() []crest.Event {
	return []crest.Event{numbered(1, "video", "a"), numbered(2, "video", "b"), numbered(3, "video", "c")}
}

// last returns the newest list that was published of a board and window.
func (n *node) last(board, window string) crest.List {
	n.t.Helper()
	for _, l := range slices.Backward(n.lists.published()) {
		if l.Board == board && l.Window == window {
			return l
		}
	}
	n.t.Fatalf("no list of %s %s was published", board, window)
	return crest.List{}
}

// fillLog appends events to a log that no pipeline reads.
func fillLog(t *testing.T, cfg *config.Config, dir string, events ...crest.Event) {
	t.Helper()
	log, err := disklog.Open(disklog.Config{Dir: filepath.Join(dir, "log")})
	if err != nil {
		t.Fatal(err)
	}
	n := &node{t: t, config: cfg, log: log}
	for i := range events {
		n.post(events[i])
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestListsHoldWhileIDsAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := testConfig(t, "views")
		cfg.Counting.Partitions = 1
		cfg.Counting.DedupMemory = 64 * config.KiB
		n := start(t, cfg, t.TempDir())
		tr := &truth{seen: map[crest.EventID]bool{}}
		for round := range uint64(60) {
			time.Sleep(time.Second)
			batch := make([]crest.Event, 1500)
			for j := range batch {
				i := round*1500 + uint64(j)
				batch[j] = numbered(i, "video", fmt.Sprint("item", i%50))
			}
			tr.add(n.post(batch...), batch...)
		}
		time.Sleep(15 * time.Second)
		n.stop()
		partial := 0
		for _, l := range n.lists.published() {
			if l.Window == "1m" {
				tr.check(t, &l)
			}
			if l.Dedup == crest.DedupPartial {
				partial++
			}
		}
		if partial == 0 {
			t.Error("no list says that ids were forgotten")
		}
	})
}

func TestDedupIsPartialForAsLongAsForgottenIDsCanCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := testConfig(t, "views")
		cfg.Counting.Partitions = 1
		cfg.Counting.DedupMemory = 64 * config.KiB
		n := start(t, cfg, t.TempDir())
		time.Sleep(3 * time.Second)
		ev := numbered(1, "video", "victim")
		n.post(ev)
		for j := range uint64(30) {
			batch := make([]crest.Event, 500)
			for k := range batch {
				batch[k] = numbered(1000+500*j+uint64(k), "video", "other")
			}
			n.post(batch...)
		}
		time.Sleep(100 * time.Second) // still within the horizon
		ev.Time = crest.MillisOf(time.Now())
		n.post(ev)
		time.Sleep(15 * time.Second)
		n.stop()
		l := n.last("video", "1m")
		if len(l.Top) != 1 || l.Top[0].ID != "victim" {
			t.Fatalf("the list is %+v", l.Top)
		}
		if l.Dedup != crest.DedupPartial {
			t.Error("an event was counted again, and its list says that none can be")
		}
	})
}

func TestIDsAreKnownAfterARestart(t *testing.T) {
	for name, lay := range map[string]func(t *testing.T, cfg *config.Config, dir string){
		"that were in the log at the first start": func(t *testing.T, cfg *config.Config, dir string) {
			t.Helper()
			fillLog(t, cfg, dir, three()...)
			n := start(t, cfg, dir)
			time.Sleep(20 * time.Second)
			n.stop()
		},
		"though a start in between was stopped at once": func(t *testing.T, cfg *config.Config, dir string) {
			t.Helper()
			n := start(t, cfg, dir)
			time.Sleep(time.Second)
			n.post(three()...)
			time.Sleep(20 * time.Second)
			n.stop()
			fillLog(t, cfg, dir, three()...)
			log, err := disklog.Open(disklog.Config{Dir: filepath.Join(dir, "log")})
			if err != nil {
				t.Fatal(err)
			}
			p, err := New(cfg, Options{Log: log, Lists: &recorder{}, Checkpoint: filepath.Join(dir, "checkpoint"), Now: time.Now})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if err := errors.Join(p.Run(ctx), log.Close()); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cfg, dir := testConfig(t, "views"), t.TempDir()
				lay(t, cfg, dir)
				n := start(t, cfg, dir)
				time.Sleep(time.Second)
				n.post(three()...)
				time.Sleep(70 * time.Second)
				n.stop()
				if l := n.last("video", "all"); l.Total != 3 || l.Duplicates == 0 || l.Dedup != crest.DedupFull {
					t.Errorf("total %d, duplicates %d, dedup %s", l.Total, l.Duplicates, l.Dedup)
				}
			})
		})
	}
}

func TestADamagedRecordDoesNotEndTheRecall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg, dir := testConfig(t, "views"), t.TempDir()
		n := start(t, cfg, dir)
		time.Sleep(time.Second)
		var events []crest.Event
		for i := range uint64(6) {
			events = append(events, numbered(i+1, "video", fmt.Sprint("v", i)))
			n.post(events[i])
			time.Sleep(time.Second)
		}
		time.Sleep(15 * time.Second)
		n.stop()
		flip(t, filepath.Join(dir, "log"))
		n = start(t, cfg, dir)
		time.Sleep(time.Second)
		n.post(events...)
		time.Sleep(70 * time.Second)
		n.stop()
		l := n.last("video", "all")
		if l.Since == 0 {
			t.Error("the list of all time doesn't say when counting began")
		}
		if l.Total != 7 || l.Dedup != crest.DedupPartial || len(n.skipped) == 0 {
			t.Errorf("total %d (6 and the one whose id is lost), dedup %s, reported %v", l.Total, l.Dedup, n.skipped)
		}
	})
}

// flip damages one record of a log's only segment.
func flip(t *testing.T, dir string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.log"))
	if err != nil || len(files) != 1 {
		t.Fatalf("segments %v, %v", files, err)
	}
	data, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)/3] ^= 0xff
	if err := os.WriteFile(files[0], data, 0o600); err != nil {
		t.Fatal(err)
	}
}
