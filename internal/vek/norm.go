package vek

import "math"

// LayerNorm normalises every column of x (a position; rows are channels) and writes y
// (docs/maths.md §3.3; Ba, Kiros and Hinton, arXiv 1607.06450):
//
//	y = (x − mean)·rstd·gamma + beta,  rstd = 1/√(var + eps)
//
// with mean and variance over the rows of the column. gamma and beta have one value per row. mean
// and rstd, one value per column, are written. y may be x. The result of a column does not depend
// on the other columns.
func LayerNorm(y, x Matrix, gamma, beta, mean, rstd []float32, eps float32) {
	checkNorm("LayerNorm", y, x, gamma, mean, rstd)
	sameLen("LayerNorm", x.Rows, beta)
	for t := 0; t < x.Cols; t += normBlock {
		w := min(normBlock, x.Cols-t)
		x, y := x.Columns(t, t+w), y.Columns(t, t+w)
		layerNorm(y.Data, x.Data, y.Stride, x.Stride, gamma, beta, mean[t:t+w], rstd[t:t+w], 1/float32(x.Rows), eps)
	}
}

// LayerNormGrad writes dx = ∂loss/∂x from dy = ∂loss/∂y, and adds to dgamma and dbeta, one value
// per row. mean and rstd are those that LayerNorm wrote. scratch has 2·Cols floats. dx may be dy.
func LayerNormGrad(dx, dy, x Matrix, gamma, mean, rstd, dgamma, dbeta, scratch []float32) {
	checkNorm("LayerNormGrad", dy, x, gamma, mean, rstd)
	checkNorm("LayerNormGrad", dx, x, gamma, mean, rstd)
	sameLen("LayerNormGrad", x.Rows, dgamma, dbeta)
	require("LayerNormGrad", len(scratch) >= 2*x.Cols)
	for t := 0; t < x.Cols; t += normBlock {
		w := min(normBlock, x.Cols-t)
		dx, dy, x, sum, dot := dx.Columns(t, t+w), dy.Columns(t, t+w), x.Columns(t, t+w), scratch[:w], scratch[w:2*w]
		clear(sum)
		clear(dot)
		layerNormGrad(dx.Data, dy.Data, x.Data, dx.Stride, dy.Stride, x.Stride, gamma, mean[t:t+w], rstd[t:t+w],
			dgamma, dbeta, sum, dot, 1/float32(x.Rows))
	}
}

func checkNorm(name string, y, x Matrix, gamma, mean, rstd []float32) {
	x.check(name)
	y.check(name)
	require(name, y.Rows == x.Rows && y.Cols == x.Cols && len(mean) >= x.Cols && len(rstd) >= x.Cols)
	sameLen(name, x.Rows, gamma)
}

// normBlock is the number of columns that a norm processes at a time: their sums stay in the L1
// cache, and sums along a row stay short.
const normBlock = 128

// y = (x − mean)·rstd·gamma + beta down each column, with rstd = 1/√(variance + eps). There are
// three passes over len(gamma) rows and len(mean) ≤ normBlock columns: the mean, the deviations
// from it, the result. The mean of the deviations is the rounding error of the first mean and
// corrects it. share is 1/rows.
func layerNormGeneric(y, x []float32, yStride, xStride int, gamma, beta, mean, rstd []float32, share, eps float32) {
	w := len(mean)
	var buf [normBlock]float32
	in, out, dev := Matrix{x, len(gamma), w, xStride}, Matrix{y, len(gamma), w, yStride}, buf[:w]
	columnSums(mean, in)
	for t := range mean {
		mean[t] *= share
	}
	columnDeviations(dev, rstd, in, mean)
	for t, d := range dev {
		d = float32(d * share)
		mean[t] += d
		rstd[t] = float32(1 / math.Sqrt(float64(float32(rstd[t]*share)-float32(d*d)+eps)))
	}
	for h := range gamma {
		in, out, rstd := in.Row(h)[:w], out.Row(h)[:w], rstd[:w]
		g, b := gamma[h], beta[h]
		for t, m := range mean[:w] {
			out[t] = float32((in[t]-m)*rstd[t]*g) + b
		}
	}
}

// columnSums sets sum to the sums of x over its rows, four at a time.
func columnSums(sum []float32, x Matrix) {
	clear(sum)
	h := 0
	for ; h+4 <= x.Rows; h += 4 {
		a, b, c, d := x.Row(h)[:len(sum)], x.Row(h + 1)[:len(sum)], x.Row(h + 2)[:len(sum)], x.Row(h + 3)[:len(sum)]
		for t := range sum {
			sum[t] += (a[t] + b[t]) + (c[t] + d[t])
		}
	}
	for ; h < x.Rows; h++ {
		a := x.Row(h)[:len(sum)]
		for t := range sum {
			sum[t] += a[t]
		}
	}
}

// columnDeviations sets sum and squares to the sums of x − mean and of its square over the rows,
// two at a time.
func columnDeviations(sum, squares []float32, x Matrix, mean []float32) {
	clear(sum)
	clear(squares)
	w := len(mean)
	sum, squares = sum[:w], squares[:w]
	h := 0
	for ; h+2 <= x.Rows; h += 2 {
		a, b := x.Row(h)[:w], x.Row(h + 1)[:w]
		for t, m := range mean {
			u, v := a[t]-m, b[t]-m
			sum[t] += u + v
			squares[t] += float32(u*u) + float32(v*v)
		}
	}
	if h < x.Rows {
		a := x.Row(h)[:w]
		for t, m := range mean {
			u := a[t] - m
			sum[t] += u
			squares[t] += float32(u * u)
		}
	}
}

// With x̂ = (x − mean)·rstd and g = dy·gamma, dx = rstd·(g − mean(g) − x̂·mean(g·x̂)). sum and dot
// start as zeros and become the columns' sums of g and g·x̂. share is 1/rows.
func layerNormGradGeneric(dx, dy, x []float32, dxStride, dyStride, xStride int,
	gamma, mean, rstd, dgamma, dbeta, sum, dot []float32, share float32) {
	w := len(mean)
	in, grad, out := Matrix{x, len(gamma), w, xStride}, Matrix{dy, len(gamma), w, dyStride}, Matrix{dx, len(gamma), w, dxStride}
	for h, g := range gamma {
		dg, db := normGradSums(sum, dot, grad.Row(h), in.Row(h), mean, rstd, g)
		dgamma[h] += dg
		dbeta[h] += db
	}
	for t := range sum {
		sum[t] *= share
		dot[t] *= share
	}
	for h, gamma := range gamma {
		in, d, out := in.Row(h)[:w], grad.Row(h)[:w], out.Row(h)[:w]
		rstd, sum, dot := rstd[:w], sum[:w], dot[:w]
		for t, m := range mean[:w] {
			hat := (in[t] - m) * rstd[t]
			out[t] = rstd[t] * (float32(d[t]*gamma) - sum[t] - float32(hat*dot[t]))
		}
	}
}

// normGradSums adds g and g·x̂ of one row to sum and dot. It returns the row's sums of dy·x̂ and
// dy, each computed in two chains.
func normGradSums(sum, dot, dy, x, mean, rstd []float32, gamma float32) (dg, db float32) {
	w := len(mean)
	sum, dot, dy, x, rstd = sum[:w], dot[:w], dy[:w], x[:w], rstd[:w]
	var dg1, db1 float32
	t := 0
	for ; t+1 < w; t += 2 {
		v0, v1 := dy[t], dy[t+1]
		h0, h1 := float32((x[t]-mean[t])*rstd[t]), float32((x[t+1]-mean[t+1])*rstd[t+1])
		g0, g1 := float32(v0*gamma), float32(v1*gamma)
		dg += float32(v0 * h0)
		dg1 += float32(v1 * h1)
		db += v0
		db1 += v1
		sum[t] += g0
		sum[t+1] += g1
		dot[t] += float32(g0 * h0)
		dot[t+1] += float32(g1 * h1)
	}
	if t < w {
		v := dy[t]
		hat := float32((x[t] - mean[t]) * rstd[t])
		g := float32(v * gamma)
		dg += float32(v * hat)
		db += v
		sum[t] += g
		dot[t] += float32(g * hat)
	}
	return dg + dg1, db + db1
}

// AffineGrad sets dx = a·dy + b·x + c, the backward pass of BatchNorm for one row. dx may be dy or
// x.
func AffineGrad(dx, dy, x []float32, a, b, c float32) {
	sameLen("AffineGrad", len(dx), dy, x)
	affineGrad(dx, dy, x, a, b, c)
}

func affineGradGeneric(dx, dy, x []float32, a, b, c float32) {
	dy, x = dy[:len(dx)], x[:len(dx)]
	for i := range dx {
		dx[i] = float32(a*dy[i]) + float32(b*x[i]) + c
	}
}
