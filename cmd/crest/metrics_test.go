package main

import (
	"sync"
	"testing"
	"time"

	"crest/internal/httpapi"
)

func TestMetricsAddUp(t *testing.T) {
	m := newMetrics()
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for i := range 1000 {
				m.add("crest_log_commits_total", 0.5)
				m.of(figure{name: "crest_http_answers_total", label: "route", value: "GET /", status: 200 + i%3}).add(1)
			}
		})
	}
	all.Wait()
	m.set("crest_log_size_bytes", 7)
	m.set("crest_log_size_bytes", 8)
	got := m.snapshot()
	if len(got) != 3 || got[0].Name != "crest_http_answers_total" || len(got[0].Samples) != 3 {
		t.Fatalf("%+v", got)
	}
	answered := 0.0
	for _, s := range got[0].Samples {
		answered += s.Value
	}
	if first := got[0].Samples[0]; answered != 4000 || first.Labels[0] != (httpapi.Label{Name: "route", Value: "GET /"}) || first.Labels[1] != (httpapi.Label{Name: "status", Value: "200"}) {
		t.Errorf("%g answers, %+v", answered, first)
	}
	if got[1].Samples[0].Value != 2000 || got[2].Samples[0].Value != 8 || got[2].Kind != httpapi.Gauge {
		t.Errorf("%+v", got[1:])
	}
}

// TestAnswersAreCountedWithoutALock counts while the only lock there is is held.
func TestAnswersAreCountedWithoutALock(t *testing.T) {
	n := &node{metrics: newMetrics()}
	answered := n.observeHTTP().Answered
	answered("GET /v1/top", 200, time.Millisecond)
	n.metrics.growing.Lock()
	defer n.metrics.growing.Unlock()
	if allocations := testing.AllocsPerRun(100, func() { answered("GET /v1/top", 200, time.Millisecond) }); allocations != 0 {
		t.Errorf("an answer allocates %g times", allocations)
	}
}
