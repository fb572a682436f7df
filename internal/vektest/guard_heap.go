//go:build !(linux || darwin)

package vektest

import (
	"testing"
	"unsafe"
)

// edge keeps a margin on each side of an argument: without guard pages a stray write is found by its canaries and
// a stray read by the NaN it brings.
const edge = margin

// guarded returns zeroed memory, 64-byte aligned.
func guarded(_ testing.TB, bytes int) []byte {
	all := make([]byte, bytes+64)
	lead := int(-uintptr(unsafe.Pointer(unsafe.SliceData(all))) & 63)
	return all[lead : lead+bytes : lead+bytes]
}
