package exact

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"time"

	"crest/internal/archive"
	"crest/internal/counts"
	"crest/internal/exact/exacttest"
)

// BenchmarkHour counts an hour of CREST_ROWS rows (default 1 M) of which 2 % were sent twice. CREST_HOUR keeps the archive in
// a directory from run to run, CREST_MEMORY (in MiB) is what counting may use.
func BenchmarkHour(b *testing.B) {
	benchmarkHour(b, false)
}

// BenchmarkNarrowedHour has three boards more for each row.
func BenchmarkNarrowedHour(b *testing.B) {
	benchmarkHour(b, true)
}

func benchmarkHour(b *testing.B, narrowed bool) {
	b.Helper()
	rows, memory := envInt(b, "CREST_ROWS", 1_000_000), envInt(b, "CREST_MEMORY", 512)
	dir := os.Getenv("CREST_HOUR")
	if dir == "" {
		dir = b.TempDir()
	}
	dir = filepath.Join(dir, fmt.Sprint(rows, narrowed))
	hour := exacttest.Hour{Start: exacttest.DefaultStart, Rows: rows, Universe: rows / 4, Duplicates: 0.02, Seed: 1, Narrowed: narrowed}
	view, err := archive.Read(dir)
	if err == nil && view.State.Watermark == 0 {
		if err = exacttest.WriteHour(b.Context(), dir, hour); err == nil {
			view, err = archive.Read(dir)
		}
	}
	if err != nil {
		b.Fatal(err)
	}
	in, err := inputOf(view, hour.Start, hour.Start.Add(70*time.Minute), 4*time.Minute)
	if err != nil {
		b.Fatal(err)
	}
	config := Config{Types: []TypeBoards{{Name: "video"}}, Memory: int64(memory) << 20, Workers: runtime.GOMAXPROCS(0)}
	if config.Dimensions = hour.Dimensions(); narrowed {
		config.Types[0].Narrow = [][]int{{0}, {1}, {0, 1}}
	}
	before := cpuTime(b)
	b.ResetTimer()
	var s stats
	for b.Loop() {
		s, err = countInto(b.Context(), b.TempDir(), newCounter(config, b.TempDir()), in)
		if err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(rows)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mrows/s")
	b.ReportMetric(float64(cpuTime(b)-before)/float64(b.N)/1e9, "cpu-s/op")
	b.ReportMetric(float64(s.items), "items")
	b.ReportMetric(float64(s.duplicates), "duplicates")
	b.ReportMetric(peakMiB(b), "peak-MiB")
}

// countInto counts an hour into files of a directory.
func countInto(ctx context.Context, dir string, c *counter, in hourInput) (stats, error) {
	out, err := counts.Create(filepath.Join(dir, "counts"))
	if err != nil {
		return stats{}, err
	}
	defer func() { _ = out.Abort() }()
	late, err := counts.CreateLateIn(nil, filepath.Join(dir, "late"))
	if err != nil {
		return stats{}, err
	}
	defer func() { _ = late.Abort() }()
	s, err := c.hour(ctx, in, out, late)
	if err != nil {
		return s, err
	}
	if _, err = out.Close(); err != nil {
		return s, err
	}
	_, err = late.Close()
	return s, err
}

func envInt(b *testing.B, name string, otherwise int) int {
	b.Helper()
	s := os.Getenv(name)
	if s == "" {
		return otherwise
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		b.Fatal(err)
	}
	return n
}

func usage(b *testing.B) syscall.Rusage {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return u
}

func cpuTime(b *testing.B) int64 {
	b.Helper()
	u := usage(b)
	return u.Utime.Nano() + u.Stime.Nano()
}

// peakMiB returns the most memory that the process ever had, on Linux.
func peakMiB(b *testing.B) float64 {
	b.Helper()
	return float64(usage(b).Maxrss) / 1024
}
