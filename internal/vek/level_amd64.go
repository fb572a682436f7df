//go:build !purego

package vek

import "github.com/klauspost/cpuid/v2"

// assemblyLevels lists the levels of this processor, and of the system, which must save the
// registers.
func assemblyLevels() []Level {
	switch cpu := &cpuid.CPU; {
	case !cpu.Supports(cpuid.AVX2, cpuid.FMA3):
		return nil
	case !cpu.Supports(cpuid.AVX512F, cpuid.AVX512DQ, cpuid.AVX512BW, cpuid.AVX512VL):
		return []Level{AVX2}
	}
	return []Level{AVX2, AVX512}
}
