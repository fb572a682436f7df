//go:build !purego

package vek

import (
	"sync"
	"syscall"

	"github.com/klauspost/cpuid/v2"
)

// matrixLevels lists the level AMX if it is available. It asks Linux to save the tiles, which a
// process must do once; from then on, every stack for signals must have room for them.
var matrixLevels = sync.OnceValue(func() []Level {
	_, _, err := syscall.RawSyscall(syscall.SYS_ARCH_PRCTL, 0x1023, 18, 0) // ARCH_REQ_XCOMP_PERM, XTILEDATA
	if err != 0 || !cpuid.CPU.Supports(cpuid.AVX512F, cpuid.AVX512DQ, cpuid.AVX512BW, cpuid.AVX512VL, cpuid.AMXTILE, cpuid.AMXBF16) {
		return nil
	}
	return []Level{AMX}
})
