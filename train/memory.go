package train

import (
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// memoryLimit returns the bytes of memory that this process may use: the lowest of those of the
// machine, the process's limits (ulimit -v and -d) and the limits of the control groups above it.
// It returns 0 where none is known, as on systems other than Linux. root is the root of the file
// system.
func memoryLimit(root fs.FS) float64 {
	limit := 0.0
	lower := func(text string, unit float64) {
		if v, err := strconv.ParseFloat(text, 64); err == nil && v > 0 && (limit == 0 || unit*v < limit) {
			limit = unit * v
		}
	}
	for line := range lines(root, "proc/meminfo") {
		if f := strings.Fields(line); len(f) == 3 && f[0] == "MemTotal:" {
			lower(f[1], 1024)
		}
	}
	for line := range lines(root, "proc/self/limits") { // name, soft limit, hard limit, unit
		for _, name := range []string{"Max address space", "Max data size"} {
			if rest, ok := strings.CutPrefix(line, name); ok {
				lower(strings.Fields(rest + " -")[0], 1) // "unlimited" is not a number
			}
		}
	}
	for line := range lines(root, "proc/self/cgroup") { // hierarchy:controllers:path
		_, rest, _ := strings.Cut(line, ":")
		controllers, group, _ := strings.Cut(rest, ":")
		mount, file := "sys/fs/cgroup", "memory.max" // version 2, which names no controllers
		if slices.Contains(strings.Split(controllers, ","), "memory") {
			mount, file = "sys/fs/cgroup/memory", "memory.limit_in_bytes"
		} else if controllers != "" {
			continue
		}
		// In a container the path may be the host's while the mount is the container's: its root
		// counts too.
		for group = path.Join("/", group); ; group = path.Dir(group) {
			for text := range lines(root, path.Join(mount, group, file)) {
				lower(text, 1) // "max" is not a number
			}
			if group == "/" {
				break
			}
		}
	}
	return limit
}

// lines iterates over the trimmed lines of a file, none if it cannot be read.
func lines(root fs.FS, name string) func(yield func(string) bool) {
	text, _ := fs.ReadFile(root, name)
	return func(yield func(string) bool) {
		for line := range strings.Lines(string(text)) {
			if !yield(strings.TrimSpace(line)) {
				return
			}
		}
	}
}
