package main

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"crest"
	"crest/internal/eventlog/disklog"
	"crest/internal/httpapi"
	"crest/internal/ingest"
	"crest/internal/list"
	"crest/internal/pipeline"
)

// metrics keeps the figures that the parts of a node report. Reporting takes no lock, except for a figure's first time.
type metrics struct {
	values  atomic.Pointer[map[figure]*value] // replaced as a whole, never changed
	growing sync.Mutex                        // held to replace it
}

// figure is one line of /metrics.
type figure struct {
	name         string
	label, value string // such as route and its name; empty when there is none
	status       int    // of an answer; 0 when there is none
}

// value is a number that many goroutines add to.
type value struct{ bits atomic.Uint64 }

func (v *value) get() float64 { return math.Float64frombits(v.bits.Load()) }

func (v *value) set(x float64) { v.bits.Store(math.Float64bits(x)) }

func (v *value) add(x float64) {
	for {
		old := v.bits.Load()
		if v.bits.CompareAndSwap(old, math.Float64bits(math.Float64frombits(old)+x)) {
			return
		}
	}
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
		"crest_archive_up":                       {"Whether the archive is being written.", httpapi.Gauge},
		"crest_archive_rows_total":               {"Events written to the archive.", httpapi.Counter},
		"crest_archive_bytes_total":              {"Bytes of the archive's new files.", httpapi.Counter},
		"crest_archive_files_total":              {"New files of the archive.", httpapi.Counter},
		"crest_archive_commit_seconds_total":     {"Time spent closing and syncing them.", httpapi.Counter},
		"crest_archive_failures_total":           {"Times that the archive could not be written; it is tried again.", httpapi.Counter},
		"crest_archive_skipped_total":            {"Records that could not be archived.", httpapi.Counter},
		"crest_archive_watermark_seconds":        {"Received time, Unix seconds, before which the archive has everything.", httpapi.Gauge},
		"crest_recount_hours_total":              {"Hours counted exactly, by why.", httpapi.Counter},
		"crest_recount_rows_total":               {"Events that recounts have read.", httpapi.Counter},
		"crest_recount_duplicates_total":         {"Weight that recounts dropped as sent before.", httpapi.Counter},
		"crest_recount_seconds_total":            {"Time spent in rounds of the recount.", httpapi.Counter},
		"crest_recount_failures_total":           {"Rounds that failed; they are tried again.", httpapi.Counter},
		"crest_recount_problems":                 {"What keeps hours from being exact.", httpapi.Gauge},
		"crest_recount_exact_until_seconds":      {"End of the exact hours, Unix seconds.", httpapi.Gauge},
		"crest_grade_lists_total":                {"Lists graded, by window.", httpapi.Counter},
		"crest_grade_missing_total":              {"Lists that could not be graded, by window.", httpapi.Counter},
		"crest_grade_failed_total":               {"Lists that broke a promise, by window. Any is a bug.", httpapi.Counter},
		"crest_grade_recall_100":                 {"Share of the true top 100 on the newest graded list of a window, the lowest of all boards of its hour.", httpapi.Gauge},
		"crest_grade_lost_samples_total":         {"Lists that could not be kept to be graded.", httpapi.Counter},
		"crest_http_answers_total":               {"Answers by route and status.", httpapi.Counter},
		"crest_http_seconds_total":               {"Time spent answering, by route.", httpapi.Counter},
		"crest_http_panics_total":                {"Handlers that failed.", httpapi.Counter},
	}
}

func newMetrics() *metrics {
	m := &metrics{}
	m.values.Store(&map[figure]*value{})
	return m
}

// of returns the value of a figure.
func (m *metrics) of(f figure) *value {
	if v := (*m.values.Load())[f]; v != nil {
		return v
	}
	m.growing.Lock()
	defer m.growing.Unlock()
	known := *m.values.Load()
	if v := known[f]; v != nil {
		return v
	}
	grown := maps.Clone(known)
	grown[f] = new(value)
	m.values.Store(&grown)
	return grown[f]
}

func (m *metrics) add(name string, x float64) { m.of(figure{name: name}).add(x) }

func (m *metrics) set(name string, x float64) { m.of(figure{name: name}).set(x) }

// snapshot returns every figure that has been reported, in order.
func (m *metrics) snapshot() []httpapi.Metric {
	known := descriptions()
	byName := map[string]*httpapi.Metric{}
	for f, v := range *m.values.Load() {
		metric := byName[f.name]
		if metric == nil {
			d := known[f.name]
			metric = &httpapi.Metric{Name: f.name, Help: d.help, Kind: d.kind}
			byName[f.name] = metric
		}
		metric.Samples = append(metric.Samples, httpapi.Sample{Labels: f.labels(), Value: v.get()})
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
	if f.label != "" {
		labels = append(labels, httpapi.Label{Name: f.label, Value: f.value})
	}
	if f.status != 0 {
		labels = append(labels, httpapi.Label{Name: "status", Value: strconv.Itoa(f.status)})
	}
	return labels
}

// figures returns the node's figures at this moment.
func (n *node) figures() []httpapi.Metric {
	n.metrics.set("crest_log_size_bytes", float64(n.log.Size()))
	n.metrics.set("crest_log_queued_bytes", float64(n.log.Queued()))
	if n.exact != nil {
		n.metrics.set("crest_archive_watermark_seconds", seconds(n.exact.archive.Watermark()))
	}
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
			m.of(figure{name: "crest_ingest_rejected_total", label: "code", value: string(code)}).add(float64(events))
		},
		Failed: func(code crest.Code) {
			m.of(figure{name: "crest_ingest_failed_requests_total", label: "code", value: string(code)}).add(1)
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
			m.of(figure{name: "crest_http_answers_total", label: "route", value: route, status: status}).add(1)
			m.of(figure{name: "crest_http_seconds_total", label: "route", value: route}).add(took.Seconds())
		},
		Panicked: func(route string, value any, stack []byte) {
			m.add("crest_http_panics_total", 1)
			n.logger.Error("a request handler failed", "route", route, "value", value, "stack", string(stack))
		},
	}
}
