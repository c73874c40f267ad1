package main

import (
	"bufio"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"crest/internal/config"
)

// machine is what a plan has to fit into. Sizes are 0 when they can't be told.
type machine struct {
	Cores    int          `json:"cores"`
	Memory   config.Bytes `json:"memory_bytes"`    // that this process may use
	DiskFree config.Bytes `json:"disk_free_bytes"` // where the data directory is, or will be
}

func thisMachine(data string) machine {
	m := machine{Cores: runtime.GOMAXPROCS(0), Memory: totalMemory(), DiskFree: diskFree(data)}
	if limit := containerLimit(); limit > 0 && (m.Memory == 0 || limit < m.Memory) {
		m.Memory = limit
	}
	return m
}

// totalMemory reads Linux's /proc.
func totalMemory() config.Bytes {
	f, err := os.Open("/proc/meminfo")
	if err != nil {
		return 0
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if fields := strings.Fields(lines.Text()); len(fields) >= 2 && fields[0] == "MemTotal:" {
			n, err := strconv.ParseInt(fields[1], 10, 64)
			if err != nil {
				return 0
			}
			return config.Bytes(n) * config.KiB
		}
	}
	return 0
}

// containerLimit reads the memory limit of this process's control group, 0 when it has none.
func containerLimit() config.Bytes {
	text, err := os.ReadFile("/sys/fs/cgroup/memory.max")
	if err != nil {
		return 0
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil { // "max"
		return 0
	}
	return config.Bytes(n)
}

// diskFree asks the nearest directory that exists.
func diskFree(path string) config.Bytes {
	path, err := filepath.Abs(path)
	if err != nil {
		return 0
	}
	for {
		var stat syscall.Statfs_t
		if syscall.Statfs(path, &stat) == nil {
			return config.Bytes(stat.Bavail) * config.Bytes(stat.Bsize)
		}
		parent := filepath.Dir(path)
		if parent == path {
			return 0
		}
		path = parent
	}
}
