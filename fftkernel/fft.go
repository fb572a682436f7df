package fftkernel

import (
	"fmt"
	"math/bits"
	"sync"

	"github.com/s4d-fast/s4d-fast/internal/vek"
)

// FFT is a plan for complex transforms of one length n = 2^k, 3·2^k or 5·2^k on split data.
//
// If n = 16·m, m-point transforms run in 16 lanes side by side, followed by 16-point transforms
// over the lanes (vek.FFTLanes). The few other lengths are summed by definition.
//
// Inputs of absolute value up to 2¹⁰⁰/n do not overflow. At levels avx2 and avx512 larger ones may,
// although the result would be finite (docs/maths.md §9.1).
type FFT struct {
	n       int
	radices []int         // of the m-point transforms
	passes  []vek.FFTPass // all but the one that the stage over the lanes includes
	last    int           // radix of the pass that the stage over the lanes includes; 1: none
	lanes   []float32     // twiddles of the stage over the lanes
	roots   []float32     // a short transform's exp(−2πi·j/n), else nil
}

// plans caches every plan, since plans of a length share their tables and there are few lengths.
var plans struct {
	sync.Mutex
	byLength map[int]*FFT
}

// NewFFT plans transforms of length n, which must be 2^k, 3·2^k or 5·2^k. Plans of the same length
// share their tables. An S4D_LEVEL that is not available is an error, too.
func NewFFT(n int) (*FFT, error) {
	if err := vek.StartupErr(); err != nil {
		return nil, fmt.Errorf("fftkernel: %w", err)
	}
	if n < 1 {
		return nil, fmt.Errorf("fftkernel: FFT of length %d: expected at least 1", n)
	}
	k := bits.TrailingZeros(uint(n))
	odd := n >> k
	if odd != 1 && odd != 3 && odd != 5 {
		return nil, fmt.Errorf("fftkernel: FFT of length %d: expected 2^k, 3·2^k or 5·2^k", n)
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
	f := &FFT{n: n, last: 1}
	if n%vek.FFTLanes != 0 {
		f.roots = make([]float32, 2*n)
		vek.FFTRoots(f.roots)
		return f
	}
	q := n / vek.FFTLanes
	f.radices = radices(q)
	for i, radix := range f.radices {
		// The first pass is separate, because it can skip half of the data.
		if q == radix && (radix == 2 || radix == 4 && i > 0) {
			f.last = radix
			break
		}
		q /= radix
		tw := make([]float32, 2*(radix-1)*q)
		vek.FFTTwiddles(tw, radix, q)
		f.passes = append(f.passes, vek.NewFFTPass(radix, q, tw))
	}
	f.lanes = make([]float32, laneTable(n))
	vek.FFTLaneTwiddles(f.lanes, f.vectors())
	return f
}

// radices factors m = 2^k, 3·2^k or 5·2^k. Radix 4 or 8 comes first, because such a pass can skip
// an upper half that is zero or not needed. The odd factor comes second. A last pass of radix 2 or
// 4 costs least, because the stage over the lanes includes it. If k is odd, radix 8 is needed once,
// or radix 2 if k is at most 3. Radix 8 is delayed until its vectors are less than 4 KiB apart,
// because vectors farther apart compete for the same few lines of the L1 cache.
func radices(m int) []int {
	var r []int
	k := bits.TrailingZeros(uint(m))
	odd := m >> k
	for m > 1 {
		radix := 2
		switch {
		case odd > 1 && (k <= 1 || len(r) == 1):
			radix, odd = odd, 1
		case k >= 5 && k%2 == 1 && m < 8*64:
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

// vectors returns the frequency of each vector after the passes.
func (f *FFT) vectors() []int {
	order := make([]int, f.n/vek.FFTLanes)
	vectorOrder(order, f.radices, 0, 1)
	return order
}

// vectorOrder fills order: output k of a pass over a block holds the frequencies equal to k modulo
// the radix.
func vectorOrder(order, radices []int, frequency, step int) {
	if len(radices) == 0 {
		order[0] = frequency
		return
	}
	radix, q := radices[0], len(order)/radices[0]
	for k := range radix {
		vectorOrder(order[k*q:(k+1)*q], radices[1:], frequency+k*step, step*radix)
	}
}

// Len returns n.
func (f *FFT) Len() int { return f.n }

// Order returns, for each position of a transformed array, its frequency k. The caller owns the
// slice.
func (f *FFT) Order() []int {
	order := make([]int, f.n)
	if f.roots != nil {
		for k := range order {
			order[k] = k
		}
		return order
	}
	// Output p of the transform over a vector's lanes holds frequency k + m·p, where k is the
	// frequency of the vector. vek.FFTForward describes its position.
	vectors := f.vectors()
	m, rest := len(vectors), order
	for len(vectors) > 0 {
		t := min(len(vectors), vek.FFTGroup)
		for p := range vek.FFTLanes {
			for g, k := range vectors[:t] {
				rest[(p/4*t+g)*4+p%4] = k + m*p
			}
		}
		vectors, rest = vectors[t:], rest[t*vek.FFTLanes:]
	}
	return order
}

// Coefficients transforms n numbers in place, Z_k = Σ_j z_j exp(−2πi·jk/n). The result is in the
// plan's order.
func (f *FFT) Coefficients(re, im []float32) {
	f.check("Coefficients", re, im)
	f.forward(re, im, nil, nil)
}

// Sequence transforms n numbers back in place, z_j = Σ_k Z_k exp(+2πi·jk/n), from the plan's order
// to natural order. It does not divide by n.
func (f *FFT) Sequence(re, im []float32) {
	f.check("Sequence", re, im)
	f.inverse(nil, nil, re, im, product{})
}

func (f *FFT) check(name string, re, im []float32) {
	if len(re) != f.n || len(im) != f.n {
		panic(fmt.Sprintf("fftkernel: FFT.%s: %d and %d floats: expected %d each", name, len(re), len(im), f.n))
	}
}

// halves reports whether the first pass can skip an upper half that is zero, and its inverse one
// that is not needed.
func (f *FFT) halves() bool {
	return len(f.passes) > 0 && f.passes[0].Radix() >= 4 && f.passes[0].Radix()%2 == 0
}

// forward transforms re and im in place. If x is given, it transforms x, which has half the length
// and is followed by zeros, into re and im. x may be their lower half.
func (f *FFT) forward(re, im, xRe, xIm []float32) {
	if f.roots != nil {
		vek.DFT(re, im, f.roots)
		return
	}
	if xRe != nil {
		vek.FFTForwardHalf(f.passes[0], re, im, xRe, xIm)
		f.forwardBlocks(1, re, im, f.lanes, f.passes[0].Q())
		return
	}
	f.forwardBlocks(0, re, im, f.lanes, f.n/vek.FFTLanes)
}

// nearby is the length up to which both parts of an array, 32 KiB, stay in the L1 cache from one
// pass to the next.
const nearby = 1 << 12

// forwardBlocks runs the passes from index done on over every block of m vectors, then the stage
// over the lanes. If a block does not fit in the cache, a pass first splits it into parts. Each
// part is finished before the next one begins.
func (f *FFT) forwardBlocks(done int, re, im, lanes []float32, m int) {
	if len(re) <= nearby {
		vek.FFTForward(re, im, f.passes[done:], f.last, lanes)
		return
	}
	block := m * vek.FFTLanes
	if block == len(re) {
		vek.FFTForward(re, im, f.passes[done:done+1], 0, nil)
		done, m = done+1, f.passes[done].Q()
		block = m * vek.FFTLanes
	}
	per := max(block, nearby/block*block) // whole blocks that fit
	for at := 0; at < len(re); at += per {
		end := min(at+per, len(re))
		f.forwardBlocks(done, re[at:end], im[at:end], lanes[laneTable(at):laneTable(end)], m)
	}
}

// laneTable returns the length of the table of the stage over the lanes for n numbers.
func laneTable(n int) int { return n / vek.FFTLanes * vek.FFTLaneTable }

// product is a spectrum by which, or by whose conjugate, the input of an inverse transform is
// multiplied. The zero value multiplies by nothing.
type product struct {
	re, im []float32
	how    vek.Factor
}

func (p product) part(lo, hi int) product {
	if p.re == nil {
		return p
	}
	return product{p.re[lo:hi], p.im[lo:hi], p.how}
}

// inverse transforms re and im in place, after the product. If y is given, only the lower half of
// the result is computed, into y, and re and im are overwritten.
func (f *FFT) inverse(yRe, yIm, re, im []float32, k product) {
	if f.roots != nil {
		if k.re != nil && k.how == vek.Conjugated {
			vek.CMulConj(re, im, re, im, k.re, k.im)
		} else if k.re != nil {
			vek.CMul(re, im, re, im, k.re, k.im)
		}
		vek.DFT(im, re, f.roots) // exchanging the parts turns the exponent's sign
		return
	}
	if yRe != nil {
		f.inverseBlocks(1, re, im, f.lanes, f.passes[0].Q(), k)
		vek.FFTInverseHalf(f.passes[0], yRe, yIm, re, im)
		return
	}
	f.inverseBlocks(0, re, im, f.lanes, f.n/vek.FFTLanes, k)
}

// inverseBlocks is the inverse of forwardBlocks, with the same blocks.
func (f *FFT) inverseBlocks(done int, re, im, lanes []float32, m int, k product) {
	if len(re) <= nearby {
		vek.FFTInverse(re, im, k.re, k.im, k.how, f.passes[done:], f.last, lanes)
		return
	}
	block := m * vek.FFTLanes
	whole := block == len(re)
	if whole {
		done, m = done+1, f.passes[done].Q()
		block = m * vek.FFTLanes
	}
	per := max(block, nearby/block*block)
	for at := 0; at < len(re); at += per {
		end := min(at+per, len(re))
		f.inverseBlocks(done, re[at:end], im[at:end], lanes[laneTable(at):laneTable(end)], m, k.part(at, end))
	}
	if whole {
		vek.FFTInverse(re, im, nil, nil, vek.AsIs, f.passes[done-1:done], 0, nil)
	}
}
