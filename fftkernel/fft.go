package fftkernel

import (
	"fmt"
	"math/bits"

	"github.com/s4d-fast/s4d-fast/internal/vek"
)

// FFT is a plan for complex transforms of one length n = 2^k, 3·2^k or 5·2^k on split data.
type FFT struct {
	n      int
	passes []pass
}

// pass is one stage: a radix-point transform over elements q apart.
type pass struct {
	radix, q int
	tw       []float32
}

// NewFFT plans transforms of length n; other lengths than 2^k, 3·2^k and 5·2^k are an error.
func NewFFT(n int) (*FFT, error) {
	if n < 1 {
		return nil, fmt.Errorf("fftkernel: FFT of length %d: want at least 1", n)
	}
	k := bits.TrailingZeros(uint(n))
	odd := n >> k
	if odd != 1 && odd != 3 && odd != 5 {
		return nil, fmt.Errorf("fftkernel: FFT of length %d: want 2^k, 3·2^k or 5·2^k", n)
	}
	f := &FFT{n: n}
	q := n
	add := func(radix int) {
		q /= radix
		p := pass{radix: radix, q: q}
		if q > 1 {
			p.tw = make([]float32, 2*(radix-1)*q)
			vek.FFTTwiddles(p.tw, radix, q)
		}
		f.passes = append(f.passes, p)
	}
	if odd > 1 {
		add(odd)
	}
	if k%2 == 1 {
		add(2)
	}
	for range k / 2 {
		add(4)
	}
	return f, nil
}

// Len returns n.
func (f *FFT) Len() int { return f.n }

// Forward transforms in place, Z_k = Σ_j z_j exp(−2πi·jk/n); the result stands in the plan's order.
func (f *FFT) Forward(re, im []float32) { f.forward(re, im, false) }

// Inverse transforms in place, z_j = Σ_k Z_k exp(+2πi·jk/n), from the plan's order to the natural one. It
// does not divide by n.
func (f *FFT) Inverse(re, im []float32) { f.inverse(re, im, false) }

// Order returns, for each position of a transformed array, the frequency k that stands there.
func (f *FFT) Order() []int {
	order := make([]int, f.n)
	f.fillOrder(order, 0, 0, 1)
	return order
}

// fillOrder: output k of a pass over a block holds the frequencies that are k modulo the radix.
func (f *FFT) fillOrder(order []int, level, frequency, step int) {
	if level == len(f.passes) {
		order[0] = frequency
		return
	}
	p := f.passes[level]
	for k := range p.radix {
		f.fillOrder(order[k*p.q:(k+1)*p.q], level+1, frequency+k*step, step*p.radix)
	}
}

// halves reports whether the first pass can skip an empty upper half, and its inverse an unwanted one.
func (f *FFT) halves() bool { return len(f.passes) > 0 && f.passes[0].radix%2 == 0 }

// forward; half says that the upper half of the input is zero (and is not read).
func (f *FFT) forward(re, im []float32, half bool) {
	re, im = re[:f.n], im[:f.n]
	for i := range f.passes {
		p := &f.passes[i]
		if i == 0 && half {
			vek.FFTForwardHalf(p.radix, re, im, p.tw, p.q)
			continue
		}
		vek.FFTForward(p.radix, re, im, p.tw, p.q)
	}
}

// inverse; half says that only the lower half of the result is wanted.
func (f *FFT) inverse(re, im []float32, half bool) {
	re, im = re[:f.n], im[:f.n]
	for i := len(f.passes) - 1; i >= 0; i-- {
		p := &f.passes[i]
		if i == 0 && half {
			vek.FFTInverseHalf(p.radix, re, im, p.tw, p.q)
			continue
		}
		vek.FFTInverse(p.radix, re, im, p.tw, p.q)
	}
}

// goodLength returns the cheapest planned length of at least n.
func goodLength(n int) int {
	best := 1 << bits.Len(uint(max(n, 1)-1))
	for _, odd := range []int{3, 5} {
		m := odd
		for m < n {
			m *= 2
		}
		// A radix-3 or radix-5 pass costs more than the radix-4 passes beside it: take it where it saves a tenth.
		if m*10 < best*9 {
			best = m
		}
	}
	return best
}
