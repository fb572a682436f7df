package vek_test

import (
	"math"
	"math/cmplx"
	"math/rand/v2"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/internal/vektest"
)

// cauchyCase has poles at a distance of at least 0.003 from the nodes.
type cauchyCase struct {
	a, v, q []complex128 // [modes], [modes][pairs], [pairs][nodes]
	zeta    []float64
}

func newCauchyCase(r *rand.Rand, modes, nodes int) *cauchyCase {
	c := &cauchyCase{zeta: make([]float64, nodes)}
	for range modes {
		c.a = append(c.a, complex(-math.Exp(6*r.Float64()-5.5), 8*r.NormFloat64()))
	}
	for k := range c.zeta {
		c.zeta[k] = 2 * math.Tan(math.Pi/2*float64(k)/float64(nodes))
	}
	normal := func(n int) (list []complex128) {
		for range n {
			list = append(list, complex(r.NormFloat64(), r.NormFloat64()))
		}
		return list
	}
	c.v, c.q = normal(modes*vek.CauchyPairs), normal(nodes*vek.CauchyPairs)
	return c
}

// terms and poles are the arguments of the kernels.
func (c *cauchyCase) terms() (terms, poles, by []float64) {
	for m, a := range c.a {
		terms = append(terms, real(a*cmplx.Conj(a)), -2*real(a), 4*real(a)*real(a))
		for _, v := range c.v[m*vek.CauchyPairs : (m+1)*vek.CauchyPairs] {
			terms = append(terms, 2*real(v), 2*real(v*cmplx.Conj(a)))
		}
		poles = append(poles, real(a*a), imag(a*a), real(a), imag(a))
	}
	nodes := len(c.zeta)
	by = make([]float64, 2*vek.CauchyPairs*nodes)
	for i, q := range c.q {
		row, k := i/max(nodes, 1), i%max(nodes, 1)
		by[2*row*nodes+k], by[(2*row+1)*nodes+k] = real(q), c.zeta[k]*imag(q)
	}
	return terms, poles, by
}

// A result may be off by 64 roundings of the sum of its terms' moduli, each of which is itself off
// by some roundings times |z|/|z−a|, at most 3,000.
const cauchyTolerance = 64 * 3000 * 0x1p-53

func TestCauchySums(t *testing.T) {
	eachCall(t, func(t *testing.T, c *kernelCall) {
		for i, nodes := range []int{0, 16, 32, 48, 2064, 16} {
			c.Again()
			newCauchyCase(generator(uint64(i)), []int{3, 1, 32, 2, 17, 0}[i], nodes).checkSums(t, c)
		}
	})
}

func (x *cauchyCase) checkSums(t *testing.T, c *kernelCall) {
	t.Helper()
	terms, _, _ := x.terms()
	nodes := len(x.zeta)
	got, zeta, in := c.OutDoubles(2*vek.CauchyPairs*nodes), c.InDoubles(x.zeta), c.InDoubles(terms)
	if !c.Do(func() { vek.CauchySums(got, zeta, in) }) {
		t.FailNow()
	}
	for k, zeta := range x.zeta {
		z := complex(0, zeta)
		for i := range vek.CauchyPairs {
			var want complex128
			size := 0.0
			for m, a := range x.a {
				v := x.v[m*vek.CauchyPairs+i]
				one, other := v/(z-a), cmplx.Conj(v)/(z-cmplx.Conj(a))
				want += one + other
				size += cmplx.Abs(one) + cmplx.Abs(other)
			}
			sum := complex(got[2*i*nodes+k], got[(2*i+1)*nodes+k])
			if !(cmplx.Abs(sum-want) <= cauchyTolerance*size) {
				t.Fatalf("%d modes, node %d of %d, pair %d: %v, expected %v ± %.2g", len(x.a), k, nodes, i, sum, want, cauchyTolerance*size)
			}
		}
	}
}

func TestCauchyGrad(t *testing.T) {
	eachCall(t, func(t *testing.T, c *kernelCall) {
		for i, nodes := range []int{0, 16, 32, 48, 2064, 16} {
			c.Again()
			newCauchyCase(generator(uint64(i)), []int{3, 1, 32, 2, 17, 0}[i], nodes).checkGrad(t, c)
		}
	})
}

func (x *cauchyCase) checkGrad(t *testing.T, c *kernelCall) {
	t.Helper()
	_, poles, by := x.terms()
	nodes, before := len(x.zeta), make([]float64, len(x.a)*vek.CauchyGrads)
	for i := range before {
		before[i] = math.Sin(float64(i))
	}
	got, q, zeta, in := c.InOutDoubles(before), c.InDoubles(by), c.InDoubles(x.zeta), c.InDoubles(poles)
	if !c.Do(func() { vek.CauchyGrad(got, q, zeta, in) }) {
		t.FailNow()
	}
	for m, a := range x.a {
		for i := range vek.CauchyPairs {
			var one, two complex128
			size1, size2 := 1.0, 1.0
			for k, zeta := range x.zeta {
				q, f, g := x.q[i*nodes+k], 1/(complex(0, zeta)-a), 1/(complex(0, zeta)-cmplx.Conj(a))
				one += q*f + cmplx.Conj(q*g)
				two += q*f*f + cmplx.Conj(q*g*g)
				size1 += cmplx.Abs(q) * (cmplx.Abs(f) + cmplx.Abs(g))
				size2 += cmplx.Abs(q) * (cmplx.Abs(f*f) + cmplx.Abs(g*g))
			}
			at := m*vek.CauchyGrads + 4*i
			t1 := complex(got[at]-before[at], got[at+1]-before[at+1])
			t2 := complex(got[at+2]-before[at+2], got[at+3]-before[at+3])
			if !(cmplx.Abs(-2*t1-one) <= cauchyTolerance*size1) || !(cmplx.Abs(4*t2-two) <= cauchyTolerance*size2) {
				t.Fatalf("%d nodes, mode %d, pair %d: %v and %v, expected %v and %v", nodes, m, i, -2*t1, 4*t2, one, two)
			}
		}
	}
}

// A call of more (mode, node) pairs than one call of assembly takes has the same sums.
func TestCauchyRuns(t *testing.T) {
	vektest.EachLevel(t, func(t *testing.T, _ vek.Level) {
		x := newCauchyCase(rand.New(rand.NewPCG(5, 6)), 3, 1<<15+16)
		terms, poles, by := x.terms()
		sums := make([]float64, 2*vek.CauchyPairs*len(x.zeta))
		vek.CauchySums(sums, x.zeta, terms)
		last := x.zeta[1<<15:]
		part := make([]float64, 2*vek.CauchyPairs*16)
		vek.CauchySums(part, last, terms)
		for i, v := range part {
			if got := sums[i/16*len(x.zeta)+1<<15+i%16]; got != v {
				t.Fatalf("sum %d: %v, expected %v", i, got, v)
			}
		}
		whole, parts := make([]float64, 3*vek.CauchyGrads), make([]float64, 3*vek.CauchyGrads)
		vek.CauchyGrad(whole, by, x.zeta, poles)
		rows := func(lo, hi int) (list []float64) {
			for i := range 2 * vek.CauchyPairs {
				list = append(list, by[i*len(x.zeta)+lo:i*len(x.zeta)+hi]...)
			}
			return list
		}
		vek.CauchyGrad(parts, rows(0, 1<<15), x.zeta[:1<<15], poles)
		vek.CauchyGrad(parts, rows(1<<15, 1<<15+16), last, poles)
		for i, v := range parts {
			if whole[i] != v {
				t.Fatalf("gradient %d: %v, expected %v", i, whole[i], v)
			}
		}
	})
}

func BenchmarkCauchySums(b *testing.B) { benchmarkCauchy(b, false) }

func BenchmarkCauchyGrad(b *testing.B) { benchmarkCauchy(b, true) }

func benchmarkCauchy(b *testing.B, grad bool) {
	x := newCauchyCase(rand.New(rand.NewPCG(7, 8)), 32, 512)
	terms, poles, by := x.terms()
	sums, grads := make([]float64, 2*vek.CauchyPairs*512), make([]float64, 32*vek.CauchyGrads)
	benchElements(b, "modes=32/n=512", 32*512, func() {
		if grad {
			vek.CauchyGrad(grads, by, x.zeta, poles)
		} else {
			vek.CauchySums(sums, x.zeta, terms)
		}
	})
}
