package fftkernel_test

import (
	"fmt"
	"math"

	"github.com/s4d-fast/s4d-fast/fftkernel"
)

// The impulse response of a single decaying pole is its powers.
func Example() {
	const length = 4
	v := fftkernel.NewVandermonde(1, length)
	k := make([]float32, length)
	v.Kernel(k, []complex128{complex(math.Log(0.5), 0)}, []complex128{0.5}, make([]float32, v.ScratchLen()))

	conv := fftkernel.NewConv(length, length, false)
	scratch := make([]float32, conv.ScratchLen())
	khat := make([]float32, conv.SpectrumLen())
	conv.Spectrum(khat, k, nil)
	y := make([]float32, length)
	conv.Convolve(fftkernel.Rows{y}, fftkernel.Rows{{1, 0, 0, 2}}, khat, scratch)
	fmt.Printf("%.3f\n%.3f\n", k, y)
	// Output:
	// [1.000 0.500 0.250 0.125]
	// [1.000 0.500 0.250 2.125]
}

// A transformed array is in the plan's own order, which Order returns.
func ExampleFFT() {
	const n = 192
	f, err := fftkernel.NewFFT(n)
	if err != nil {
		fmt.Println(err)
		return
	}
	re, im := make([]float32, n), make([]float32, n)
	for j := range re {
		re[j] = float32(math.Cos(2 * math.Pi * 5 * float64(j) / n)) // five turns
	}
	f.Coefficients(re, im)
	for i, k := range f.Order() {
		if re[i] > 1 {
			fmt.Printf("frequency %d: %.0f\n", k, re[i])
		}
	}
	// Unordered output:
	// frequency 5: 96
	// frequency 187: 96
}
