//go:build !purego

package vek

import (
	"sync"
	"syscall"

	"github.com/klauspost/cpuid/v2"
)

// matrixUnits reports whether the processor has the instructions of level amx, and asks Linux to
// save the tiles, which a process must do once.
var matrixUnits = sync.OnceValue(func() bool {
	_, _, err := syscall.RawSyscall(syscall.SYS_ARCH_PRCTL, 0x1023, 18, 0) // ARCH_REQ_XCOMP_PERM, XTILEDATA
	return err == 0 && cpuid.CPU.Supports(cpuid.AMXTILE, cpuid.AMXBF16)
})
