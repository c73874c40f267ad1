package httpapi

import (
	"runtime/metrics"
	"strconv"
	"strings"
)

// MetricKind says how a metric moves.
type MetricKind string

// The kinds of metrics.
const (
	Counter MetricKind = "counter" // only grows while the process lives
	Gauge   MetricKind = "gauge"
)

// Metric is a figure of the node, with a sample per set of labels.
type Metric struct {
	Name    string // of letters, digits and underscores, with its unit: crest_events_accepted_total
	Help    string
	Kind    MetricKind
	Samples []Sample
}

// Sample is one value of a metric.
type Sample struct {
	Labels []Label
	Value  float64
}

// Label tells samples of one metric apart.
type Label struct{ Name, Value string }

// single returns a metric of one sample without labels.
func single(name, help string, kind MetricKind, value float64) Metric {
	return Metric{Name: name, Help: help, Kind: kind, Samples: []Sample{{Value: value}}}
}

// appendMetrics writes metrics in the text format of Prometheus, version 0.0.4.
func appendMetrics(dst []byte, all []Metric) []byte {
	help := strings.NewReplacer(`\`, `\\`, "\n", `\n`)
	label := strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)
	for i := range all {
		m := &all[i]
		dst = append(dst, "# HELP "+m.Name+" "+help.Replace(m.Help)+"\n# TYPE "+m.Name+" "+string(m.Kind)+"\n"...)
		for _, s := range m.Samples {
			dst = append(dst, m.Name...)
			for j, l := range s.Labels {
				dst = append(dst, "{,"[min(j, 1)])
				dst = append(dst, l.Name+`="`+label.Replace(l.Value)+`"`...)
			}
			if len(s.Labels) > 0 {
				dst = append(dst, '}')
			}
			dst = strconv.AppendFloat(append(dst, ' '), s.Value, 'g', -1, 64)
			dst = append(dst, '\n')
		}
	}
	return dst
}

// processMetrics returns what the Go runtime knows about the process.
func processMetrics() []Metric {
	samples := []metrics.Sample{
		{Name: "/sched/goroutines:goroutines"},
		{Name: "/memory/classes/total:bytes"},
		{Name: "/memory/classes/heap/released:bytes"},
		{Name: "/gc/heap/live:bytes"},
		{Name: "/gc/cycles/total:gc-cycles"},
		{Name: "/cpu/classes/gc/total:cpu-seconds"},
	}
	metrics.Read(samples)
	value := func(i int) float64 {
		switch samples[i].Value.Kind() {
		case metrics.KindUint64:
			return float64(samples[i].Value.Uint64())
		case metrics.KindFloat64:
			return samples[i].Value.Float64()
		default: // a runtime that no longer has this figure
			return 0
		}
	}
	return []Metric{
		single("go_goroutines", "Goroutines that exist.", Gauge, value(0)),
		single("go_memory_mapped_bytes", "Memory that the Go runtime has from the system and has not given back.", Gauge, value(1)-value(2)),
		single("go_heap_live_bytes", "Heap memory that the last collection left.", Gauge, value(3)),
		single("go_gc_cycles_total", "Garbage collections.", Counter, value(4)),
		single("go_gc_cpu_seconds_total", "Estimated CPU time of garbage collection.", Counter, value(5)),
	}
}
