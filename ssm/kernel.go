package ssm

import "math/cmplx"

// Kernel returns the convolution kernels by their definition,
//
//	K[l] = 2·Re Σ_n W_n λ̄_n^l,  l in [0, length),
//
// as [directions·H][length]. For growing modes of DSS, l − (Taps − 1) replaces l. The rows of the
// second direction read the future (docs/maths.md §1.5). D is not included. λ̄^l is λ̄^{64i}·λ̄^j,
// both factors exponentials in float64, so the error does not grow as in a recurrence.
func (d *Discrete) Kernel(length int) [][]float64 {
	k := make([][]float64, d.Directions*d.H)
	for row := range k {
		k[row] = make([]float64, length)
		for n := range d.M {
			i, first := row%d.H*d.M+n, 0
			if d.Growing(i) {
				first = d.Taps - 1
			}
			d.addMode(k[row], d.W[row*d.M+n], d.LogLambda[i], first)
		}
	}
	return k
}

// addMode adds 2·Re w·exp((l − first)·logLambda) to k[l].
func (d *Discrete) addMode(k []float64, w, logLambda complex128, first int) {
	const block = 64
	var powers [block]complex128
	for j := range powers {
		powers[j] = cmplx.Exp(complex(float64(j), 0) * logLambda)
	}
	for start := 0; start < len(k); start += block {
		anchor := 2 * w * cmplx.Exp(complex(float64(start-first), 0)*logLambda)
		for j, p := range powers[:min(block, len(k)-start)] {
			k[start+j] += real(anchor)*real(p) - imag(anchor)*imag(p)
		}
	}
}
