package convmode

import "github.com/s4d-fast/s4d-fast/internal/vek"

// pairs holds what a network that compares two sequences computes after the pool, one row per pair
// (docs/maths.md §3.4).
type pairs struct {
	features, dFeatures rows // [pairs][4H] [a, b, a−b, a·b]
	linear, dLinear     rows // [pairs][H] W·features + bias
	active, dActive     rows // [pairs][H] GELU of linear, the decoder's input
}

// rows is a matrix whose first rows are in use.
type rows struct{ vek.Matrix }

func (r rows) to(n int) vek.Matrix {
	r.Rows, r.Data = n, r.Data[:n*r.Cols]
	return r.Matrix
}

func newPairs(count, h int) pairs {
	fresh := func(columns int) rows { return rows{vek.MatrixOf(vek.Aligned(count*columns), count, columns)} }
	return pairs{fresh(4 * h), fresh(4 * h), fresh(h), fresh(h), fresh(h), fresh(h)}
}

// compareMatrix views the weight [H][4H] of the linear layer.
func (n *Net) compareMatrix(weight []float32) vek.Matrix {
	return vek.MatrixOf(weight, n.cfg.DModel, 4*n.cfg.DModel)
}

// pairOf returns the pooled sequences of pair p, or their gradients, and the four parts of its
// features.
func (n *Net) pairOf(pooled []float32, features rows, p int) (a, b []float32, part [4][]float32) {
	h := n.cfg.DModel
	row := features.Row(p)
	for i := range part {
		part[i] = row[i*h : (i+1)*h]
	}
	return pooled[2*p*h : (2*p+1)*h], pooled[(2*p+1)*h : (2*p+2)*h], part
}

// compare returns GELU(W·[a, b, a−b, a·b] + bias) for every pair of the batch.
func (n *Net) compare() vek.Matrix {
	k, count := &n.pairs, n.outputCount()
	for p := range count {
		a, b, part := n.pairOf(n.pooled, k.features, p)
		copy(part[0], a)
		copy(part[1], b)
		for i := range a {
			part[2][i], part[3][i] = a[i]-b[i], a[i]*b[i]
		}
		copy(k.linear.Row(p), n.w.CompareBias)
	}
	linear, active := k.linear.to(count), k.active.to(count)
	vek.Gemm(linear, k.features.to(count), n.compareMatrix(n.w.CompareWeight), false, true, true, n.workers[0].gemm)
	vek.GELU(active.Data, linear.Data)
	return active
}

// compareGrad adds the gradients of the linear layer and computes dPooled from dActive.
func (n *Net) compareGrad() {
	k, count, scratch := &n.pairs, n.outputCount(), n.workers[0].gemm
	d, df := k.dLinear.to(count), k.dFeatures.to(count)
	for p := range count {
		vek.GELUGrad(k.dLinear.Row(p), k.linear.Row(p), k.dActive.Row(p))
		vek.Add(n.grads.CompareBias, n.grads.CompareBias, k.dLinear.Row(p))
	}
	vek.Gemm(n.compareMatrix(n.grads.CompareWeight), d, k.features.to(count), true, false, true, scratch)
	vek.Gemm(df, d, n.compareMatrix(n.w.CompareWeight), false, false, false, scratch)
	for p := range count {
		a, b, _ := n.pairOf(n.pooled, k.features, p)
		da, db, g := n.pairOf(n.dPooled, k.dFeatures, p)
		for i := range a {
			da[i] = g[0][i] + g[2][i] + float32(g[3][i]*b[i])
			db[i] = g[1][i] - g[2][i] + float32(g[3][i]*a[i])
		}
	}
}
