package vek_test

import (
	"math"
	"math/big"
	"math/cmplx"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

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
	if l == 0 {
		return 1
	}
	return cmplx.Rect(math.Exp(re*float64(l)), phase)
}

func TestComplexPowers(t *testing.T) {
	re := []float64{0, 0, -1e-7, -1e-4, -0.3, -1300, math.Inf(-1), -1e-3, -149.9, -150.1, -1e-300, -5}
	im := []float64{0, 3.14159, 2.5, -1.7, 0.1, 1, 0, 1e3, 0.5, -0.5, 1e-9, -44}
	eachCall(t, func(t *testing.T, c *kernelCall) {
		for n := 0; n <= len(re); n++ {
			checkComplexPowers(t, c, re[:n], im[:n], []int{1, 2, 31, 1024, 1 << 20}[n%5])
		}
	})
}

func checkComplexPowers(t *testing.T, c *kernelCall, re, im []float64, l int) {
	t.Helper()
	c.Again()
	gotRe, gotIm, log := c.OutDoubles(len(re)), c.OutDoubles(len(re)), inComplex(c, re, im)
	if !c.Do(func() { vek.ComplexPowers(gotRe, gotIm, log, l) }) {
		t.FailNow()
	}
	for i := range re {
		want := power(re[i], im[i], l)
		if re[i]*float64(l) < -150 {
			want = 0
		}
		// the phase in radians is rounded a few times relative to l·im
		tolerance := cmplx.Abs(want) * (4 + 4*math.Abs(im[i])*float64(l)) * 0x1p-53
		if e := cmplx.Abs(complex(gotRe[i], gotIm[i]) - want); !(e <= tolerance) {
			t.Errorf("exp(%d·(%v + %vi)) = %v + %vi, expected %v: off by %.3g", l, re[i], im[i], gotRe[i], gotIm[i], want, e)
		}
	}
}

// inComplex is c.InDoubles for complex numbers.
func inComplex(c *kernelCall, re, im []float64) []complex128 {
	parts := make([]float64, 0, 2*len(re))
	for i := range re {
		parts = append(parts, re[i], im[i])
	}
	x := c.InDoubles(parts)
	return unsafe.Slice((*complex128)(unsafe.Pointer(unsafe.SliceData(x))), len(re))
}

// logBases are logarithms of numbers of modulus at most 1, with slow and fast decay.
func logBases() (re, im []float64) {
	return []float64{0, 0, 0, -0.001, -0.1, -0.7, -4.6, math.Inf(-1), -69, -1e-5, -0.02},
		[]float64{0, -math.Pi / 2, 1.234, -2, 3.1, 0.1, 1, 0, 2, 40, -3}
}

// fades reports whether got is correct for one part of a power with value want, in a row whose
// first power has modulus first: rounded once, or zero if the power is at most about 2⁻⁵⁰ of the
// first or denormal. The kernel chooses the exact limit.
func fades(got float32, want complex128, part float64, first float64) bool {
	if got == 0 && (cmplx.Abs(want) < 0x1p-49*first || math.Abs(part) < 0x1.01p-126) {
		return true
	}
	return math.Abs(float64(got)) >= 0x1p-126 && math.Abs(float64(got)-part) <= 0.5001*ulp(part)+1e-13*cmplx.Abs(want)
}

// NaN stays NaN, whatever its bits.
func TestPowersOfNaN(t *testing.T) {
	vektest.EachLevel(t, func(t *testing.T, _ vek.Level) {
		for _, bits := range []uint64{0x7FF8000000000000, 0x7FF8000000000001, 0xFFFFFFFFFFFFFFFF, 0x7FF80000000003FF} {
			nan := math.Float64frombits(bits)
			for _, log := range []complex128{complex(nan, 0), complex(nan, nan), complex(-0.1, nan)} {
				var re, im [3]float64
				vek.ComplexPowers(re[:], im[:], []complex128{-0.1, log, -0.2}, 1)
				if re[1] == re[1] || im[1] == im[1] || re[0] != re[0] || re[2] != re[2] {
					t.Errorf("exp(%v), NaN of bits %x, between others: %v + %vi", log, bits, re, im)
				}
			}
		}
	})
}

func TestPowerRows(t *testing.T) {
	logRe, logIm := logBases()
	wRe, wIm := make([]float64, len(logRe)), make([]float64, len(logRe))
	for n := range wRe {
		wRe[n], wIm[n] = math.Ldexp(1.1, -4*n), math.Ldexp(-0.3, -4*n)
	}
	eachCall(t, func(t *testing.T, c *kernelCall) {
		for i, cols := range []int{0, 1, 2, 3, 4, 5, 7, 8, 9, 17, 64, 200} {
			modes, l, conj := len(logRe)-i%9, 1+i%3, i%2 == 1
			c.Again()
			rows := c.OutMatrix(2*modes, cols, cols+i%4)
			w, log := inComplex(c, wRe[:modes], wIm[:modes]), inComplex(c, logRe[:modes], logIm[:modes])
			if !c.Do(func() { vek.PowerRows(rows, w, log, l, vek.Factor(conj)) }) {
				return
			}
			for n := range modes {
				re, im, first := rows.Row(n), rows.Row(modes+n), cmplx.Abs(w[n])
				for b := range cols {
					z := power(logRe[n], logIm[n], l*b)
					if conj {
						z = cmplx.Conj(z)
					}
					want := w[n] * z
					if !fades(re[b], want, real(want), first) || !fades(im[b], want, imag(want), first) {
						t.Fatalf("w·exp(%d·%v)^%d, conjugate %v: %v + %vi, expected %v", l, log[n], b, conj, re[b], im[b], want)
					}
				}
			}
		}
	})
}

func TestPowerColumns(t *testing.T) {
	lamRe, lamIm := logBases()
	lamRe, lamIm = slices.Repeat(lamRe, 7), slices.Repeat(lamIm, 7)
	for n := range lamRe {
		z := power(lamRe[n], lamIm[n], 1)
		lamRe[n], lamIm[n] = real(z), imag(z)
	}
	eachCall(t, func(t *testing.T, c *kernelCall) {
		for i, modes := range []int{0, 1, 2, 3, 4, 5, 8, 9, 31, 32, 41, 77} {
			c.Again()
			rows := c.OutMatrix([]int{0, 1, 2, 33}[i%4], 2*modes, 2*modes+i%3)
			lr, li := c.InDoubles(lamRe[:modes]), c.InDoubles(lamIm[:modes])
			if !c.Do(func() { vek.PowerColumns(rows.Columns(0, modes), rows.Columns(modes, 2*modes), lr, li) }) {
				return
			}
			for b := range rows.Rows {
				for n := range modes {
					want := complex128(1)
					for range b {
						want *= complex(lr[n], li[n])
					}
					re, im := rows.Row(b)[n], rows.Row(b)[modes+n]
					if !fades(re, want, real(want), 1) || !fades(im, want, imag(want), 1) {
						t.Fatalf("(%v + %vi)^%d: %v + %vi, expected %v", lr[n], li[n], b, re, im, want)
					}
				}
			}
		}
	})
}

// Products of tiny factors are 0 or normal numbers. Other products are those of float64, whatever
// follows the table.
func TestPowerProduct(t *testing.T) {
	eachCall(t, func(t *testing.T, c *kernelCall) {
		r := generator(3)
		for _, s := range [][3]int{{1, 1, 1}, {32, 32, 64}, {15, 33, 7}, {6, 16, 4}, {1, 31, 30}, {29, 100, 2}, {0, 5, 3}, {5, 0, 3}, {3, 4, 0}, {2, 9, 5}, {4, 24, 6}} {
			checkPowerProduct(t, c, r, s[0], s[1], s[2])
		}
	})
}

func checkPowerProduct(t *testing.T, c *kernelCall, r *rand.Rand, rows, cols, terms int) {
	t.Helper()
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
		t.FailNow()
	}
	for i := range rows {
		for j := range cols {
			want := near{n: terms}
			for q := range terms {
				want.add(float64(anchors.Row(q)[i]) * float64(table.Row(q)[j]))
			}
			got := k.Row(i)[j]
			if want.check(t, got, "%d×%d×%d: [%d][%d]", rows, cols, terms, i, j); got != 0 && math.Abs(float64(got)) < 0x1p-126 && vek.CurrentLevel() != vek.Generic {
				t.Errorf("%d×%d×%d: [%d][%d] is the denormal number %v", rows, cols, terms, i, j, got)
			}
		}
	}
}

func TestPowerSums(t *testing.T) {
	lamRe, lamIm := logBases()
	for n := range lamRe {
		z := power(lamRe[n], lamIm[n], 1)
		lamRe[n], lamIm[n] = real(z), imag(z)
	}
	modes := len(lamRe)
	eachCall(t, func(t *testing.T, c *kernelCall) {
		for _, rows := range []int{0, 1, 2, 7, 200} {
			c.Again()
			x := vek.MatrixOf(normals(generator(1), rows*modes), rows, modes)
			y := vek.MatrixOf(normals(generator(2), rows*modes), rows, modes)
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
					t.Errorf("%d rows, λ = %v + %vi: %v + %vi, expected %v", rows, lamRe[n], lamIm[n], gotRe[n], gotIm[n], want)
				}
			}
		}
	})
}

func TestMulIndex(t *testing.T) {
	eachCall(t, func(t *testing.T, c *kernelCall) {
		for _, n := range sizes() {
			checkMulIndex(t, c, normals(generator(1), n))
		}
	})
}

func checkMulIndex(t *testing.T, c *kernelCall, x []float32) {
	t.Helper()
	c.Again()
	in, dst := c.In(x), c.Out(len(x))
	apart := c.Do(func() { vek.MulIndex(dst, in) })
	got := slices.Clone(dst)
	c.Again()
	both := c.InOut(x)
	if !apart || !c.Do(func() { vek.MulIndex(both, both) }) {
		t.FailNow()
	}
	for l := range x {
		if want := float32(l) * x[l]; got[l] != want || both[l] != want {
			t.Fatalf("n=%d: [%d] = %v, in place %v, expected %v", len(x), l, got[l], both[l], want)
		}
	}
}

// poles draws n numbers in the unit disc, one of them on its edge.
func poles(r *rand.Rand, n int) (re, im []float64) {
	for i := range n {
		lam := cmplx.Exp(complex(-math.Pow(10, -4+5*r.Float64()), 7*r.NormFloat64()))
		if i == 0 {
			lam = cmplx.Exp(1i)
		}
		re, im = append(re, real(lam)), append(im, imag(lam))
	}
	return re, im
}

// checkPower compares an element with first·λ^k. It allows one rounding, the roundings of products
// in float64, and 0 for powers below 2⁻⁵⁰ of the first.
func checkPower(t *testing.T, what string, re, im float32, first, lam complex128, k int) {
	t.Helper()
	want := first
	if k > 0 {
		want *= cmplx.Exp(complex(float64(k), 0) * cmplx.Log(lam))
	}
	size := cmplx.Abs(first)
	bound := 1.001*epsilon*cmplx.Abs(want) + size*(float64(k)*1e-15+0x1p-50)
	if e := cmplx.Abs(complex(float64(re), float64(im)) - want); !(e <= math.Sqrt2*bound) {
		t.Fatalf("%s: power %d of %v: got %v + %vi, expected %v", what, k, lam, re, im, want)
	}
	for _, v := range []float32{re, im} {
		if v != 0 && math.Abs(float64(v)) < 0x1p-126 {
			t.Fatalf("%s: power %d of %v: part %v is a denormal number", what, k, lam, v)
		}
	}
}

func checkPowers(t *testing.T, c *kernelCall, r *rand.Rand, n, powers, gap int) {
	t.Helper()
	lamRe, lamIm := poles(r, n)
	w, log := make([]complex128, n), make([]complex128, n)
	for i := range w {
		w[i], log[i] = complex(100*r.NormFloat64(), r.NormFloat64()), cmplx.Log(complex(lamRe[i], lamIm[i]))
	}
	c.Again()
	rows := c.OutMatrix(2*n, powers, powers+gap)
	c.Do(func() { vek.PowerRows(rows, w, log, 1, vek.AsIs) })
	for i := range n {
		for k := range powers {
			checkPower(t, "PowerRows", rows.Row(i)[k], rows.Row(n + i)[k], w[i], complex(lamRe[i], lamIm[i]), k)
		}
	}

	wRe, wIm := make([]float64, n), make([]float64, n)
	c.Again()
	re, im := c.InMatrix(matrix(r, powers, n), n+gap), c.InMatrix(matrix(r, powers, n), n+gap)
	c.Do(func() { vek.PowerSums(wRe, wIm, re, im, lamRe, lamIm) })
	for i := range n {
		want, size := 0i, 0.0
		for k := range powers {
			term := cmplx.Pow(complex(lamRe[i], lamIm[i]), complex(float64(k), 0)) *
				complex(float64(re.Row(k)[i]), float64(im.Row(k)[i]))
			want += term
			size += cmplx.Abs(term)
		}
		if e := cmplx.Abs(complex(wRe[i], wIm[i]) - want); !(e <= float64(powers+8)*4e-16*size) {
			t.Fatalf("PowerSums: sum %d of %d: got %v + %vi, expected %v", i, powers, wRe[i], wIm[i], want)
		}
	}
}

// FuzzPowers fuzzes all steps of a Vandermonde product.
func FuzzPowers(f *testing.F) {
	f.Add(uint64(1), uint8(1), uint8(1), uint8(0))
	for i := range uint8(68) { // sizes around vectors and chains, all placements
		f.Add(uint64(i), i%19, i%11, i)
	}
	f.Add(uint64(2), uint8(33), uint8(130), uint8(5))
	f.Fuzz(func(t *testing.T, seed uint64, modes, powers, place uint8) {
		vektest.EachLevel(t, func(t *testing.T, _ vek.Level) {
			c, r, n := newCall(t), generator(seed), int(modes%70)
			c.Begin(allPlacements()[place%17])
			checkPowers(t, c, r, n, int(powers), int(place%4))
			checkPowerProduct(t, c, r, n, int(powers), int(place%40))
			checkMulIndex(t, c, normals(r, int(powers)))
			re, im := make([]float64, n), make([]float64, n)
			for i := range re {
				re[i], im[i] = -math.Ldexp(r.Float64(), 8-r.IntN(40)), 10*r.NormFloat64()
			}
			checkComplexPowers(t, c, re, im, int(powers)<<(place%20))
		})
	})
}

// Calls long enough to be cut have the bits of short ones.
func TestLongPowers(t *testing.T) {
	const modes, powers, rows = 70, 9000, 2100
	r := generator(4)
	log, w := make([]complex128, modes), make([]complex128, modes)
	lamRe, lamIm, sumRe, sumIm := make([]float64, modes), make([]float64, modes), make([]float64, modes), make([]float64, modes)
	for n := range log {
		log[n], w[n] = complex(-1e-3*r.Float64(), 7*r.NormFloat64()), complex(r.NormFloat64(), r.NormFloat64())
	}
	re, im := matrix(r, rows, modes), matrix(r, rows, modes)
	all, one := vek.MatrixOf(make([]float32, 2*modes*powers), 2*modes, powers), make([]float32, 2*powers)
	x := normals(r, 1<<16+9)
	vektest.EachLevel(t, func(t *testing.T, _ vek.Level) {
		vek.ComplexPowers(lamRe, lamIm, log, 1)
		vek.PowerRows(all, w, log, 1, vek.AsIs)
		vek.PowerSums(sumRe, sumIm, re, im, lamRe, lamIm)
		for n := range modes {
			vek.PowerRows(vek.MatrixOf(one, 2, powers), w[n:n+1], log[n:n+1], 1, vek.AsIs)
			sameBits(t, "Re", all.Row(n), one[:powers])
			sameBits(t, "Im", all.Row(modes+n), one[powers:])
			column := func(m vek.Matrix) vek.Matrix {
				return vek.Matrix{Data: m.Data[n:], Rows: rows, Cols: 1, Stride: m.Stride}
			}
			var aloneRe, aloneIm [1]float64
			vek.PowerSums(aloneRe[:], aloneIm[:], column(re), column(im), lamRe[n:n+1], lamIm[n:n+1])
			if aloneRe[0] != sumRe[n] || aloneIm[0] != sumIm[n] {
				t.Fatalf("sum %d: %v + %vi, alone %v + %vi", n, sumRe[n], sumIm[n], aloneRe[0], aloneIm[0])
			}
		}
		checkMulIndex(t, newCall(t), x)
	})
}

// The steps of a kernel of 1024 taps from 32 modes.
const (
	benchModes  = 32
	benchPowers = 32
)
