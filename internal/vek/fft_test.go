package vek_test

import (
	"fmt"
	"math"
	"math/cmplx"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/internal/vektest"
)

// wave returns exp(2πi·j/n).
func wave(j, n int) complex128 {
	s, c := math.Sincos(2 * math.Pi * float64(j%n) / float64(n))
	return complex(c, s)
}

func complexes(re, im []float32) []complex128 {
	z := make([]complex128, len(re))
	for i := range z {
		z[i] = complex(float64(re[i]), float64(im[i]))
	}
	return z
}

// passTruth is a pass by its formula: sign −1 forward, +1 inverse.
func passTruth(x []complex128, radix, q, sign int) []complex128 {
	n := radix * q
	y := make([]complex128, len(x))
	for i := range x {
		vector, lane := i/vek.FFTLanes, i%vek.FFTLanes
		block, k, j := vector/n*n, vector%n/q, vector%q
		for m := range radix {
			v := x[(block+m*q+j)*vek.FFTLanes+lane]
			if sign > 0 {
				v *= wave(j*m, n)
			}
			y[i] += v * wave(sign*m*k+radix*radix, radix)
		}
		if sign < 0 {
			y[i] *= cmplx.Conj(wave(j*k, n))
		}
	}
	return y
}

// lanesTruth is the stage over the lanes, forward, its result at the place where the kernel leaves it.
func lanesTruth(x []complex128, order []int) []complex128 {
	y := make([]complex128, len(x))
	m := len(order)
	for g, k := range order {
		first := g / vek.FFTGroup * vek.FFTGroup
		t := min(m-first, vek.FFTGroup)
		for p := range vek.FFTLanes {
			for r := range vek.FFTLanes {
				y[first*vek.FFTLanes+(p/4*t+g-first)*4+p%4] += x[g*vek.FFTLanes+r] * cmplx.Conj(wave(r*(k+m*p), vek.FFTLanes*m))
			}
		}
	}
	return y
}

// closeTo fails t where an element differs from the truth by more than the rounding of a few levels of sums.
func closeTo(t *testing.T, what string, re, im []float32, want []complex128) {
	t.Helper()
	scale := 0.0
	for _, v := range want {
		scale = max(scale, cmplx.Abs(v))
	}
	for i, v := range complexes(re, im) {
		if e := cmplx.Abs(v - want[i]); !(e <= 6*vektest.Epsilon*scale) {
			t.Errorf("%s: [%d] = %v, want %v ± %.3g", what, i, v, want[i], 6*vektest.Epsilon*scale)
			return
		}
	}
}

type fftPass struct{ radix, q, blocks int }

func fftPasses() []fftPass {
	p := []fftPass{{2, 1, 1}, {2, 1, 3}}
	for _, radix := range []int{3, 4, 5, 8} {
		for _, q := range []int{1, 2, 3, 8} {
			p = append(p, fftPass{radix, q, 1}, fftPass{radix, q, 3})
		}
	}
	return p
}

func TestFFTPasses(t *testing.T) {
	vektest.EachCall(t, func(t *testing.T, c *vektest.Call) {
		for _, p := range fftPasses() {
			n := p.radix * p.q * p.blocks * vek.FFTLanes
			x, y := normals(generator(1), n), normals(generator(2), n)
			tw := make([]float32, 2*(p.radix-1)*p.q)
			vek.FFTTwiddles(tw, p.radix, p.q)
			for sign, run := range map[int]func(int, []float32, []float32, []float32, int){-1: vek.FFTForward, 1: vek.FFTInverse} {
				c.Again()
				re, im, w := c.InOut(x), c.InOut(y), c.In(tw)
				if !c.Do(func() { run(p.radix, re, im, w, p.q) }) {
					return
				}
				closeTo(t, fmt.Sprintf("%+v sign %d", p, sign), re, im, passTruth(complexes(x, y), p.radix, p.q, sign))
			}
		}
	})
}

// The half-empty pass reads nothing of the upper half, the half-wanted one writes the lower half as the full one does.
func TestFFTHalfPasses(t *testing.T) {
	vektest.EachCall(t, func(t *testing.T, c *vektest.Call) {
		for _, radix := range []int{4, 8} {
			for _, q := range []int{1, 2, 3, 8} {
				half := radix * q * vek.FFTLanes / 2
				x, y := normals(generator(1), 2*half), normals(generator(2), 2*half)
				tw := make([]float32, 2*(radix-1)*q)
				vek.FFTTwiddles(tw, radix, q)
				c.Again()
				re, im, w := c.Out(2*half), c.Out(2*half), c.In(tw)
				copy(re, x[:half])
				copy(im, y[:half])
				if !c.Do(func() { vek.FFTForwardHalf(radix, re, im, re[:half], im[:half], w, q) }) {
					return
				}
				z := complexes(x, y)
				clear(z[half:])
				closeTo(t, fmt.Sprintf("forward radix %d q=%d", radix, q), re, im, passTruth(z, radix, q, -1))

				c.Again()
				re, im, w = c.InOut(x), c.InOut(y), c.In(tw)
				if !c.Do(func() { vek.FFTInverseHalf(radix, re[:half], im[:half], re, im, w, q) }) {
					return
				}
				want := passTruth(complexes(x, y), radix, q, 1)[:half]
				closeTo(t, fmt.Sprintf("inverse radix %d q=%d", radix, q), re[:half], im[:half], want)
			}
		}
	})
}

func TestFFTLanes(t *testing.T) {
	vektest.EachCall(t, func(t *testing.T, c *vektest.Call) {
		for _, m := range []int{1, 2, 3, 5, 8, 15, 16, 20, 32, 41} {
			order := generator(3).Perm(m)
			x, y := normals(generator(1), m*vek.FFTLanes), normals(generator(2), m*vek.FFTLanes)
			tw := make([]float32, 2*m*vek.FFTLanes)
			vek.FFTLaneTwiddles(tw, order)
			c.Again()
			re, im, w := c.InOut(x), c.InOut(y), c.In(tw)
			if !c.Do(func() { vek.FFTForwardLanes(re, im, w) }) {
				return
			}
			closeTo(t, fmt.Sprintf("forward m=%d", m), re, im, lanesTruth(complexes(x, y), order))

			z := lanesTruth(complexes(x, y), order)
			for i, v := range z {
				re[i], im[i] = float32(real(v)/vek.FFTLanes), float32(imag(v)/vek.FFTLanes)
			}
			if !c.Do(func() { vek.FFTInverseLanes(re, im, w) }) {
				return
			}
			closeTo(t, fmt.Sprintf("inverse m=%d", m), re, im, complexes(x, y))
			checkLanesMul(t, c, x, y, tw)
		}
	})
}

// checkLanesMul: the inverse stage of a product is the inverse stage after the product.
func checkLanesMul(t *testing.T, c *vektest.Call, x, y, tw []float32) {
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
		vek.FFTInverseLanes(wantRe, wantIm, tw)

		c.Again()
		re, im, kr, ki, w := c.InOut(x), c.InOut(y), c.In(kRe), c.In(kIm), c.In(tw)
		if !c.Do(func() { vek.FFTInverseLanesMul(re, im, kr, ki, w, conj) }) {
			return
		}
		closeTo(t, fmt.Sprintf("product, n=%d, conj %v", n, conj), re, im, complexes(wantRe, wantIm))
	}
}

func TestDFT(t *testing.T) {
	vektest.EachCall(t, func(t *testing.T, c *vektest.Call) {
		for n := range 41 {
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
					want[k] += v * cmplx.Conj(wave(j*k, n))
				}
			}
			closeTo(t, fmt.Sprintf("n=%d", n), re, im, want)
		}
	})
}

// Twiddles are rounded once, and angles that mirror each other have the same bits.
func TestFFTTwiddles(t *testing.T) {
	for _, c := range [][2]int{{2, 8}, {3, 16}, {4, 512}, {5, 64}, {8, 300}} {
		radix, q := c[0], c[1]
		tw := make([]float32, 2*(radix-1)*q)
		vek.FFTTwiddles(tw, radix, q)
		for j := range q {
			for k := 1; k < radix; k++ {
				at := 2 * ((radix-1)*j + k - 1)
				want := cmplx.Conj(wave(j*k, radix*q))
				for part, v := range []float64{real(want), imag(want)} {
					if e := math.Abs(float64(tw[at+part]) - v); e > 0.5001*vektest.ULP(v)+1e-15 {
						t.Fatalf("radix %d q=%d: w^%d part %d = %v, want %v", radix, q, j*k, part, tw[at+part], v)
					}
				}
			}
		}
	}
	roots := make([]float32, 2*40)
	vek.FFTRoots(roots)
	for j := range 40 {
		mirror, quarter := (40-j)%40, (j+10)%40
		if roots[2*j] != roots[2*mirror] || roots[2*j+1] != -roots[2*mirror+1] ||
			roots[2*quarter] != roots[2*j+1] || roots[2*quarter+1] != -roots[2*j] {
			t.Errorf("roots %d of 40 and its mirror images differ", j)
		}
	}
}
