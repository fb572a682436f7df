package fftkernel

import (
	"fmt"
	"math/bits"
	"slices"
	"sync"

	"github.com/s4d-fast/s4d-fast/internal/vek"
)

// FFT is a plan for complex transforms of one length n = 2^k, 3·2^k or 5·2^k on split data.
//
// If n = 16·m, m-point transforms run in 16 lanes side by side, followed by 16-point transforms
// over the lanes (vek.FFTLanes). The few lengths that are not multiples of 64 are summed by
// definition. A long transform begins with passes over all data, which leave blocks that fit in the
// L1 cache. Every block then needs the tables of its own length only (docs/maths.md §9.1).
//
// Inputs of absolute value up to 2¹⁰⁰/n do not overflow. Larger ones may, although the result would
// be finite.
type FFT struct {
	n      int
	order  []int           // the frequency of each vector after the passes
	passes []vek.FFTPass   // over all data
	block  int             // length of a block; n if there is only one
	blocks [][]vek.FFTPass // of each block
	last   int             // radix of the pass that the stage over the lanes includes; 1: none
	lanes  []float32       // twiddles of the stage over the lanes of a block
	roots  []float32       // a short transform's exp(−2πi·j/n), else nil
}

// plans caches every plan, since plans of a length share their tables and there are few lengths.
var plans = struct {
	sync.Mutex
	byLength map[int]*FFT
}{byLength: map[int]*FFT{}}

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
	return cachedFFT(n), nil
}

// cachedFFT returns the plan of a length. The caller holds the lock of plans.
func cachedFFT(n int) *FFT {
	f := plans.byLength[n]
	if f == nil {
		f = newFFT(n)
		plans.byLength[n] = f
	}
	return f
}

// nearby is the length up to which both parts of an array, 32 KiB, stay in the L1 cache from one
// pass to the next.
const nearby = 1 << 12

func newFFT(n int) *FFT {
	f := &FFT{n: n, last: 1, block: n}
	if n%(vek.FFTGroup*vek.FFTLanes) != 0 {
		f.roots = make([]float32, 2*n)
		vek.FFTRoots(f.roots)
		return f
	}
	q := n / vek.FFTLanes
	if n > nearby {
		// Radix 8 would take fewer passes, but its vectors, more than 4 KiB apart, compete for the
		// same few lines of the L1 cache.
		var outer []int
		for q > nearby/vek.FFTLanes {
			q /= 4
			f.passes, outer = append(f.passes, newPass(4, q)), append(outer, 4)
		}
		inner := cachedFFT(q * vek.FFTLanes)
		f.block, f.last, f.lanes = inner.n, inner.last, inner.lanes
		first := make([]int, n/inner.n) // frequencies of the blocks
		vectorOrder(first, outer, 0, 1)
		for _, k := range first {
			block := slices.Clone(inner.blocks[0])
			block[0] = block[0].Turned(k, n)
			f.blocks = append(f.blocks, block)
			for _, v := range inner.order {
				f.order = append(f.order, k+len(first)*v)
			}
		}
		return f
	}
	all := radices(q)
	f.order = make([]int, q)
	vectorOrder(f.order, all, 0, 1)
	f.lanes = make([]float32, q*vek.FFTLaneTable)
	vek.FFTLaneTwiddles(f.lanes, f.order)
	f.blocks = [][]vek.FFTPass{nil}
	for i, radix := range all {
		// The first pass is separate, because it can skip half of the data.
		if q == radix && (radix == 2 || radix == 4 && i > 0) {
			f.last = radix
			break
		}
		q /= radix
		f.blocks[0] = append(f.blocks[0], newPass(radix, q))
	}
	return f
}

func newPass(radix, q int) vek.FFTPass {
	tw := make([]float32, 2*(radix-1)*q)
	vek.FFTTwiddles(tw, radix, q)
	return vek.NewFFTPass(radix, q, tw)
}

// radices factors m = 2^k, 3·2^k or 5·2^k. Radix 4 or 8 comes first, because such a pass can skip
// an upper half that is zero or not needed. The odd factor comes second. A last pass of radix 2 or
// 4 costs least, because the stage over the lanes includes it. If k is odd, radix 8 is needed once,
// or radix 2 if k is at most 3.
func radices(m int) []int {
	var r []int
	k := bits.TrailingZeros(uint(m))
	odd := m >> k
	for m > 1 {
		radix := 2
		switch {
		case odd > 1 && (k <= 1 || len(r) == 1):
			radix, odd = odd, 1
		case k >= 5 && k%2 == 1:
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
	vectors := f.order
	m, rest := len(vectors), order
	for ; len(vectors) > 0; vectors, rest = vectors[vek.FFTGroup:], rest[vek.FFTGroup*vek.FFTLanes:] {
		for p := range vek.FFTLanes {
			for g, k := range vectors[:vek.FFTGroup] {
				rest[(p/4*vek.FFTGroup+g)*4+p%4] = k + m*p
			}
		}
	}
	return order
}

// Coefficients transforms n numbers in place, Z_k = Σ_j z_j exp(−2πi·jk/n). The result is in the
// plan's order.
func (f *FFT) Coefficients(re, im []float32) {
	f.check("FFT.Coefficients", re, im)
	if f.roots != nil {
		vek.DFT(re, im, f.roots)
		return
	}
	f.begin(re, im, nil, nil)
	for b := range f.blocks {
		f.forwardBlock(re, im, b, 0)
	}
}

// Sequence transforms n numbers back in place, z_j = Σ_k Z_k exp(+2πi·jk/n), from the plan's order
// to natural order. It does not divide by n.
func (f *FFT) Sequence(re, im []float32) {
	f.check("FFT.Sequence", re, im)
	if f.roots != nil {
		vek.DFT(im, re, f.roots) // exchanging the parts turns the exponent's sign
		return
	}
	for b := range f.blocks {
		f.inverseBlock(re, im, b, 0, product{})
	}
	f.end(nil, nil, re, im)
}

func (f *FFT) check(name string, re, im []float32) {
	checkLength(name, "re", len(re), f.n)
	checkLength(name, "im", len(im), f.n)
}
