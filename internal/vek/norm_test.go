package vek_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/internal/vektest"
)

const normEps = 1e-5

// column is the normalisation of one position in float64.
type column struct {
	x, gamma   []float64
	mean, rstd float64
	size       float64 // mean |x|
}

func columnOf(x vek.Matrix, t int, gamma []float32) column {
	c := column{x: make([]float64, x.Rows), gamma: make([]float64, x.Rows)}
	for h := range c.x {
		c.x[h], c.gamma[h] = float64(x.Row(h)[t]), float64(gamma[h])
	}
	return c.measured()
}

// measured fills in the moments.
func (c column) measured() column {
	n := float64(len(c.x))
	variance := 0.0
	c.mean, c.size = 0, 0
	for _, v := range c.x {
		c.mean += v / n
		c.size += math.Abs(v) / n
	}
	for _, v := range c.x {
		variance += (v - c.mean) * (v - c.mean) / n
	}
	c.rstd = 1 / math.Sqrt(variance+normEps)
	return c
}

func (c column) hat(h int) float64 { return (c.x[h] - c.mean) * c.rstd }

// check compares a column of y, mean and rstd. The error of the mean enters every row.
func (c column) check(t testing.TB, y vek.Matrix, at int, beta []float32, mean, rstd float32) bool {
	t.Helper()
	n := len(c.x)
	ok := near{value: c.mean, size: c.size, n: n}.check(t, mean, "mean of column %d", at) &&
		near{value: c.rstd, size: c.rstd * (1 + c.rstd*c.size), n: n}.check(t, rstd, "rstd of column %d", at)
	for h := 0; ok && h < n; h++ {
		b := float64(beta[h])
		spread := abs(c.hat(h)) + c.rstd*(math.Abs(c.x[h])+c.size)
		want := near{value: c.gamma[h]*c.hat(h) + b, size: spread*math.Abs(c.gamma[h]) + math.Abs(b), n: n}
		ok = want.check(t, y.Row(h)[at], "y[%d][%d]", h, at)
	}
	return ok
}

// normCase is one call of LayerNorm and then LayerNormGrad.
type normCase struct {
	rows, cols, gap int
	shift           float32 // of x
	alias           bool    // y is x, dx is dy
}

func (n normCase) check(t *testing.T, c *kernelCall, r *rand.Rand) {
	t.Helper()
	x, gamma, beta := matrix(r, n.rows, n.cols), normals(r, n.rows), normals(r, n.rows)
	for i := range x.Data {
		x.Data[i] += n.shift
	}
	mean, rstd := n.forward(t, c, x, gamma, beta)
	if t.Failed() {
		t.Fatalf("LayerNorm %+v", n)
	}
	n.backward(t, c, r, x, gamma, mean, rstd)
	if t.Failed() {
		t.Fatalf("LayerNormGrad %+v", n)
	}
}

// place returns a source and a destination of the same shape, which are one matrix if the case is
// an alias.
func (n normCase) place(c *kernelCall, m vek.Matrix) (src, dst vek.Matrix) {
	if n.alias {
		src = c.InOutMatrix(m, n.cols+n.gap)
		return src, src
	}
	return c.InMatrix(m, n.cols+n.gap), c.OutMatrix(n.rows, n.cols, n.cols+n.gap)
}

func (n normCase) forward(t *testing.T, c *kernelCall, x vek.Matrix, gamma, beta []float32) (mean, rstd []float32) {
	t.Helper()
	c.Again()
	in, y := n.place(c, x)
	g, b := c.In(gamma), c.In(beta)
	mean, rstd = c.Out(n.cols), c.Out(n.cols)
	if !c.Do(func() { vek.LayerNorm(y, in, g, b, mean, rstd, normEps) }) {
		return nil, nil
	}
	for j := range n.cols {
		if !columnOf(x, j, gamma).check(t, y, j, beta, mean[j], rstd[j]) {
			return nil, nil
		}
	}
	return append([]float32(nil), mean...), append([]float32(nil), rstd...)
}

func (n normCase) backward(t *testing.T, c *kernelCall, r *rand.Rand, x vek.Matrix, gamma, mean, rstd []float32) {
	t.Helper()
	dy, dgamma, dbeta := matrix(r, n.rows, n.cols), normals(r, n.rows), normals(r, n.rows)
	c.Again()
	d, dx := n.place(c, dy)
	in, g, mu, rs := c.InMatrix(x, n.cols), c.In(gamma), c.In(mean), c.In(rstd)
	dg, db, scratch := c.InOut(dgamma), c.InOut(dbeta), c.Scratch(2*n.cols)
	if !c.Do(func() { vek.LayerNormGrad(dx, d, in, g, mu, rs, dg, db, scratch) }) {
		return
	}
	sumG, sumB := make([]near, n.rows), make([]near, n.rows)
	for j := range n.cols {
		col := columnOf(x, j, gamma)
		col.mean, col.rstd = float64(mean[j]), float64(rstd[j])
		for h := range n.rows {
			v := float64(dy.Row(h)[j])
			sumG[h].add(v * col.hat(h))
			sumB[h].add(v)
		}
		if !col.checkGrad(t, dx, dy, j) {
			return
		}
	}
	for h := range n.rows {
		sumG[h].add(float64(dgamma[h]))
		sumB[h].add(float64(dbeta[h]))
		sumG[h].check(t, dg[h], "dgamma[%d]", h)
		sumB[h].check(t, db[h], "dbeta[%d]", h)
	}
}

// checkGrad compares a column of dx with dy times the Jacobian, (δ_hi − 1/n −
// x̂_h·x̂_i/n)·rstd·γ_i, row by row.
func (c column) checkGrad(t testing.TB, dx, dy vek.Matrix, at int) bool {
	t.Helper()
	n := float64(len(c.x))
	for h := range c.x {
		var want near
		for i := range c.x {
			g := float64(dy.Row(i)[at]) * c.gamma[i] * c.rstd
			want.add(-g/n, -g*c.hat(h)*c.hat(i)/n)
			if i == h {
				want.add(g)
			}
		}
		if !want.check(t, dx.Row(h)[at], "dx[%d][%d]", h, at) {
			return false
		}
	}
	return true
}

func TestLayerNorm(t *testing.T) {
	eachCall(t, func(t *testing.T, c *kernelCall) {
		r := generator(1)
		for _, rows := range []int{1, 2, 3, 16, 33} {
			for _, cols := range []int{0, 1, 2, 3, 15, 16, 17, 33, 65} {
				normCase{rows: rows, cols: cols, gap: cols % 3}.check(t, c, r)
				normCase{rows: rows, cols: cols, shift: 10, alias: true}.check(t, c, r)
			}
		}
	})
	vektest.EachLevel(t, func(t *testing.T, _ vek.Level) {
		c, r := newCall(t), generator(2)
		for _, n := range []normCase{{rows: 128, cols: 100}, {rows: 3, cols: 1027, gap: 5}, {rows: 300, cols: 7, shift: -3}} {
			c.Begin(atEnd)
			n.check(t, c, r)
		}
	})
}

// The truth of TestLayerNorm's backward pass is the derivative of its forward pass, by central
// differences.
func TestLayerNormJacobian(t *testing.T) {
	const h = 1e-5
	r := generator(3)
	x, dy, gamma := matrix(r, 7, 1), matrix(r, 7, 1), normals(r, 7)
	loss := func(i int, by float64) (sum float64) {
		c := columnOf(x, 0, gamma)
		c.x[i] += by
		c = c.measured()
		for k := range c.x {
			sum += float64(dy.Row(k)[0]) * c.gamma[k] * c.hat(k)
		}
		return sum
	}
	dx := matrix(r, 7, 1)
	for i := range 7 {
		dx.Row(i)[0] = float32((loss(i, h) - loss(i, -h)) / (2 * h))
	}
	columnOf(x, 0, gamma).checkGrad(t, dx, dy, 0)
}

// The result of a column depends neither on the other columns nor on its index.
func TestLayerNormColumnsApart(t *testing.T) {
	const rows, cols = 21, 75
	r := generator(4)
	x, dy := matrix(r, rows, cols), matrix(r, rows, cols)
	gamma, beta := normals(r, rows), normals(r, rows)
	run := func(width int) (y, dx vek.Matrix) {
		y, dx = matrix(r, rows, cols), matrix(r, rows, cols)
		mean, rstd := make([]float32, cols), make([]float32, cols)
		sink, scratch := make([]float32, rows), make([]float32, 2*cols)
		for j := 0; j < cols; j += width {
			w := min(width, cols-j)
			vek.LayerNorm(columns(y, j, w), columns(x, j, w), gamma, beta, mean, rstd, normEps)
			vek.LayerNormGrad(columns(dx, j, w), columns(dy, j, w), columns(x, j, w), gamma, mean, rstd, sink, sink, scratch)
		}
		return y, dx
	}
	vektest.EachLevel(t, func(t *testing.T, _ vek.Level) {
		y, dx := run(cols)
		for _, width := range []int{1, 2, 7, 16, 40} {
			y1, dx1 := run(width)
			sameBits(t, "y", y1.Data, y.Data)
			sameBits(t, "dx", dx1.Data, dx.Data)
		}
	})
}

// Far from 0 a float32 sum of a column loses the digits in which its elements differ. Only the
// rounding of the mean itself may change the result.
func TestLayerNormFarFromZero(t *testing.T) {
	const rows, cols, shift = 1024, 9, 1e5
	r := generator(5)
	x, y := matrix(r, rows, cols), matrix(r, rows, cols)
	for i := range x.Data {
		x.Data[i] += shift
	}
	gamma, beta := make([]float32, rows), make([]float32, rows)
	for h := range gamma {
		gamma[h] = 1
	}
	mean, rstd := make([]float32, cols), make([]float32, cols)
	vektest.EachLevel(t, func(t *testing.T, _ vek.Level) {
		vek.LayerNorm(y, x, gamma, beta, mean, rstd, normEps)
		for j := range cols {
			c := columnOf(x, j, gamma)
			if e := math.Abs(float64(rstd[j])/c.rstd - 1); e > 5e-6 {
				t.Errorf("column %d: rstd is off by %.2g", j, e)
			}
			for h := range rows {
				if e := math.Abs(float64(y.Row(h)[j]) - c.hat(h)); e > 1.5*epsilon*shift+1e-5 {
					t.Fatalf("y[%d][%d] is off by %.2g", h, j, e)
				}
			}
		}
	})
}
