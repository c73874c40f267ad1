package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"crest/internal/counts"
)

// measure reads what a plan says and prints how long each part takes.
func measure(name string) error {
	data, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	var p plan
	if err := json.Unmarshal(data, &p); err != nil {
		return err
	}
	cold := dropCaches() == nil
	if !cold {
		fmt.Println("caches can't be dropped without being root: nothing is cold")
	}
	var table *counts.Table
	err = timed("open, cold", func() (err error) {
		table, err = counts.Open(p.Path, p.Info)
		return err
	})
	if err != nil {
		return err
	}
	defer table.Close()
	look := func(what string, keys []string, there bool) error {
		return timed(what, func() error { return lookup(table, keys, there) })
	}
	if err := dropCaches(); err != nil && cold {
		return err
	}
	if err := look("present keys, cold", p.Present, true); err != nil {
		return err
	}
	memory("after it")
	if err := look("present keys, warm", p.Present, true); err != nil {
		return err
	}
	if err := dropCaches(); err != nil && cold {
		return err
	}
	if err := look("absent keys, cold", p.Absent, false); err != nil {
		return err
	}
	if err := look("absent keys, warm", p.Absent, false); err != nil {
		return err
	}
	memory("after it")
	err = timed("all rows, warm", func() error {
		c, n, sum := table.All(), int64(0), uint64(0)
		for c.Next() {
			sum += c.Row().Count
			n++
		}
		if b, _ := table.Board(board); n != b.Rows || sum != b.Count {
			return fmt.Errorf("read %d rows with %d", n, sum)
		}
		return errors.Join(c.Err(), c.Close())
	})
	memory("after it")
	return err
}

func lookup(table *counts.Table, keys []string, there bool) error {
	rows, err := table.Lookup(board, keys)
	if err != nil {
		return err
	}
	for i, row := range rows {
		if (row.Count > 0) != there || there && row.Item != keys[i] {
			return fmt.Errorf("key %s: got %+v", keys[i], row)
		}
	}
	return nil
}

// timed prints how long a part took by the clock and of the processors.
func timed(what string, f func() error) error {
	began, cpu := time.Now(), cpuTime()
	err := f()
	fmt.Printf("%-20s %8.3f s  %.3f s of processors\n", what, time.Since(began).Seconds(), (cpuTime() - cpu).Seconds())
	return err
}

func cpuTime() time.Duration {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// memory prints what the process takes.
func memory(when string) {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	peak := ""
	if status, err := os.ReadFile("/proc/self/status"); err == nil {
		for line := range strings.Lines(string(status)) {
			if v, ok := strings.CutPrefix(line, "VmHWM:"); ok {
				peak = ", process at most " + strings.TrimSpace(v)
			}
		}
	}
	fmt.Printf("  memory %s: heap %.1f MB of %.1f MB%s\n", when, float64(m.HeapAlloc)/1e6, float64(m.HeapSys)/1e6, peak)
}

// dropCaches makes the operating system forget what it has read.
func dropCaches() error {
	unix.Sync()
	return os.WriteFile("/proc/sys/vm/drop_caches", []byte("3"), 0o200)
}
