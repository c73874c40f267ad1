package pipeline

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"crest"
	"crest/internal/config"
	"crest/internal/eventlog"
	"crest/internal/eventlog/disklog"
)

func TestAllTimeAloneIsCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := testConfig(t, "views")
		cfg.Windows = []crest.Window{{Name: "all", Refresh: time.Minute}}
		n := start(t, cfg, t.TempDir())
		time.Sleep(time.Second)
		n.post(three()...)
		time.Sleep(70 * time.Second)
		n.stop()
		if l := n.last("video", "all"); l.Total != 3 {
			t.Errorf("total %d", l.Total)
		}
	})
}

func TestSettingsThatTheStateDoesNotFitAreRefused(t *testing.T) {
	for name, change := range map[string]func(*config.Config){
		"shards":       func(c *config.Config) { c.Counting.Shards = 8 },
		"partitions":   func(c *config.Config) { c.Counting.Partitions = 4 },
		"bucket":       func(c *config.Config) { c.Counting.Bucket *= 2 },
		"window":       func(c *config.Config) { c.Windows = c.Windows[:2] },
		"dimension":    func(c *config.Config) { c.Dimensions = append(c.Dimensions, config.Dimension{Name: "tone"}) },
		"fewer boards": func(c *config.Config) { c.Counting.MaxBoards = 2 },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cfg := testConfig(t, "shares")
				n := start(t, cfg, t.TempDir())
				ev := numbered(1, "article", "a")
				ev.Dimensions = crest.Dimensions{"sports", "eu"}
				n.post(ev)
				time.Sleep(12 * time.Second)
				n.stop()
				change(cfg)
				log, err := disklog.Open(disklog.Config{Dir: filepath.Join(n.dir, "log")})
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = log.Close() }()
				_, err = New(cfg, Options{Log: log, Lists: n.lists, Checkpoint: filepath.Join(n.dir, "checkpoint"), Now: time.Now})
				if crest.CodeOf(err) != crest.CodeOutOfRange {
					t.Fatalf("got %v", err)
				}
			})
		})
	}
}

func TestManyBoardsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := testConfig(t, "shares")
		cfg.Counting.MaxBoards, cfg.Counting.Shards, cfg.Counting.Partitions = 2000, 1, 1
		n := start(t, cfg, t.TempDir())
		for round := range 2 {
			time.Sleep(3 * time.Second)
			var batch []crest.Event
			for i := range 300 {
				ev := numbered(uint64(round*1000+i+1), "article", "a")
				ev.Dimensions = crest.Dimensions{fmt.Sprint("c", i)}
				batch = append(batch, ev)
			}
			n.post(batch...)
		}
		time.Sleep(3 * time.Second)
		n.stop()
		for i := range 300 {
			if l := n.last(fmt.Sprint("article/category=c", i), "5m"); l.Total != 2 {
				t.Fatalf("%s has %d of 2", l.Board, l.Total)
			}
		}
	})
}

func TestACheckpointAfterAFailedOneIsWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg, dir := testConfig(t, "views"), t.TempDir()
		saved := filepath.Join(dir, "checkpoint")
		n := start(t, cfg, dir)
		time.Sleep(time.Second)
		n.post(numbered(1, "video", "a"))
		time.Sleep(25 * time.Second)
		seqs, err := checkpoints(saved)
		if err != nil || len(seqs) == 0 {
			t.Fatalf("checkpoints %v, %v", seqs, err)
		}
		block := checkpointPath(saved, seqs[len(seqs)-1]+1) + ".tmp"
		if err := os.Mkdir(block, 0o700); err != nil { // the next write fails
			t.Fatal(err)
		}
		n.post(numbered(2, "video", "b"))
		time.Sleep(10 * time.Second)
		if err := os.Remove(block); err != nil {
			t.Fatal(err)
		}
		n.stop()
		n = start(t, cfg, dir)
		time.Sleep(70 * time.Second)
		n.stop()
		if l := n.last("video", "all"); l.Total != 2 || len(n.skipped) > 0 {
			t.Errorf("total %d, reported %v", l.Total, n.skipped)
		}
	})
}

func TestAClockThatWasAheadDoesNotSilenceTheLists(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg, dir := testConfig(t, "views"), t.TempDir()
		run := func(ahead time.Duration, during func(n *node)) *recorder {
			now := func() time.Time { return time.Now().Add(ahead) }
			log, err := disklog.Open(disklog.Config{Dir: filepath.Join(dir, "log"), Now: now})
			if err != nil {
				t.Fatal(err)
			}
			r := &recorder{}
			p, err := New(cfg, Options{Log: log, Lists: r, Checkpoint: filepath.Join(dir, "checkpoint"), Now: now})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() { done <- p.Run(ctx) }()
			during(&node{t: t, config: cfg, dir: dir, log: log})
			cancel()
			if err := errors.Join(<-done, log.Close()); err != nil {
				t.Error(err)
			}
			return r
		}
		run(0, func(n *node) { n.post(numbered(1, "video", "before")); time.Sleep(15 * time.Second) })
		run(24*time.Hour, func(*node) { time.Sleep(15 * time.Second) })
		lists := run(0, func(n *node) {
			for i := range uint64(60) {
				n.post(numbered(i+2, "video", "a"))
				time.Sleep(time.Second)
			}
			time.Sleep(15 * time.Second)
		}).published()
		var last crest.List
		for _, l := range lists {
			if l.Board == "video" && l.Window == "1m" {
				last = l
			}
		}
		if len(last.Top) != 1 || last.Top[0].Count < 40 {
			t.Errorf("%d lists, the last of a minute is %+v", len(lists), last)
		}
	})
}

func TestWhatIsLateDoesNotDependOnAStop(t *testing.T) {
	sessionIn := func(part int) uint64 {
		for s := uint64(1); ; s++ {
			if eventlog.Partition(s, crest.EventID{}, 2) == part {
				return s
			}
		}
	}
	var late [2]uint64
	for i, stop := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			cfg, dir := testConfig(t, "views"), t.TempDir()
			cfg.Counting.Partitions = 2
			n := start(t, cfg, dir)
			time.Sleep(time.Minute)
			now := crest.MillisOf(time.Now()).Floor(10 * time.Second)
			time.Sleep(500 * time.Millisecond)
			first := numbered(1, "video", "same")
			first.Session = sessionIn(1)
			n.post(first)
			time.Sleep(100 * time.Millisecond)
			if stop {
				n.stop()
				n = start(t, cfg, dir)
			}
			second := numbered(2, "video", "same")
			second.Session, second.Time = sessionIn(0), now-55_000 // before what the next list covers
			n.post(second)
			time.Sleep(10 * time.Second)
			n.stop()
			late[i] = n.last("video", "1m").Late
		})
	}
	if late != [2]uint64{1, 1} {
		t.Errorf("late without a stop %d, with one %d", late[0], late[1])
	}
}
