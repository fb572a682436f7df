//go:build linux || darwin

package vek_test

import (
	"os"
	"runtime"
	"syscall"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/vektest"
)

// edge is the distance in floats between an argument and the guard pages. It is 0 on a processor.
// On an emulated amd64 processor it is one vector, because qemu's masked loads also read the masked
// lanes.
var edge = func() int {
	if vektest.Emulated && runtime.GOARCH == "amd64" {
		return maxLanes
	}
	return 0
}()

// guarded returns zeroed memory with a page on each side on which any access faults. bytes is a
// multiple of the page size.
func guarded(tb testing.TB, bytes int) []byte {
	tb.Helper()
	page := os.Getpagesize()
	all, err := syscall.Mmap(-1, 0, bytes+2*page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		tb.Fatalf("mapping %d bytes: %v", bytes, err)
	}
	tb.Cleanup(func() {
		if err := syscall.Munmap(all); err != nil {
			tb.Errorf("unmapping: %v", err)
		}
	})
	for _, guard := range [][]byte{all[:page], all[page+bytes:]} {
		if err := syscall.Mprotect(guard, syscall.PROT_NONE); err != nil {
			tb.Fatalf("protecting a guard page: %v", err)
		}
	}
	return all[page : page+bytes : page+bytes]
}
