package fftkernel

import (
	"fmt"
	"math/bits"
	"sync"

	"github.com/s4d-fast/s4d-fast/internal/vek"
)

// FFT is a plan for complex transforms of one length n = 2^k, 3·2^k or 5·2^k on split data.
//
// Where 16 divides n = 16·m, m-point transforms run in 16 lanes side by side, then 16-point transforms over the
// lanes (vek.FFTLanes); the few shorter lengths are summed by definition.
type FFT struct {
	n      int
	passes []pass    // of the m-point transforms
	lanes  []float32 // twiddles of the stage over the lanes
	roots  []float32 // a short transform's exp(−2πi·j/n), else nil
	order  []int
}

// pass is one stage of the m-point transforms: radix-point transforms of the vectors q apart.
type pass struct {
	radix, q int
	tw       []float32
}

// plans holds every plan made, since their tables are worth sharing; there are few lengths.
var plans struct {
	sync.Mutex
	byLength map[int]*FFT
}

// NewFFT plans transforms of length n; other lengths than 2^k, 3·2^k and 5·2^k are an error. Plans of the same
// length share their tables.
func NewFFT(n int) (*FFT, error) {
	if n < 1 {
		return nil, fmt.Errorf("fftkernel: FFT of length %d: want at least 1", n)
	}
	k := bits.TrailingZeros(uint(n))
	odd := n >> k
	if odd != 1 && odd != 3 && odd != 5 {
		return nil, fmt.Errorf("fftkernel: FFT of length %d: want 2^k, 3·2^k or 5·2^k", n)
	}
	plans.Lock()
	defer plans.Unlock()
	f := plans.byLength[n]
	if f == nil {
		f = newFFT(n)
		if plans.byLength == nil {
			plans.byLength = map[int]*FFT{}
		}
		plans.byLength[n] = f
	}
	return f, nil
}

func newFFT(n int) *FFT {
	f := &FFT{n: n, order: make([]int, n)}
	if n%vek.FFTLanes != 0 {
		f.roots = make([]float32, 2*n)
		vek.FFTRoots(f.roots)
		for k := range f.order {
			f.order[k] = k
		}
		return f
	}
	q := n / vek.FFTLanes
	vectors := make([]int, q) // the frequency of each vector after the passes
	for _, radix := range radices(q) {
		q /= radix
		p := pass{radix: radix, q: q, tw: make([]float32, 2*(radix-1)*q)}
		vek.FFTTwiddles(p.tw, radix, q)
		f.passes = append(f.passes, p)
	}
	vectorOrder(vectors, f.passes, 0, 1)
	f.lanes = make([]float32, 2*n)
	vek.FFTLaneTwiddles(f.lanes, vectors)
	f.fillOrder(vectors)
	return f
}

// radices factors m = 2^k, 3·2^k or 5·2^k. Radix 4 or 8 comes first, where half-empty data save work, and the odd
// factor next. Radix 8, needed once where k is odd, waits until its vectors stand less than 4 KiB apart: farther
// ones would compete for the same few lines of the first cache.
func radices(m int) []int {
	var r []int
	k := bits.TrailingZeros(uint(m))
	odd := m >> k
	for m > 1 {
		radix := 2
		switch {
		case odd > 1 && (k <= 1 || len(r) == 1):
			radix, odd = odd, 1
		case k >= 3 && k%2 == 1 && m < 8*64:
			radix = 8
		case k >= 2:
			radix = 4
		}
		r = append(r, radix)
		m /= radix
		k = bits.TrailingZeros(uint(m))
	}
	return r
}

// vectorOrder: output k of a pass over a block holds the frequencies that are k modulo the radix.
func vectorOrder(order []int, passes []pass, frequency, step int) {
	if len(passes) == 0 {
		order[0] = frequency
		return
	}
	p := passes[0]
	for k := range p.radix {
		vectorOrder(order[k*p.q:(k+1)*p.q], passes[1:], frequency+k*step, step*p.radix)
	}
}

// fillOrder: output p of the transform over the lanes holds frequency k + m·p, k the vector's, and stands where
// vek.FFTForwardLanes leaves it.
func (f *FFT) fillOrder(vectors []int) {
	m, order := len(vectors), f.order
	for len(vectors) > 0 {
		t := min(len(vectors), vek.FFTLanes)
		for p := range vek.FFTLanes {
			for g, k := range vectors[:t] {
				order[p*t+g] = k + m*p
			}
		}
		vectors, order = vectors[t:], order[t*vek.FFTLanes:]
	}
}

// Len returns n.
func (f *FFT) Len() int { return f.n }

// Order returns, for each position of a transformed array, the frequency k that stands there. It is not to be
// changed.
func (f *FFT) Order() []int { return f.order }

// Forward transforms in place, Z_k = Σ_j z_j exp(−2πi·jk/n); the result stands in the plan's order.
func (f *FFT) Forward(re, im []float32) { f.forward(re, im, false) }

// Inverse transforms in place, z_j = Σ_k Z_k exp(+2πi·jk/n), from the plan's order to the natural one. It
// does not divide by n.
func (f *FFT) Inverse(re, im []float32) { f.inverse(re, im, false) }

// halves reports whether the first pass can skip an empty upper half, and its inverse an unwanted one.
func (f *FFT) halves() bool {
	return len(f.passes) > 0 && f.passes[0].radix >= 4 && f.passes[0].radix%2 == 0
}

// forward; half says that the upper half of the input is zero (and is not read).
func (f *FFT) forward(re, im []float32, half bool) {
	re, im = re[:f.n], im[:f.n]
	if f.roots != nil {
		vek.DFT(re, im, f.roots)
		return
	}
	for i := range f.passes {
		p := &f.passes[i]
		if i == 0 && half {
			vek.FFTForwardHalf(p.radix, re, im, re[:f.n/2], im[:f.n/2], p.tw, p.q)
			continue
		}
		vek.FFTForward(p.radix, re, im, p.tw, p.q)
	}
	vek.FFTForwardLanes(re, im, f.lanes)
}

// inverse; half says that only the lower half of the result is wanted.
func (f *FFT) inverse(re, im []float32, half bool) {
	re, im = re[:f.n], im[:f.n]
	if f.roots != nil {
		vek.DFT(im, re, f.roots) // exchanging the parts turns the exponent's sign
		return
	}
	vek.FFTInverseLanes(re, im, f.lanes)
	for i := len(f.passes) - 1; i >= 0; i-- {
		p := &f.passes[i]
		if i == 0 && half {
			vek.FFTInverseHalf(p.radix, re[:f.n/2], im[:f.n/2], re, im, p.tw, p.q)
			continue
		}
		vek.FFTInverse(p.radix, re, im, p.tw, p.q)
	}
}
