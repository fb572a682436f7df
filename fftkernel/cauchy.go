package fftkernel

import (
	"fmt"
	"math"
	"unsafe"

	"github.com/s4d-fast/s4d-fast/internal/vek"
)

// RankOne is one channel of S4 with A = diag(Λ) − P·P*, discretised by the bilinear rule. All
// slices have one element per stored mode.
type RankOne struct {
	Step         float64 // Δ
	Lambda, P, B []complex128
	C            []complex128 // C̃ = (I − Ā^nodes)ᵀ·C
}

// Cauchy is a plan for the kernels of S4 (arXiv 2111.00396, algorithm 1). A kernel has as many taps
// as the plan has nodes. Its transform is evaluated in float64 as sums over the poles, one node
// after the other, and is rounded to float32 once. A shorter kernel consists of the first taps
// (docs/maths.md §17.2).
//
// Multiples of 64 that are 2^k, 3·2^k or 5·2^k are transformed in float32. Other lengths are
// transformed in float64, which is slower.
type Cauchy struct {
	modes, nodes int
	zeta         []float64 // ζ_k for 2k < nodes, padded with zeros
	fft          *FFT      // nil for other lengths
	position     []int32   // of frequency k ≤ nodes/2 in the transform's order
	slow         *slowTransforms
}

// NewCauchy returns a plan for the given numbers of complex modes and of nodes, both at least 1. It
// panics if S4D_LEVEL names a level that is not available.
func NewCauchy(modes, nodes int) *Cauchy {
	if err := vek.StartupErr(); err != nil {
		panic(fmt.Errorf("fftkernel: %w", err))
	}
	if modes < 1 || nodes < 1 {
		panic(fmt.Sprintf("fftkernel: NewCauchy(%d, %d): expected at least 1", modes, nodes))
	}
	count := (nodes + 1) / 2
	c := &Cauchy{modes: modes, nodes: nodes, zeta: make([]float64, (count+vek.CauchyNodes-1)/vek.CauchyNodes*vek.CauchyNodes)}
	for k := range count {
		c.zeta[k] = 2 * math.Tan(math.Pi*float64(k)/float64(nodes))
	}
	fft, err := NewFFT(nodes)
	if err != nil || fft.roots != nil {
		c.slow = &slowTransforms{n: nodes}
		return c
	}
	c.fft, c.position = fft, make([]int32, nodes/2+1)
	for i, k := range fft.Order() {
		if k <= nodes/2 {
			c.position[k] = int32(i)
		}
	}
	return c
}

// Sizes of the scratch memory per node and mode.
const (
	cauchyRows     = 2 * vek.CauchyPairs
	cauchyPerMode  = vek.CauchyTerms + vek.CauchyPoles + vek.CauchyGrads
	cauchyPerNode  = 2 * cauchyRows
	floatsInDouble = 2
)

// ScratchLen returns the number of floats of scratch that Kernel and Grad need.
func (c *Cauchy) ScratchLen() int {
	return 2*c.nodes + 1 + floatsInDouble*(cauchyPerNode*len(c.zeta)+cauchyPerMode*c.modes)
}

// cauchyWork holds the parts of the scratch memory.
type cauchyWork struct {
	re, im              []float32 // [nodes] of a transform
	sums, by            []float64 // [2·CauchyPairs][len(zeta)]
	terms, poles, grads []float64 // per mode
}

func (c *Cauchy) divide(scratch []float32) cauchyWork {
	w := cauchyWork{re: scratch[:c.nodes:c.nodes], im: scratch[c.nodes : 2*c.nodes : 2*c.nodes]}
	scratch = scratch[2*c.nodes:]
	if uintptr(unsafe.Pointer(&scratch[0]))%8 != 0 {
		scratch = scratch[1:]
	}
	doubles := unsafe.Slice((*float64)(unsafe.Pointer(&scratch[0])), len(scratch)/floatsInDouble)
	take := func(n int) []float64 {
		part := doubles[:n]
		doubles = doubles[n:]
		return part
	}
	w.sums, w.by = take(cauchyRows*len(c.zeta)), take(cauchyRows*len(c.zeta))
	w.terms, w.poles, w.grads = take(vek.CauchyTerms*c.modes), take(vek.CauchyPoles*c.modes), take(vek.CauchyGrads*c.modes)
	return w
}

func (c *Cauchy) check(name string, taps int, s *RankOne, scratch []float32) {
	checkTaps(name, taps, c.nodes)
	checkLength(name, "Λ", len(s.Lambda), c.modes)
	checkLength(name, "P", len(s.P), c.modes)
	checkLength(name, "B", len(s.B), c.modes)
	checkLength(name, "C̃", len(s.C), c.modes)
	checkScratch(name, len(scratch), c.ScratchLen())
}

// Kernel writes the first len(k) ≤ nodes taps of the kernel to k.
func (c *Cauchy) Kernel(k []float32, s *RankOne, scratch []float32) {
	c.check("Cauchy.Kernel", len(k), s, scratch)
	w := c.divide(scratch)
	c.sum(w, s)
	scale := 1 / float64(c.nodes)
	if c.slow != nil {
		c.slow.inverse(k, func(i int) complex128 {
			v := c.transform(w, s, i)
			return complex(scale*real(v), scale*imag(v))
		})
		return
	}
	// Re Σ_k w_k·K̂_k·exp(2πikl/n) with w = 2 for the frequencies that have a conjugate.
	clear(w.re)
	clear(w.im)
	for i, at := range c.position {
		v, f := c.transform(w, s, i), scale*c.weight(i)
		w.re[at], w.im[at] = float32(f*real(v)), float32(f*imag(v))
	}
	c.fft.Sequence(w.re, w.im)
	copy(k, w.re)
}

// weight returns 2 if frequency k also stands for −k, otherwise 1.
func (c *Cauchy) weight(k int) float64 {
	if k == 0 || 2*k == c.nodes {
		return 1
	}
	return 2
}

// sum computes the sums over the modes at the nodes.
func (c *Cauchy) sum(w cauchyWork, s *RankOne) {
	for m, lambda := range s.Lambda {
		a := complex(s.Step, 0) * lambda
		t := w.terms[m*vek.CauchyTerms : (m+1)*vek.CauchyTerms]
		t[0], t[1], t[2] = real(a)*real(a)+imag(a)*imag(a), -2*real(a), 4*real(a)*real(a)
		for i, v := range s.products(m) {
			t[3+2*i] = 2 * s.Step * real(v)
			t[4+2*i] = 2 * s.Step * (real(v)*real(a) + imag(v)*imag(a))
		}
		copy(w.poles[m*vek.CauchyPoles:], []float64{real(a * a), imag(a * a), real(a), imag(a)})
	}
	vek.CauchySums(w.sums, c.zeta, w.terms)
}

// products returns BC̃, BP̄, PC̃ and PP̄ of a mode.
func (s *RankOne) products(m int) [vek.CauchyPairs]complex128 {
	b, p, v := s.B[m], s.P[m], s.C[m]
	conj := complex(real(p), -imag(p))
	return [vek.CauchyPairs]complex128{b * v, b * conj, p * v, p * conj}
}

// node returns sum i at node k.
func (w *cauchyWork) node(i, k int) complex128 {
	n := len(w.sums) / cauchyRows
	return complex(w.sums[2*i*n+k], w.sums[(2*i+1)*n+k])
}

// transform returns K̂_k = 2/(1+ω)·(r_BC̃ − r_BP̄·r_PC̃/(1 + r_PP̄)), and its limit at ω = −1.
func (c *Cauchy) transform(w cauchyWork, s *RankOne, k int) complex128 {
	if 2*k == c.nodes {
		limit := 0.0
		for m, b := range s.B {
			limit += real(b * s.C[m])
		}
		return complex(s.Step*limit, 0)
	}
	v := w.node(0, k) - w.node(1, k)*w.node(2, k)*inverse(1+w.node(3, k))
	return complex(1, c.zeta[k]/2) * v
}

// inverse returns 1/z.
func inverse(z complex128) complex128 {
	r := 1 / (real(z)*real(z) + imag(z)*imag(z))
	return complex(real(z)*r, -imag(z)*r)
}

// Grad writes S1 and S2 of docs/maths.md §17.2, [4][modes] for the products BC̃, BP̄, PC̃ and PP̄,
// from dk = ∂loss/∂K with len(dk) ≤ nodes. The gradients of later taps are 0.
func (c *Cauchy) Grad(byPair, byPole []complex128, dk []float32, s *RankOne, scratch []float32) {
	c.check("Cauchy.Grad", len(dk), s, scratch)
	checkLength("Cauchy.Grad", "byPair", len(byPair), vek.CauchyPairs*c.modes)
	checkLength("Cauchy.Grad", "byPole", len(byPole), vek.CauchyPairs*c.modes)
	w := c.divide(scratch)
	c.sum(w, s)
	clear(w.by)
	last := 0.0
	c.spectrum(w, dk, func(k int, g complex128) {
		f := c.weight(k) / float64(c.nodes)
		q := complex(f*real(g), -f*imag(g))
		if 2*k == c.nodes {
			last = real(q)
			return
		}
		q *= complex(1, c.zeta[k]/2)
		kappa, bp, pc := inverse(1+w.node(3, k)), w.node(1, k), w.node(2, k)
		by := [vek.CauchyPairs]complex128{q, -q * kappa * pc, -q * kappa * bp, q * kappa * kappa * bp * pc}
		for i, v := range by {
			w.by[2*i*len(c.zeta)+k], w.by[(2*i+1)*len(c.zeta)+k] = real(v), c.zeta[k]*imag(v)
		}
	})
	clear(w.grads)
	vek.CauchyGrad(w.grads, w.by, c.zeta, w.poles)
	for m := range c.modes {
		for i := range vek.CauchyPairs {
			t := w.grads[m*vek.CauchyGrads+4*i:]
			byPair[i*c.modes+m] = complex(-2*t[0], -2*t[1])
			byPole[i*c.modes+m] = complex(4*t[2], 4*t[3])
		}
		byPair[m] += complex(last, 0)
	}
}

// spectrum calls each with the transform of x at the frequencies k ≤ nodes/2.
func (c *Cauchy) spectrum(w cauchyWork, x []float32, each func(k int, g complex128)) {
	if c.slow != nil {
		c.slow.forward(x, each)
		return
	}
	clear(w.im)
	clear(w.re[copy(w.re, x):])
	c.fft.Coefficients(w.re, w.im)
	for k, at := range c.position {
		each(k, complex(float64(w.re[at]), float64(w.im[at])))
	}
}
