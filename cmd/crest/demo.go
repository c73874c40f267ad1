package main

import (
	"context"
	"time"

	"crest"
	"crest/client"
	"crest/internal/config"
	"crest/internal/demo"
)

const (
	demoRate  = 4000 // events a second
	demoEvery = 100 * time.Millisecond
	demoSeed  = 2026
)

// demoTraffic makes traffic that fits the configuration.
func demoTraffic(cfg *config.Config) *demo.Traffic {
	var types []string
	hashtags, narrowed := map[string]bool{}, map[string]bool{}
	for _, t := range cfg.Types {
		types = append(types, t.Name)
		hashtags[t.Name] = t.Normalize != ""
		narrowed[t.Name] = len(t.Boards) > 0
	}
	return demo.New(demoSeed, types, hashtags, narrowed)
}

// playDemo posts demo traffic to the node's own public API, as any producer does, until ctx ends.
func (n *node) playDemo(ctx context.Context) error {
	if n.traffic == nil {
		return nil
	}
	to, err := client.New("http://"+n.listener.Addr().String(), client.Options{})
	if err != nil {
		return err
	}
	tick := time.NewTicker(demoEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case now := <-tick.C:
			events := n.traffic.Events(int(demoRate*demoEvery/time.Second), crest.MillisOf(now))
			if _, err := to.Send(ctx, events); err != nil && ctx.Err() == nil {
				n.logger.Warn("demo traffic was not accepted", "err", err)
			}
		}
	}
}
