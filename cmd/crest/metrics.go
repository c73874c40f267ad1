package main

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"crest"
	"crest/internal/eventlog/disklog"
	"crest/internal/httpapi"
	"crest/internal/ingest"
	"crest/internal/list"
	"crest/internal/pipeline"
)

// metrics keeps the figures that the parts of a node report.
type metrics struct {
	mu     sync.Mutex
	values map[figure]float64
}

// figure is one line of /metrics.
type figure struct {
	name  string
	label [2]string // name and value; empty when there is none
	extra [2]string
}

// description is what a figure means, and whether it only grows.
type description struct {
	help string
	kind httpapi.MetricKind
}

func descriptions() map[string]description {
	return map[string]description{
		"crest_ingest_events_total":              {"Events accepted.", httpapi.Counter},
		"crest_ingest_clamped_total":             {"Accepted events whose time was ahead of the clock here.", httpapi.Counter},
		"crest_ingest_rejected_total":            {"Events refused by themselves.", httpapi.Counter},
		"crest_ingest_failed_requests_total":     {"Requests of which no event was accepted.", httpapi.Counter},
		"crest_log_bytes_total":                  {"Bytes made durable in the event log.", httpapi.Counter},
		"crest_log_commits_total":                {"Writes of the event log made durable.", httpapi.Counter},
		"crest_log_sync_seconds_total":           {"Time spent to make them durable.", httpapi.Counter},
		"crest_log_lost_records_total":           {"Records that could not be written; producers waiting for them were told.", httpapi.Counter},
		"crest_log_size_bytes":                   {"Size of the event log.", httpapi.Gauge},
		"crest_log_queued_bytes":                 {"Bytes that wait to be written.", httpapi.Gauge},
		"crest_count_events_total":               {"Events taken from the log and counted, duplicates included.", httpapi.Counter},
		"crest_count_partials_total":             {"Pre-aggregated weights added to the shards.", httpapi.Counter},
		"crest_count_duplicates_total":           {"Weight dropped as sent before.", httpapi.Counter},
		"crest_count_refused_board_weight_total": {"Weight that found no room for a narrowed board of its own.", httpapi.Counter},
		"crest_count_skipped_total":              {"Records or reports that could not be used.", httpapi.Counter},
		"crest_lists_published_total":            {"Lists published.", httpapi.Counter},
		"crest_lists_lag_seconds":                {"Age of as_of when the last lists were published.", httpapi.Gauge},
		"crest_lists_build_seconds_total":        {"Time spent merging and publishing lists.", httpapi.Counter},
		"crest_lists_stale_total":                {"Times that a list became stale.", httpapi.Counter},
		"crest_lists_write_failures_total":       {"Lists that could not be written to disk.", httpapi.Counter},
		"crest_checkpoint_bytes_total":           {"Bytes of checkpoints written.", httpapi.Counter},
		"crest_checkpoint_failures_total":        {"Checkpoints that could not be written.", httpapi.Counter},
		"crest_checkpoint_files":                 {"Files that the newest checkpoint is spread over.", httpapi.Gauge},
		"crest_checkpoint_seconds_total":         {"Time spent writing checkpoints.", httpapi.Counter},
		"crest_http_answers_total":               {"Answers by route and status.", httpapi.Counter},
		"crest_http_seconds_total":               {"Time spent answering, by route.", httpapi.Counter},
		"crest_http_panics_total":                {"Handlers that failed.", httpapi.Counter},
	}
}

func newMetrics() *metrics { return &metrics{values: map[figure]float64{}} }

func (m *metrics) add(name string, v float64) { m.addTo(figure{name: name}, v) }

func (m *metrics) addTo(f figure, v float64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.values[f] += v
}

func (m *metrics) set(name string, v float64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.values[figure{name: name}] = v
}

// snapshot returns every figure that has been reported, in order.
func (m *metrics) snapshot() []httpapi.Metric {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := descriptions()
	byName := map[string]*httpapi.Metric{}
	for f, v := range m.values {
		metric := byName[f.name]
		if metric == nil {
			d := known[f.name]
			metric = &httpapi.Metric{Name: f.name, Help: d.help, Kind: d.kind}
			byName[f.name] = metric
		}
		metric.Samples = append(metric.Samples, httpapi.Sample{Labels: f.labels(), Value: v})
	}
	all := make([]httpapi.Metric, 0, len(byName))
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		metric := byName[name]
		slices.SortFunc(metric.Samples, func(a, b httpapi.Sample) int {
			return slices.CompareFunc(a.Labels, b.Labels, func(x, y httpapi.Label) int { return cmp.Compare(x.Value, y.Value) })
		})
		all = append(all, *metric)
	}
	return all
}

func (f figure) labels() []httpapi.Label {
	var labels []httpapi.Label
	for _, l := range [][2]string{f.label, f.extra} {
		if l[0] != "" {
			labels = append(labels, httpapi.Label{Name: l[0], Value: l[1]})
		}
	}
	return labels
}

// figures returns the node's figures at this moment.
func (n *node) figures() []httpapi.Metric {
	n.metrics.set("crest_log_size_bytes", float64(n.log.Size()))
	n.metrics.set("crest_log_queued_bytes", float64(n.log.Queued()))
	return n.metrics.snapshot()
}

func (n *node) observeLog() disklog.Observer {
	m := n.metrics
	return disklog.Observer{
		Committed: func(c disklog.Commit) {
			m.add("crest_log_bytes_total", float64(c.Bytes))
			m.add("crest_log_commits_total", 1)
			m.add("crest_log_sync_seconds_total", c.Sync.Seconds())
		},
		Lost: func(records, bytes int, err error) {
			m.add("crest_log_lost_records_total", float64(records))
			n.logger.Error("the event log could not be written", "records", records, "bytes", bytes, "err", err)
		},
		Recovered: func(r disklog.Recovery) {
			n.logger.Warn("the event log was not closed in order; it has been repaired",
				"file", r.Path, "cut_bytes", r.Cut, "cut_at", r.CutAt, "damaged_stretches", r.Damaged)
		},
		Trimmed: func(bytes int64) {
			n.logger.Info("old segments of the event log were deleted", "bytes", bytes)
		},
	}
}

func (n *node) observeIngest() ingest.Observer {
	m := n.metrics
	return ingest.Observer{
		Accepted: func(events, clamped int) {
			m.add("crest_ingest_events_total", float64(events))
			m.add("crest_ingest_clamped_total", float64(clamped))
		},
		Rejected: func(code crest.Code, events int) {
			m.addTo(figure{name: "crest_ingest_rejected_total", label: [2]string{"code", string(code)}}, float64(events))
		},
		Failed: func(code crest.Code) {
			m.addTo(figure{name: "crest_ingest_failed_requests_total", label: [2]string{"code", string(code)}}, 1)
		},
	}
}

func (n *node) observePipeline() pipeline.Observer {
	m := n.metrics
	return pipeline.Observer{
		Read: func(events, _ int) { m.add("crest_count_events_total", float64(events)) },
		Flushed: func(partials int, duplicates, refused uint64) {
			m.add("crest_count_partials_total", float64(partials))
			m.add("crest_count_duplicates_total", float64(duplicates))
			m.add("crest_count_refused_board_weight_total", float64(refused))
		},
		Refreshed: func(_ crest.Millis, lists int, lag, took time.Duration) {
			m.add("crest_lists_published_total", float64(lists))
			m.set("crest_lists_lag_seconds", lag.Seconds())
			m.add("crest_lists_build_seconds_total", took.Seconds())
		},
		Checkpointed: func(bytes, files int, took time.Duration, err error) {
			if err != nil {
				m.add("crest_checkpoint_failures_total", 1)
				n.logger.Error("the counting state could not be saved; it is tried again", "err", err)
				return
			}
			m.add("crest_checkpoint_bytes_total", float64(bytes))
			m.add("crest_checkpoint_seconds_total", took.Seconds())
			m.set("crest_checkpoint_files", float64(files))
		},
		Restored: func(watermark crest.Millis, took time.Duration) {
			n.logger.Info("going on from the saved counting state", "counted_until", watermark.Time(), "took", took)
		},
		Skipped: func(err error) {
			m.add("crest_count_skipped_total", 1)
			n.logger.Error("something could not be counted", "err", err)
		},
	}
}

func (n *node) observeLists() list.Observer {
	m := n.metrics
	return list.Observer{
		Stale: func(board, window string) {
			m.add("crest_lists_stale_total", 1)
			n.logger.Warn("a list has become stale; the last good one is served", "board", board, "window", window)
		},
		WriteFailed: func(board, window string, err error) {
			m.add("crest_lists_write_failures_total", 1)
			n.logger.Error("a list could not be written to disk; it is tried again", "board", board, "window", window, "err", err)
		},
		Corrupt: func(name string, err error) {
			n.logger.Error("a list on disk is damaged; an older version is used if there is one", "file", name, "err", err)
		},
	}
}

func (n *node) observeHTTP() httpapi.Observer {
	m := n.metrics
	return httpapi.Observer{
		Answered: func(route string, status int, took time.Duration) {
			m.addTo(figure{
				name: "crest_http_answers_total", label: [2]string{"route", route}, extra: [2]string{"status", strconv.Itoa(status)},
			}, 1)
			m.addTo(figure{name: "crest_http_seconds_total", label: [2]string{"route", route}}, took.Seconds())
		},
		Panicked: func(route string, value any, stack []byte) {
			m.add("crest_http_panics_total", 1)
			n.logger.Error("a request handler failed", "route", route, "value", value, "stack", string(stack))
		},
	}
}
