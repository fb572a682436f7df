// Package vek holds every hot loop of the project: float32 slices in, slices out, nothing allocated.
//
// An exported function checks its arguments and panics with "vek: NAME: …" on misuse; the body behind it
// (nameGeneric in plain Go) carries the formula. Complex vectors are split (re, im). A destination may be one of
// its sources, element for element, where the doc says so, and may not overlap it otherwise. A result at i depends
// on the sources at i alone, bit for bit, wherever i lies in a vector. Products that must not be fused into the next
// addition are written float32(x*y).
package vek

//go:generate go -C ../../asm test -count=1 -run Generated -write .

import "fmt"

// longestRun bounds the elements of one call of assembly, which Go cannot preempt: no call takes much longer than
// 150 µs.
const longestRun = 1 << 15

// sameLen panics unless every slice has n elements.
func sameLen(name string, n int, slices ...[]float32) {
	for _, s := range slices {
		if len(s) != n {
			panic(fmt.Sprintf("vek: %s: lengths differ: %d and %d", name, n, len(s)))
		}
	}
}
