package fftkernel

import "fmt"

// checkTaps panics unless a kernel has at most as many taps as the plan.
func checkTaps(name string, taps, planned int) {
	if taps > planned {
		panic(fmt.Sprintf("fftkernel: %s: a kernel of %d taps, expected at most %d", name, taps, planned))
	}
}

// checkLength panics unless a slice has the length of the plan.
func checkLength(name, slice string, n, planned int) {
	if n != planned {
		panic(fmt.Sprintf("fftkernel: %s: %d elements in %s, expected %d", name, n, slice, planned))
	}
}

func checkScratch(name string, n, least int) {
	if n < least {
		panic(fmt.Sprintf("fftkernel: %s: scratch of %d floats, expected %d", name, n, least))
	}
}
