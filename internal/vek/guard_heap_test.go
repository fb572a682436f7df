//go:build !(linux || darwin)

package vek_test

import (
	"testing"
	"unsafe"
)

// edge is the margin in floats on each side of an argument. Without guard pages, the margin detects
// a stray write, and its NaNs show a stray read.
const edge = margin

// guarded returns zeroed memory, 64-byte aligned.
func guarded(_ testing.TB, bytes int) []byte {
	all := make([]byte, bytes+64)
	lead := int(-uintptr(unsafe.Pointer(unsafe.SliceData(all))) & 63)
	return all[lead : lead+bytes : lead+bytes]
}
