package vek_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/internal/vektest"
)

// product is one call of Gemm.
type product struct {
	m, n, k             int
	transA, transB, acc bool
	split               bool
	gap                 int // strides exceed the columns by gap
}

func (p product) String() string {
	return fmt.Sprintf("m=%d n=%d k=%d transA=%v transB=%v acc=%v gap=%d", p.m, p.n, p.k, p.transA, p.transB, p.acc, p.gap)
}

func (p product) form() (f vek.Form) {
	for form, set := range map[vek.Form]bool{vek.TransposeA: p.transA, vek.TransposeB: p.transB, vek.Accumulate: p.acc, vek.Split: p.split} {
		if set {
			f |= form
		}
	}
	return f
}

// matrix returns a matrix of normal numbers without gaps between its rows.
func matrix(r *rand.Rand, rows, cols int) vek.Matrix {
	return vek.MatrixOf(normals(r, rows*cols), rows, cols)
}

// at returns element (i, j) of m or of its transpose.
func at(m vek.Matrix, trans bool, i, j int) float64 {
	if trans {
		i, j = j, i
	}
	return float64(m.Data[i*m.Stride+j])
}

func shape(trans bool, rows, cols int) (int, int) {
	if trans {
		return cols, rows
	}
	return rows, cols
}

// check compares a product with the sums in float64.
func (p product) check(t *testing.T, c *kernelCall, r *rand.Rand) {
	t.Helper()
	rows, cols := shape(p.transA, p.m, p.k)
	x := matrix(r, rows, cols)
	rows, cols = shape(p.transB, p.k, p.n)
	y := matrix(r, rows, cols)
	old := matrix(r, p.m, p.n)

	c.Again()
	a, b := c.InMatrix(x, x.Cols+p.gap), c.InMatrix(y, y.Cols+p.gap)
	var got vek.Matrix
	if p.acc {
		got = c.InOutMatrix(old, p.n+p.gap)
	} else {
		got = c.OutMatrix(p.m, p.n, p.n+p.gap)
	}
	scratch := c.Scratch(vek.GemmScratch(p.m, p.n, p.k))
	if !c.Do(func() { vek.Gemm(got, a, b, p.form(), scratch) }) {
		t.Fatalf("%v", p)
	}
	for i := range p.m {
		for j := range p.n {
			var want near
			if p.split {
				want.relative = 0x1p-15
			}
			if p.acc {
				want.add(at(old, false, i, j))
			}
			for l := range p.k {
				want.add(at(x, p.transA, i, l) * at(y, p.transB, l, j))
			}
			if !want.check(t, got.Row(i)[j], "%v: c[%d][%d]", p, i, j) {
				return
			}
		}
	}
}

// each calls f with every transposition, with and without acc.
func (p product) each(f func(product)) {
	for bits := range 8 {
		p.transA, p.transB, p.acc = bits&1 != 0, bits&2 != 0, bits&4 != 0
		f(p)
	}
}

func TestGemmSmall(t *testing.T) {
	sizes := []int{0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 49}
	vektest.EachLevel(t, func(t *testing.T, _ vek.Level) {
		c, r := newCall(t), generator(1)
		places := allPlacements()
		i := 0
		for _, m := range sizes {
			for _, n := range sizes {
				for _, k := range []int{0, 1, 3, 4, 5, 18} {
					product{m: m, n: n, k: k, gap: i % 3}.each(func(p product) {
						// All small products, under emulation a third, and a ninth of the others.
						if i++; i%9 == 0 || max(m, n, k) <= 9 && (i%3 == 0 || !vektest.Emulated) {
							c.Begin(places[i%len(places)])
							p.check(t, c, r)
						}
					})
				}
			}
		}
	})
}

// Sizes on both sides of the cache blocks.
func TestGemmBlocks(t *testing.T) {
	tests := []product{
		{m: 63, n: 10, k: 255}, {m: 64, n: 10, k: 256}, {m: 65, n: 10, k: 257}, {m: 131, n: 3, k: 515},
		{m: 5, n: 255, k: 20}, {m: 5, n: 256, k: 20}, {m: 5, n: 257, k: 20, gap: 7}, {m: 3, n: 515, k: 259},
		{m: 70, n: 260, k: 9}, {m: 30, n: 100, k: 270, gap: 12}, {m: 1, n: 1, k: 1000}, {m: 1, n: 1000, k: 1}, {m: 1000, n: 1, k: 1},
	}
	vektest.EachLevel(t, func(t *testing.T, _ vek.Level) {
		c, r := newCall(t), generator(2)
		count := 0
		for i, p := range tests {
			c.Begin(allPlacements()[i])
			p.each(func(p product) {
				if count++; count%3 == 0 || !vektest.Emulated {
					p.check(t, c, r)
				}
			})
		}
	})
}

// A block of columns or of rows has the same bits when it is computed alone.
func TestGemmBlocksApart(t *testing.T) {
	vektest.EachLevel(t, func(t *testing.T, _ vek.Level) {
		r := generator(3)
		for _, p := range []product{{m: 9, n: 70, k: 300}, {m: 33, n: 37, k: 64, acc: true}, {m: 66, n: 300, k: 17}} {
			x, y, c := matrix(r, p.m, p.k), matrix(r, p.k, p.n), matrix(r, p.m, p.n)
			apart := c
			apart.Data = append([]float32(nil), c.Data...)
			scratch := make([]float32, vek.GemmScratch(p.m, p.n, p.k))
			vek.Gemm(c, x, y, p.form(), scratch)
			for j := 0; j < p.n; {
				w := min(1+r.IntN(40), p.n-j)
				vek.Gemm(columns(apart, j, w), x, columns(y, j, w), p.form(), scratch)
				j += w
			}
			for i := range p.m {
				sameBits(t, fmt.Sprintf("%v: columns alone, row %d", p, i), apart.Row(i), c.Row(i))
			}
			if p.acc {
				continue
			}
			for i := range p.m {
				row := vek.MatrixOf(make([]float32, p.n), 1, p.n)
				one := vek.MatrixOf(x.Row(i), 1, p.k)
				vek.Gemm(row, one, y, vek.Plain, scratch)
				sameBits(t, fmt.Sprintf("%v: row %d alone", p, i), row.Data, c.Row(i))
			}
		}
	})
}

// An operand and its transpose give the same bits, since only the packing differs.
func TestGemmTransposedBits(t *testing.T) {
	const m, n, k = 19, 45, 270
	vektest.EachLevel(t, func(t *testing.T, _ vek.Level) {
		r := generator(4)
		x, y := matrix(r, m, k), matrix(r, k, n)
		scratch := make([]float32, vek.GemmScratch(m, n, k))
		want := matrix(r, m, n)
		vek.Gemm(want, x, y, vek.Plain, scratch)
		got := matrix(r, m, n)
		vek.Gemm(got, transposed(x), transposed(y), vek.TransposeA|vek.TransposeB, scratch)
		sameBits(t, "product of the transposed", got.Data, want.Data)
	})
}

func transposed(m vek.Matrix) vek.Matrix {
	t := vek.MatrixOf(make([]float32, m.Rows*m.Cols), m.Cols, m.Rows)
	for i := range t.Rows {
		for j := range t.Cols {
			t.Row(i)[j] = m.Row(j)[i]
		}
	}
	return t
}

// columns views w columns of m from j on.
func columns(m vek.Matrix, j, w int) vek.Matrix {
	return vek.Matrix{Data: m.Data[j:], Rows: m.Rows, Cols: w, Stride: m.Stride}
}

// A NaN affects only its own row, an infinity only its own column, whatever pads the panels.
func TestGemmContainsNaN(t *testing.T) {
	const m, n, k = 7, 5, 3
	vektest.EachLevel(t, func(t *testing.T, _ vek.Level) {
		r := generator(6)
		x, y, c := matrix(r, m, k), matrix(r, k, n), matrix(r, m, n)
		x.Row(m - 1)[1] = float32(math.NaN())
		y.Row(2)[n-1] = float32(math.Inf(1))
		vek.Gemm(c, x, y, vek.Plain, make([]float32, vek.GemmScratch(m, n, k)))
		for i := range m {
			for j, v := range c.Row(i) {
				finite := !math.IsNaN(float64(v)) && !math.IsInf(float64(v), 0)
				if reached := i == m-1 || j == n-1; finite == reached {
					t.Errorf("c[%d][%d] = %v", i, j, v)
				}
			}
		}
	})
}

func TestGemmBias(t *testing.T) {
	vektest.EachLevel(t, func(t *testing.T, _ vek.Level) {
		c, r := newCall(t), generator(7)
		for i, p := range []product{{m: 1, n: 1, k: 3}, {m: 33, n: 5, k: 20}, {m: 5, n: 33, k: 20}, {m: 17, n: 70, k: 0}, {m: 60, n: 300, k: 30}} {
			c.Begin(allPlacements()[i])
			p.gap = i
			p.checkBias(t, c, r)
		}
	})
}

// checkBias compares GemmBias with the product plus the bias, added first or last.
func (p product) checkBias(t *testing.T, c *kernelCall, r *rand.Rand) {
	t.Helper()
	x, y, bias := matrix(r, p.m, p.k), matrix(r, p.k, p.n), normals(r, p.m)
	scratch := make([]float32, vek.GemmScratch(p.m, p.n, p.k))
	want := matrix(r, p.m, p.n)
	vek.Gemm(want, x, y, vek.Plain, scratch)
	c.Again()
	a, b, shift := c.InMatrix(x, p.k+p.gap), c.InMatrix(y, p.n), c.In(bias)
	got := c.OutMatrix(p.m, p.n, p.n+p.gap)
	work := c.Scratch(len(scratch))
	if !c.Do(func() { vek.GemmBias(got, a, b, shift, work) }) {
		t.Fatalf("%v", p)
	}
	for i, b := range bias {
		for j, v := range want.Row(i) {
			if got := got.Row(i)[j]; !(math.Abs(float64(got-(v+b))) <= 4*epsilon*(math.Abs(float64(v))+math.Abs(float64(b))+4)) {
				t.Fatalf("%v: c[%d][%d] is %v, expected %v + %v", p, i, j, got, v, b)
			}
		}
	}
}

// Weights give the bits of GemmBias at the level that packed them last and at any other.
func TestWeights(t *testing.T) {
	r := generator(8)
	for _, p := range []product{
		{m: 1, n: 1, k: 1}, {m: 256, n: 1, k: 128}, {m: 17, n: 3, k: 300, gap: 3}, {m: 300, n: 9, k: 20, gap: 1}, {m: 20, n: 14, k: 0},
		{m: 256, n: 64, k: 128}, {m: 300, n: 70, k: 270, gap: 2}, {m: 3, n: 40, k: 5}, {m: 520, n: 2, k: 257}, {m: 0, n: 5, k: 4},
	} {
		a, b, bias := matrix(r, p.m, p.k), matrix(r, p.k, p.n), normals(r, p.m)
		wide := vek.Matrix{Data: make([]float32, p.m*(p.k+p.gap)), Rows: p.m, Cols: p.k, Stride: p.k + p.gap}
		const all = vek.ForProducts | vek.ForNarrowProducts | vek.ForTransposedProducts
		every, generic := vek.NewWeights(wide, all), vek.NewWeights(wide, all)
		for i := range p.m {
			copy(wide.Row(i), a.Row(i))
		}
		bT, ahead := matrix(r, p.m, p.n+1).Columns(0, p.n), matrix(r, 5, 70)
		scratch := make([]float32, max(vek.GemmScratch(p.m, p.n, p.k), vek.GemmScratch(p.k, p.n, p.m)))
		var laid []*vek.Weights
		level := vek.CurrentLevel()
		must.Do(t, vek.SetLevel(vek.Generic))
		generic.Pack()
		must.Do(t, vek.SetLevel(level))
		vektest.EachLevel(t, func(*testing.T, vek.Level) {
			every.Pack()
			laid = append(laid, every, generic, vek.NewWeights(wide, all), vek.NewWeights(wide, vek.ForProducts))
		})
		vektest.EachLevel(t, func(t *testing.T, _ vek.Level) {
			want, got := matrix(r, p.m, p.n), matrix(r, p.m, p.n)
			wantT, gotT := matrix(r, p.k, p.n), matrix(r, p.k, p.n)
			vek.GemmBias(want, a, b, bias, scratch)
			vek.Gemm(wantT, a, bT, vek.TransposeA, scratch)
			for i, w := range laid {
				clear(got.Data)
				w.GemmBias(got, b, bias, scratch)
				w.GemmTransposed(gotT, bT, vek.Plain, scratch, ahead, ahead.Columns(0, 3))
				if !slices.Equal(got.Data, want.Data) || !slices.Equal(gotT.Data, wantT.Data) {
					t.Errorf("%v: weights %d of %d: bits differ", p, i, len(laid))
				}
			}
		})
	}
}
