package main

import (
	"context"
	"slices"
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
	var types []demo.Type
	for _, t := range cfg.Types {
		types = append(types, demo.Type{Name: t.Name, Hashtags: t.Normalize != "", Dimensions: dimensionsOf(cfg, t)})
	}
	return demo.New(demoSeed, types)
}

// dimensionsOf returns the dimensions by which a type is narrowed.
func dimensionsOf(cfg *config.Config, t config.Type) []demo.Dimension {
	var all []demo.Dimension
	for _, d := range cfg.Dimensions {
		if slices.ContainsFunc(t.Boards, func(board []string) bool { return slices.Contains(board, d.Name) }) {
			all = append(all, demo.Dimension{Name: d.Name, Values: d.Values})
		}
	}
	return all
}

// playDemo posts demo traffic to the node's own public API, as any producer does, until ctx ends.
func (n *node) playDemo(ctx context.Context) error {
	if n.traffic == nil {
		return nil
	}
	to, err := client.New(urlOf(n.listener), client.Options{})
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
