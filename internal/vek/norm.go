package vek

import "math"

// LayerNorm normalises every column of x (a position; rows are channels) and writes y:
//
//	y = (x − mean)·rstd·gamma + beta,  rstd = 1/√(var + eps)
//
// with mean and variance over the column's rows. gamma, beta have a value a row; mean and rstd, a value a column,
// are written. y may be x. A column's result does not depend on the other columns.
func LayerNorm(y, x Matrix, gamma, beta, mean, rstd []float32, eps float32) {
	checkNorm("LayerNorm", y, x, gamma, mean, rstd)
	if len(beta) != x.Rows {
		panic("vek: LayerNorm: lengths differ")
	}
	layerNormGeneric(y, x, gamma, beta, mean[:x.Cols], rstd[:x.Cols], eps)
}

// LayerNormGrad writes dx = ∂loss/∂x from dy = ∂loss/∂y and adds to dgamma and dbeta, a value a row. mean and
// rstd are LayerNorm's; scratch has 2·Cols floats. dx may be dy.
func LayerNormGrad(dx, dy, x Matrix, gamma, mean, rstd, dgamma, dbeta, scratch []float32) {
	checkNorm("LayerNormGrad", dy, x, gamma, mean, rstd)
	checkNorm("LayerNormGrad", dx, x, dgamma, mean, rstd)
	if len(dbeta) != x.Rows || len(scratch) < 2*x.Cols {
		panic("vek: LayerNormGrad: lengths differ")
	}
	layerNormGradGeneric(dx, dy, x, gamma, mean[:x.Cols], rstd[:x.Cols], dgamma, dbeta, scratch[:2*x.Cols])
}

func checkNorm(name string, y, x Matrix, gamma, mean, rstd []float32) {
	x.check(name)
	y.check(name)
	if y.Rows != x.Rows || y.Cols != x.Cols || len(gamma) != x.Rows || len(mean) < x.Cols || len(rstd) < x.Cols {
		panic("vek: " + name + ": shapes differ")
	}
}

// Two passes: the mean first, then the squared deviations from it.
func layerNormGeneric(y, x Matrix, gamma, beta, mean, rstd []float32, eps float32) {
	clear(mean)
	clear(rstd)
	for h := range x.Rows {
		row := x.Row(h)[:len(mean)]
		for t := range mean {
			mean[t] += row[t]
		}
	}
	n := 1 / float32(x.Rows)
	for t := range mean {
		mean[t] *= n
	}
	for h := range x.Rows {
		row := x.Row(h)[:len(mean)]
		rstd := rstd[:len(mean)]
		for t, m := range mean {
			d := row[t] - m
			rstd[t] += float32(d * d)
		}
	}
	for t, v := range rstd {
		rstd[t] = float32(1 / math.Sqrt(float64(v*n+eps)))
	}
	for h := range x.Rows {
		in, out := x.Row(h)[:len(mean)], y.Row(h)[:len(mean)]
		rstd := rstd[:len(mean)]
		g, b := gamma[h], beta[h]
		for t, m := range mean {
			out[t] = float32((in[t]-m)*rstd[t]*g) + b
		}
	}
}

// With x̂ = (x − mean)·rstd and g = dy·gamma, dx = rstd·(g − mean(g) − x̂·mean(g·x̂)).
func layerNormGradGeneric(dx, dy, x Matrix, gamma, mean, rstd, dgamma, dbeta, scratch []float32) {
	cols := len(mean)
	sum, dot := scratch[:cols], scratch[cols:2*cols]
	clear(scratch)
	for h := range x.Rows {
		in, d := x.Row(h)[:cols], dy.Row(h)[:cols]
		rstd, sum, dot := rstd[:cols], sum[:cols], dot[:cols]
		gamma := gamma[h]
		var dg, db [2]float32 // two chains each
		for t, m := range mean {
			hat := float32((in[t] - m) * rstd[t])
			v := d[t]
			dg[t&1] += float32(v * hat)
			db[t&1] += v
			g := float32(v * gamma)
			sum[t] += g
			dot[t] += float32(g * hat)
		}
		dgamma[h] += dg[0] + dg[1]
		dbeta[h] += db[0] + db[1]
	}
	n := 1 / float32(x.Rows)
	for t := range sum {
		sum[t] *= n
		dot[t] *= n
	}
	for h := range x.Rows {
		in, d, out := x.Row(h)[:cols], dy.Row(h)[:cols], dx.Row(h)[:cols]
		rstd, sum, dot := rstd[:cols], sum[:cols], dot[:cols]
		gamma := gamma[h]
		for t, m := range mean {
			hat := float32((in[t] - m) * rstd[t])
			out[t] = rstd[t] * (float32(d[t]*gamma) - sum[t] - float32(hat*dot[t]))
		}
	}
}

// AffineGrad sets dx = a·dy + b·x + c, one row of BatchNorm's backward. dx may be dy or x.
func AffineGrad(dx, dy, x []float32, a, b, c float32) {
	sameLen("AffineGrad", len(dx), dy, x)
	dy, x = dy[:len(dx)], x[:len(dx)]
	for i := range dx {
		dx[i] = float32(a*dy[i]) + float32(b*x[i]) + c
	}
}
