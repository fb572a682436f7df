// Package vek contains every hot loop of the project. It reads and writes slices of float32,
// and of float64 for the kernels of S4, and allocates nothing.
//
// An exported function checks its arguments and panics with "vek: NAME: …" on misuse. The comment
// of nameGeneric, its implementation in plain Go, states the formula. Complex vectors are split
// into real and imaginary parts. A destination may be the same slice as a source where the doc says
// so, and must not overlap a source otherwise. The result at index i depends only on the sources at
// i, with the same bits wherever i is in a vector. Products that must not be fused into the next
// addition are written float32(x*y).
package vek

//go:generate go -C ../../asm test -count=1 -run Generated -write .

import "fmt"

// longestRun is the largest number of elements in one call of assembly, which Go cannot preempt. No
// call takes much longer than 150 µs, except norms over a thousand rows and more: at 4096 rows a
// call takes milliseconds, and with fewer columns per call all of them take longer together.
const longestRun = 1 << 15

// require panics unless the arguments of a function match.
func require(name string, match bool) {
	if !match {
		panic("vek: " + name + ": the arguments do not match")
	}
}

// sameLen panics unless every slice has n elements.
func sameLen(name string, n int, slices ...[]float32) {
	for _, s := range slices {
		if len(s) != n {
			panic(fmt.Sprintf("vek: %s: lengths differ: %d and %d", name, n, len(s)))
		}
	}
}
