package vek_test

import (
	"math"
	"math/cmplx"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/internal/vektest"
)

// systems are the constants and states of channels.
type systems struct {
	vek.SSM
	hRe, hIm []float32
}

// newSystems draws channels of m modes, |λ| between 0.4 and 1.
func newSystems(r *rand.Rand, channels, m int) systems {
	n := channels * m
	s := systems{hRe: normals(r, n), hIm: normals(r, n), SSM: vek.SSM{CRe: normals(r, n), CIm: normals(r, n), D: normals(r, channels)}}
	for range n {
		lam := cmplx.Exp(complex(-0.9*r.Float64()*r.Float64(), 6*r.Float64()))
		s.LambdaRe, s.LambdaIm = append(s.LambdaRe, float32(real(lam))), append(s.LambdaIm, float32(imag(lam)))
	}
	return s
}

// clone returns systems with a state of their own.
func (s systems) clone() systems {
	s.hRe, s.hIm = slices.Clone(s.hRe), slices.Clone(s.hIm)
	return s
}

// span views x [rows][n] from column at to end.
func span(x []float32, rows, n, at, end int) vek.Matrix {
	m := vek.Matrix{Rows: rows, Cols: end - at, Stride: n}
	if rows > 0 {
		m.Data = x[at : (rows-1)*n+end]
	}
	return m
}

// run processes columns at … end of x and y, [channels][n].
func (s systems) run(y, x []float32, n, at, end int) {
	h := len(s.D)
	vek.SSMBlock(span(y, h, n, at, end), span(x, h, n, at, end), s.hRe, s.hIm, &s.SSM, make([]float32, vek.SSMScratch))
}

// channel is one of the systems.
type channel struct {
	hRe, hIm, lamRe, lamIm, cRe, cIm []float32
	d                                float32
}

func (s systems) channel(h int) channel {
	m := len(s.hRe) / len(s.D)
	i, j := h*m, (h+1)*m
	return channel{s.hRe[i:j], s.hIm[i:j], s.LambdaRe[i:j], s.LambdaIm[i:j], s.CRe[i:j], s.CIm[i:j], s.D[h]}
}

// truth runs the recursion in complex128. size bounds the accumulated terms of a value.
func (c channel) truth(x []float32) (y []near, re, im []near) {
	m := len(c.hRe)
	h, size := make([]complex128, m), make([]float64, m)
	for n := range h {
		h[n] = complex(float64(c.hRe[n]), float64(c.hIm[n]))
		size[n] = cmplx.Abs(h[n])
	}
	for _, u := range x {
		out := near{n: m}
		out.add(float64(c.d) * float64(u))
		for n := range h {
			lam := complex(float64(c.lamRe[n]), float64(c.lamIm[n]))
			h[n] = lam*h[n] + complex(float64(u), 0)
			// Every step adds four roundings of |h|; the bound of a sum counts them all.
			size[n] = size[n]*cmplx.Abs(lam) + math.Abs(float64(u)) + cmplx.Abs(h[n])/2
			w := complex(float64(c.cRe[n]), float64(c.cIm[n]))
			out.value += 2 * real(w*h[n])
			out.size += 2 * cmplx.Abs(w) * size[n]
		}
		y = append(y, out)
	}
	for n := range h {
		re = append(re, near{real(h[n]), size[n], 1})
		im = append(im, near{imag(h[n]), size[n], 1})
	}
	return y, re, im
}

func (s systems) check(t *testing.T, call *vektest.Call, x []float32, n int, alias bool) {
	t.Helper()
	h, m := len(s.D), len(s.hRe)/len(s.D)
	call.Again()
	var in, y []float32
	if alias {
		in = call.InOut(x)
		y = in
	} else {
		in, y = call.In(x), call.Out(len(x))
	}
	hRe, hIm, scratch := call.InOut(s.hRe), call.InOut(s.hIm), call.Scratch(vek.SSMScratch)
	ssm := vek.SSM{LambdaRe: call.In(s.LambdaRe), LambdaIm: call.In(s.LambdaIm), CRe: call.In(s.CRe), CIm: call.In(s.CIm), D: call.In(s.D)}
	call.Do(func() {
		vek.SSMBlock(span(y, h, n, 0, n), span(in, h, n, 0, n), hRe, hIm, &ssm, scratch)
	})
	for c := range h {
		want, re, im := s.channel(c).truth(x[c*n : (c+1)*n])
		for i := range want {
			want[i].check(t, y[c*n+i], "M=%d, %d samples: y[%d][%d]", m, n, c, i)
		}
		for i := range re {
			re[i].check(t, hRe[c*m+i], "M=%d, %d samples: re h[%d][%d]", m, n, c, i)
			im[i].check(t, hIm[c*m+i], "M=%d, %d samples: im h[%d][%d]", m, n, c, i)
		}
	}
	if t.Failed() {
		t.FailNow()
	}
}

func TestSSMBlock(t *testing.T) {
	vektest.EachCall(t, func(t *testing.T, call *vektest.Call) {
		r := generator(1)
		for i, m := range []int{0, 1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 31, 32, 33, 65} {
			for _, n := range []int{0, 1, 2, 3, 16, 17, 63, 64, 65, 130} {
				h := 1 + (i+n)%4
				newSystems(r, h, m).check(t, call, normals(r, h*n), n, n%2 == 1)
			}
		}
		newSystems(r, 131, 5).check(t, call, normals(r, 131), 1, false)
		newSystems(r, 67, 3).check(t, call, normals(r, 67*3), 3, true)
	})
}

// Any split of the input gives the same bits of outputs and state. A channel's bits do not depend
// on other channels.
func TestSSMBlockSplits(t *testing.T) {
	vektest.EachLevel(t, func(t *testing.T, _ vek.Level) {
		r := generator(2)
		const h, n = 3, 333
		for _, m := range []int{1, 2, 5, 16, 31, 32, 70} {
			x := normals(r, h*n)
			whole := newSystems(r, h, m)
			want := make([]float32, len(x))
			start := whole.clone()
			whole.run(want, x, n, 0, n)
			for _, widest := range []int{1, 2, 40, 100, 300} {
				parts, got := start.clone(), make([]float32, len(x))
				for at := 0; at < n; {
					end := min(at+1+r.IntN(widest), n)
					parts.run(got, x, n, at, end)
					at = end
				}
				sameBits(t, "y", got, want)
				sameBits(t, "re h", parts.hRe, whole.hRe)
				sameBits(t, "im h", parts.hIm, whole.hIm)
			}
			for c := range h {
				k := start.channel(c)
				alone := systems{
					vek.SSM{LambdaRe: k.lamRe, LambdaIm: k.lamIm, CRe: k.cRe, CIm: k.cIm, D: []float32{k.d}},
					slices.Clone(k.hRe), slices.Clone(k.hIm),
				}
				got := make([]float32, n)
				alone.run(got, x[c*n:(c+1)*n], n, 0, n)
				sameBits(t, "y of a channel alone", got, want[c*n:(c+1)*n])
			}
		}
	})
}

// In silence a state decays to exactly 0 and never is a denormal number.
func TestSSMBlockFlushesState(t *testing.T) {
	const smallest = 0x1p-126 // of the normal numbers
	vektest.EachLevel(t, func(t *testing.T, _ vek.Level) {
		for _, m := range []int{1, 2, 3, 16, 33} {
			s := newSystems(generator(3), 2, m)
			for n := range s.hRe {
				s.LambdaRe[n], s.LambdaIm[n] = 0.4, -0.3 // halves the state
			}
			const n = 10
			silence, y := make([]float32, 2*n), make([]float32, 2*n)
			for range 30 {
				s.run(y, silence, n, 0, n)
				for i, v := range slices.Concat(s.hRe, s.hIm) {
					if v != 0 && math.Abs(float64(v)) < smallest {
						t.Fatalf("M=%d: part %d of the state is %v, expected 0", m, i, v)
					}
				}
			}
			for i := range s.hRe {
				if s.hRe[i] != 0 || s.hIm[i] != 0 {
					t.Errorf("M=%d: h[%d] = %v + %vi after 300 halvings", m, i, s.hRe[i], s.hIm[i])
				}
			}
		}
	})
}

// A single decaying part becomes 0 as well, for example a left-over imaginary part of a real pole
// whose real part has input.
func TestSSMBlockFlushesParts(t *testing.T) {
	vektest.EachLevel(t, func(t *testing.T, _ vek.Level) {
		s := newSystems(generator(4), 1, 5)
		for n := range s.LambdaRe {
			s.LambdaRe[n], s.LambdaIm[n] = 0.9, 0
		}
		x := normals(generator(5), 1000)
		s.run(make([]float32, len(x)), x, len(x), 0, len(x))
		for n := range s.hIm {
			if s.hIm[n] != 0 || s.hRe[n] == 0 {
				t.Errorf("h[%d] = %v + %vi, expected a real number", n, s.hRe[n], s.hIm[n])
			}
		}
	})
}

// Denormal numbers are flushed within a call only. Afterwards the processor has the caller's
// settings.
func TestSSMBlockRestoresDenormals(t *testing.T) {
	vektest.EachLevel(t, func(t *testing.T, _ vek.Level) {
		s := newSystems(generator(8), 2, 5)
		s.run(make([]float32, 20), normals(generator(9), 20), 10, 0, 10)
		tiny := math.Float32frombits(uint32(len(s.D))) // unknown to the compiler
		if half := tiny / 2; half != math.SmallestNonzeroFloat32 {
			t.Errorf("%v / 2 = %v afterwards", tiny, half)
		}
	})
}
