package train

import (
	"io/fs"
	"iter"
	"path"
	"strconv"
	"strings"
)

// memoryLimit returns the bytes of memory that this process may use: the lower one of those of the
// machine and of the control groups above the process (version 2). It returns 0 where neither is
// known, as on systems other than Linux. root is the root of the file system.
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
	for line := range lines(root, "proc/self/cgroup") {
		group, ok := strings.CutPrefix(line, "0::")
		// In a container the path may be the host's while the mount is the container's: its root
		// counts too.
		for group = path.Join("/", group); ok; group = path.Dir(group) {
			for text := range lines(root, path.Join("sys/fs/cgroup", group, "memory.max")) {
				lower(text, 1) // "max" is not a number
			}
			ok = group != "/"
		}
	}
	return limit
}

// lines iterates over the lines of a file, none if it cannot be read.
func lines(root fs.FS, name string) iter.Seq[string] {
	text, _ := fs.ReadFile(root, name)
	return strings.SplitSeq(string(text), "\n")
}
