//go:build unix

package service

import (
	"math"
	"syscall"
)

// maxConnections returns how many connections fit into the limit of open files, in addition to
// reservedFiles.
func maxConnections() int {
	var r syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &r) != nil {
		return math.MaxInt32
	}
	return int(min(uint64(r.Cur), math.MaxInt32)) - reservedFiles
}
