package vek_test

import (
	"fmt"
	"math"
	"math/cmplx"
	"slices"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/internal/vektest"
)

func complexes(re, im []float32) []complex128 {
	z := make([]complex128, len(re))
	for i := range z {
		z[i] = complex(float64(re[i]), float64(im[i]))
	}
	return z
}

// closeTo fails t if an element differs from the truth by more than the rounding of a few levels of
// sums.
func closeTo(t *testing.T, what string, re, im []float32, want []complex128) {
	t.Helper()
	scale := 0.0
	for _, v := range want {
		scale = max(scale, cmplx.Abs(v))
	}
	for i, v := range complexes(re, im) {
		if e := cmplx.Abs(v - want[i]); !(e <= 6*epsilon*scale) {
			t.Errorf("%s: [%d] = %v, expected %v ± %.3g", what, i, v, want[i], 6*epsilon*scale)
			return
		}
	}
}

func TestFFTPasses(t *testing.T) {
	eachCall(t, func(t *testing.T, c *kernelCall) {
		for _, p := range passes() {
			if p.q <= 3 || p.blocks == 1 { // the seeds of FuzzFFT have all of them
				p.check(t, c, generator(1))
			}
		}
	})
}

// Passes in parts.
func TestFFTLongPasses(t *testing.T) {
	vektest.EachLevel(t, func(t *testing.T, _ vek.Level) {
		c := newCall(t)
		c.Begin(allPlacements()[3])
		for i, radix := range []int{3, 4, 5, 8} {
			p := pass{radix: radix, q: 4096/radix + 3, blocks: 1, inverse: i%2 > 0}
			p.check(t, c, generator(1))
			if radix == 4 || radix == 8 {
				p.half, p.q, p.inverse = true, 219, !p.inverse
				p.check(t, c, generator(1))
			}
		}
	})
}

func TestFFTLanes(t *testing.T) {
	eachCall(t, func(t *testing.T, c *kernelCall) {
		for _, radix := range []int{1, 2, 4} {
			for _, m := range []int{4, 8, 12, 20} {
				checkLanes(t, c, generator(3), radix, m)
			}
		}
	})
}

// checkLanesMul compares the inverse stage with a product to the inverse stage after the product.
func checkLanesMul(t *testing.T, c *kernelCall, radix int, x, y, tw []float32) {
	t.Helper()
	n := len(x)
	kRe, kIm := normals(generator(4), n), normals(generator(5), n)
	for _, conj := range []bool{false, true} {
		want := complexes(x, y)
		for i, k := range complexes(kRe, kIm) {
			if conj {
				k = cmplx.Conj(k)
			}
			want[i] *= k
		}
		wantRe, wantIm := make([]float32, n), make([]float32, n)
		for i, v := range want {
			wantRe[i], wantIm[i] = float32(real(v)), float32(imag(v))
		}
		vek.FFTInverse(wantRe, wantIm, nil, nil, vek.AsIs, nil, radix, tw)

		c.Again()
		re, im, kr, ki, w := c.InOut(x), c.InOut(y), c.In(kRe), c.In(kIm), c.In(tw)
		if !c.Do(func() { vek.FFTInverse(re, im, kr, ki, vek.Factor(conj), nil, radix, w) }) {
			return
		}
		closeTo(t, fmt.Sprintf("product, radix %d, n=%d, conj %v", radix, n, conj), re, im, complexes(wantRe, wantIm))
	}
}

// A turned pass multiplies its inputs, an inverse one its results, by a number for each lane.
func TestFFTTurned(t *testing.T) {
	eachCall(t, func(t *testing.T, c *kernelCall) {
		for _, radix := range []int{4, 8} {
			const k, q, turn = 5, 3, 4096
			plain := vek.NewFFTPass(radix, q, pass{radix: radix, q: q}.twiddles())
			n := radix * q * lanes
			x, y := normals(generator(1), n), normals(generator(2), n)
			product := func(x, y []float32, conj bool) (re, im []float32) {
				for i, v := range complexes(x, y) {
					w := root(i%lanes*k, turn)
					if conj {
						w = cmplx.Conj(w)
					}
					re, im = append(re, float32(real(v*w))), append(im, float32(imag(v*w)))
				}
				return re, im
			}
			for _, inverse := range []bool{false, true} {
				run := func(re, im []float32, p vek.FFTPass) {
					if inverse {
						vek.FFTInverse(re, im, nil, nil, vek.AsIs, []vek.FFTPass{p}, 0, nil)
					} else {
						vek.FFTForward(re, im, []vek.FFTPass{p}, 0, nil)
					}
				}
				wantRe, wantIm := slices.Clone(x), slices.Clone(y)
				if !inverse {
					wantRe, wantIm = product(x, y, false)
				}
				run(wantRe, wantIm, plain)
				if inverse {
					wantRe, wantIm = product(wantRe, wantIm, true)
				}
				c.Again()
				re, im := c.InOut(x), c.InOut(y)
				c.Do(func() { run(re, im, plain.Turned(k, turn)) })
				closeTo(t, fmt.Sprintf("radix %d, inverse %v", radix, inverse), re, im, complexes(wantRe, wantIm))
			}
		}
	})
}

func TestDFT(t *testing.T) {
	eachCall(t, func(t *testing.T, c *kernelCall) {
		for _, n := range []int{0, 1, 2, 3, 5, 8, 20, 40, 160} {
			x, y := normals(generator(1), n), normals(generator(2), n)
			roots := make([]float32, 2*n)
			vek.FFTRoots(roots)
			c.Again()
			re, im, w := c.InOut(x), c.InOut(y), c.In(roots)
			if !c.Do(func() { vek.DFT(re, im, w) }) {
				return
			}
			want := make([]complex128, n)
			for k := range want {
				for j, v := range complexes(x, y) {
					want[k] += v * root(j*k, n)
				}
			}
			closeTo(t, fmt.Sprintf("n=%d", n), re, im, want)
		}
	})
}

// Twiddles are rounded once. Symmetric angles have the same bits.
func TestFFTTwiddles(t *testing.T) {
	for _, c := range [][2]int{{2, 8}, {3, 16}, {4, 512}, {5, 64}, {8, 300}} {
		radix, q := c[0], c[1]
		tw := make([]float32, 2*(radix-1)*q)
		vek.FFTTwiddles(tw, radix, q)
		for j := range q {
			for k := 1; k < radix; k++ {
				at := 2 * ((radix-1)*j + k - 1)
				want := root(j*k, radix*q)
				for part, v := range []float64{real(want), imag(want)} {
					if e := math.Abs(float64(tw[at+part]) - v); e > 0.5001*ulp(v)+1e-15 {
						t.Fatalf("radix %d q=%d: w^%d part %d = %v, expected %v", radix, q, j*k, part, tw[at+part], v)
					}
				}
			}
		}
	}
	roots := make([]float32, 2*40)
	vek.FFTRoots(roots)
	at := func(j int) complex64 { return complex(roots[2*j], roots[2*j+1]) }
	for j := range 40 {
		mirror, quarter, r := (40-j)%40, (j+10)%40, at(j)
		must.Equal(t, at(mirror), complex(real(r), -imag(r)), "root %d of 40, the conjugate of root %d", mirror, j)
		must.Equal(t, at(quarter), complex(imag(r), -real(r)), "root %d of 40, a quarter turn from root %d", quarter, j)
	}
}
