package vek_test

import (
	"math"
	"math/big"
	"math/cmplx"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/internal/vektest"
)

// twoPi is 2π to 60 digits.
const twoPi = "6.28318530717958647692528676655900576839433879875021164194989"

// power returns exp(l·(re + i·im)) from a phase reduced exactly.
func power(re, im float64, l int) complex128 {
	exact := func(x float64) *big.Float { return new(big.Float).SetPrec(300).SetFloat64(x) }
	period, _ := new(big.Float).SetPrec(300).SetString(twoPi)
	turns := new(big.Float).Quo(new(big.Float).Mul(exact(im), exact(float64(l))), period)
	whole, _ := turns.Int(nil)
	turns.Sub(turns, new(big.Float).SetPrec(300).SetInt(whole))
	phase, _ := turns.Mul(turns, period).Float64()
	return cmplx.Rect(math.Exp(re*float64(l)), phase)
}

func TestComplexPowers(t *testing.T) {
	re := []float64{0, 0, -1e-7, -1e-4, -0.3, -1300, math.Inf(-1), -1e-3, -149.9, -150.1, -1e-300, -5}
	im := []float64{0, 3.14159, 2.5, -1.7, 0.1, 1, 0, 1e3, 0.5, -0.5, 1e-9, -44}
	vektest.EachCall(t, func(t *testing.T, c *vektest.Call) {
		for n := 0; n <= len(re); n++ {
			c.Again()
			gotRe, gotIm, logRe, logIm := c.OutDoubles(n), c.OutDoubles(n), c.InDoubles(re[:n]), c.InDoubles(im[:n])
			l := []int{1, 2, 31, 1024, 1 << 20}[n%5]
			if !c.Do(func() { vek.ComplexPowers(gotRe, gotIm, logRe, logIm, l) }) {
				return
			}
			for i := range n {
				want := power(re[i], im[i], l)
				if re[i]*float64(l) < -150 {
					want = 0
				}
				// the phase in radians is rounded a few times relative to l·im
				tolerance := cmplx.Abs(want) * (4 + 4*math.Abs(im[i])*float64(l)) * 0x1p-53
				if e := cmplx.Abs(complex(gotRe[i], gotIm[i]) - want); !(e <= tolerance) {
					t.Errorf("exp(%d·(%v + %vi)) = %v + %vi, want %v: off by %.3g", l, re[i], im[i], gotRe[i], gotIm[i], want, e)
				}
			}
		}
	})
}

// bases are numbers of modulus at most 1, of all speeds of decay.
func bases() (re, im []float64) {
	for _, z := range []complex128{1, -1i, cmplx.Rect(1, 1.234), cmplx.Rect(0.999, -2), cmplx.Rect(0.9, 3.1),
		cmplx.Rect(0.5, 0.1), cmplx.Rect(0.01, 1), 0, cmplx.Rect(1e-30, 2)} {
		re, im = append(re, real(z)), append(im, imag(z))
	}
	return re, im
}

// fades reports whether got is right for one part of the value want of a power whose first has the modulus first:
// rounded once, or zero where the power is 2⁻⁵⁰ of the first or less or a denormal number; the exact border is the
// kernel's.
func fades(got float32, want complex128, part float64, first float64) bool {
	if got == 0 && (cmplx.Abs(want) < 0x1p-49*first || math.Abs(part) < 0x1.01p-126) {
		return true
	}
	return math.Abs(float64(got)) >= 0x1p-126 && math.Abs(float64(got)-part) <= 0.5001*vektest.ULP(part)+1e-13*cmplx.Abs(want)
}

func TestPowerRows(t *testing.T) {
	lamRe, lamIm := bases()
	wRe, wIm := make([]float64, len(lamRe)), make([]float64, len(lamRe))
	for n := range wRe {
		wRe[n], wIm[n] = math.Ldexp(1.1, -4*n), math.Ldexp(-0.3, -4*n)
	}
	vektest.EachCall(t, func(t *testing.T, c *vektest.Call) {
		for _, cols := range []int{0, 1, 2, 3, 4, 5, 7, 8, 9, 17, 64, 1024} {
			c.Again()
			re, im := c.OutMatrix(len(lamRe), cols, cols+3), c.OutMatrix(len(lamRe), cols, cols)
			w, v, lr, li := c.InDoubles(wRe), c.InDoubles(wIm), c.InDoubles(lamRe), c.InDoubles(lamIm)
			if !c.Do(func() { vek.PowerRows(re, im, w, v, lr, li) }) {
				return
			}
			for n := range lamRe {
				want := complex(wRe[n], wIm[n])
				first := cmplx.Abs(want)
				for b := range cols {
					if !fades(re.Row(n)[b], want, real(want), first) || !fades(im.Row(n)[b], want, imag(want), first) {
						t.Fatalf("w·(%v + %vi)^%d = %v + %vi, want %v", lamRe[n], lamIm[n], b, re.Row(n)[b], im.Row(n)[b], want)
					}
					want *= complex(lamRe[n], lamIm[n])
				}
			}
		}
	})
}

// Products of tiny factors are 0 or normal numbers, and others those of float64, whatever lies behind the table.
func TestPowerProduct(t *testing.T) {
	vektest.EachCall(t, func(t *testing.T, c *vektest.Call) {
		r := generator(3)
		for _, s := range [][3]int{{1, 1, 1}, {32, 32, 64}, {15, 33, 7}, {6, 16, 4}, {1, 31, 30}, {29, 100, 2}, {0, 5, 3}, {5, 0, 3}} {
			rows, cols, terms := s[0], s[1], s[2]
			anchors, table := matrix(r, terms, rows), matrix(r, terms, cols)
			for q := range terms {
				if q%3 == 2 {
					vek.Scale(anchors.Row(q), 0x1p-70, anchors.Row(q))
					vek.Scale(table.Row(q), 0x1p-65, table.Row(q))
				}
			}
			c.Again()
			wide := vek.RoundToPanels(cols)
			a, padded := c.InMatrix(anchors, rows+5), c.Scratch(terms*wide)
			b := vek.Matrix{Data: padded, Rows: terms, Cols: cols, Stride: wide}
			for q := range terms {
				copy(b.Row(q), table.Row(q))
			}
			k, scratch := c.OutMatrix(rows, cols, cols+2), c.Scratch(vek.GemmScratch(rows, cols, terms))
			if !c.Do(func() { vek.PowerProduct(k, a, b, scratch) }) {
				return
			}
			for i := range rows {
				for j := range cols {
					want := near{n: terms}
					for q := range terms {
						want.add(float64(anchors.Row(q)[i]) * float64(table.Row(q)[j]))
					}
					got := k.Row(i)[j]
					if want.check(t, got, "%v: [%d][%d]", s, i, j); got != 0 && math.Abs(float64(got)) < 0x1p-126 && vek.CurrentLevel() != vek.Generic {
						t.Errorf("%v: [%d][%d] is the denormal number %v", s, i, j, got)
					}
				}
			}
		}
	})
}

func TestPowerSums(t *testing.T) {
	lamRe, lamIm := bases()
	modes := len(lamRe)
	vektest.EachCall(t, func(t *testing.T, c *vektest.Call) {
		for _, rows := range []int{0, 1, 2, 7, 200} {
			c.Again()
			x := vek.Matrix{Data: normals(generator(1), rows*modes), Rows: rows, Cols: modes, Stride: modes}
			y := vek.Matrix{Data: normals(generator(2), rows*modes), Rows: rows, Cols: modes, Stride: modes}
			re, im := c.InMatrix(x, modes+1), c.InMatrix(y, modes)
			gotRe, gotIm := c.OutDoubles(modes), c.OutDoubles(modes)
			lr, li := c.InDoubles(lamRe), c.InDoubles(lamIm)
			if !c.Do(func() { vek.PowerSums(gotRe, gotIm, re, im, lr, li) }) {
				return
			}
			for n := range lamRe {
				want, terms, p := 0i, 0.0, 1+0i
				for a := range rows {
					v := p * complex(float64(x.Row(a)[n]), float64(y.Row(a)[n]))
					want, terms = want+v, terms+cmplx.Abs(v)
					p *= complex(lamRe[n], lamIm[n])
				}
				if e := cmplx.Abs(complex(gotRe[n], gotIm[n]) - want); !(e <= 1e-13*terms) {
					t.Errorf("%d rows, λ = %v + %vi: %v + %vi, want %v", rows, lamRe[n], lamIm[n], gotRe[n], gotIm[n], want)
				}
			}
		}
	})
}

func TestMulIndex(t *testing.T) {
	vektest.EachCall(t, func(t *testing.T, c *vektest.Call) {
		for _, n := range vektest.Sizes() {
			x := normals(generator(1), n)
			c.Again()
			in, dst := c.In(x), c.Out(n)
			apart := c.Do(func() { vek.MulIndex(dst, in) })
			got := append([]float32(nil), dst...)
			c.Again()
			both := c.InOut(x)
			if !apart || !c.Do(func() { vek.MulIndex(both, both) }) {
				return
			}
			for l := range x {
				if want := float32(l) * x[l]; got[l] != want || both[l] != want {
					t.Fatalf("n=%d: [%d] = %v, in place %v, want %v", n, l, got[l], both[l], want)
				}
			}
		}
	})
}
