package convmode

import "github.com/s4d-fast/s4d-fast/internal/vek"

// pairs holds what a network that compares two sequences computes after the pool, one row per pair
// (docs/maths.md §3.4).
type pairs struct {
	features, dFeatures vek.Matrix // [pairs][4H] [a, b, a−b, a·b]
	linear, dLinear     vek.Matrix // [pairs][H] W·features + bias
	active, dActive     vek.Matrix // [pairs][H] GELU of linear, the decoder's input
}

func newPairs(count, h int) pairs {
	fresh := func(columns int) vek.Matrix { return vek.MatrixOf(vek.Aligned(count*columns), count, columns) }
	return pairs{fresh(4 * h), fresh(4 * h), fresh(h), fresh(h), fresh(h), fresh(h)}
}

// compareMatrix views the weight [H][4H] of the linear layer.
func (n *Net) compareMatrix(weight []float32) vek.Matrix {
	return vek.MatrixOf(weight, n.cfg.DModel, 4*n.cfg.DModel)
}

// pairOf returns the pooled sequences of pair i, or their gradients, and the four parts of its
// features.
func (hd *head) pairOf(pooled []float32, features vek.Matrix, i int) (a, b []float32, part [4][]float32) {
	h := hd.net.cfg.DModel
	row := features.Row(i)
	for j := range part {
		part[j] = row[j*h : (j+1)*h]
	}
	return pooled[2*i*h : (2*i+1)*h], pooled[(2*i+1)*h : (2*i+2)*h], part
}

// compare returns GELU(W·[a, b, a−b, a·b] + bias) for every pair of the batch.
func (hd *head) compare() vek.Matrix {
	k, count := &hd.pairs, hd.outputCount()
	for i := range count {
		a, b, part := hd.pairOf(hd.pooled, k.features, i)
		copy(part[0], a)
		copy(part[1], b)
		for j := range a {
			part[2][j], part[3][j] = a[j]-b[j], a[j]*b[j]
		}
		copy(k.linear.Row(i), hd.net.w.CompareBias)
	}
	linear, active := k.linear.RowRange(0, count), k.active.RowRange(0, count)
	vek.Gemm(linear, k.features.RowRange(0, count), hd.net.compareMatrix(hd.net.w.CompareWeight), vek.TransposeB|vek.Accumulate, hd.net.workers[0].gemm)
	vek.GELU(active.Data[:count*active.Cols], linear.Data[:count*linear.Cols])
	return active
}

// compareGrad adds the gradients of the linear layer and computes dPooled from dActive.
func (hd *head) compareGrad() {
	k, count, scratch := &hd.pairs, hd.outputCount(), hd.net.workers[0].gemm
	d, df := k.dLinear.RowRange(0, count), k.dFeatures.RowRange(0, count)
	for i := range count {
		vek.GELUSlope(k.active.Row(i), k.dLinear.Row(i), k.linear.Row(i))
		vek.Mul(k.dLinear.Row(i), k.dLinear.Row(i), k.dActive.Row(i))
		vek.Add(hd.pass.grads.CompareBias, hd.pass.grads.CompareBias, k.dLinear.Row(i))
	}
	vek.Gemm(hd.net.compareMatrix(hd.pass.grads.CompareWeight), d, k.features.RowRange(0, count), vek.TransposeA|vek.Accumulate, scratch)
	vek.Gemm(df, d, hd.net.compareMatrix(hd.net.w.CompareWeight), vek.Plain, scratch)
	for i := range count {
		a, b, _ := hd.pairOf(hd.pooled, k.features, i)
		da, db, g := hd.pairOf(hd.dPooled, k.dFeatures, i)
		for j := range a {
			da[j] = g[0][j] + g[2][j] + float32(g[3][j]*b[j])
			db[j] = g[1][j] - g[2][j] + float32(g[3][j]*a[j])
		}
	}
}
