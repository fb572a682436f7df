package convmode

import (
	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/model"
)

// block is one block of the network: x → norm → SSM → activation → mixing → residual sum → norm.
type block struct {
	net     *Net
	pass    *pass
	index   int
	in, out *input // x_i and x_{i+1}
	weights *model.Layer
	grads   *model.Layer // during Backward

	sequence sequenceLayer
	v        array // output of the sequence layer; Backward overwrites it

	inner  []float32    // [B][H] dropout after the activation; nil without dropout
	outer  []float32    // [B][H] dropout on the block's output
	mixing *vek.Weights // [2H][H] or [H][H]; nil without mixing
	z      array        // [2H or H] mixing before the gate; no memory in inference
	sum    array        // residual sum before the norm; out.x without a norm
	norm   *norm        // from sum to out.x; nil unless post-norm

	loops struct{ drop, tile, inputGrad func(worker, item int) }
}

func (bk *block) init() {
	bk.sequence = bk.newSequence()
	if bk.net.opt.Training && bk.net.cfg.Dropout > 0 {
		bk.inner = make([]float32, bk.net.opt.MaxBatch*bk.net.cfg.DModel)
		bk.outer = make([]float32, bk.net.opt.MaxBatch*bk.net.cfg.DModel)
	}
	if bk.net.cfg.MixingRows() > 0 {
		copies := vek.ForProducts | vek.ForSplitProducts
		if bk.net.opt.Training {
			copies |= vek.ForTransposedProducts
		}
		bk.mixing = vek.NewWeights(vek.MatrixOf(bk.weights.MixWeight, bk.net.cfg.MixingRows(), bk.net.cfg.DModel), copies)
	}
	bk.loops.drop, bk.loops.tile, bk.loops.inputGrad = bk.dropChannel, bk.forwardTile, bk.inputGradChannel
}

// forwardTile runs all operations after the convolution on one tile, so that everything between v
// and x_{i+1} stays in the cache: activation, dropout, mixing, GLU, dropout, residual sum,
// LayerNorm, and the LayerNorm before the next block.
func (bk *block) forwardTile(w, item int) {
	ws := &bk.net.workers[w]
	b, s := bk.pass.tile(item)
	g := scratchTile(ws.act, bk.net.cfg.DModel, s.hi-s.lo)
	bk.activate(g, b, s)

	sum := bk.sum.tile(b, s)
	normed := bk.norm != nil && !bk.net.batchNorm()
	if !bk.pass.train && normed {
		sum = scratchTile(ws.out, sum.Rows, sum.Cols) // sum and x_{i+1} share memory
	}
	var next vek.Matrix // x_{i+1}, if a LayerNorm writes it
	if normed {
		next = bk.out.x.tile(b, s)
	}
	bk.mixTile(ws, sum, g, next, b, s)
	if normed {
		bk.norm.layerNorm(ws, next, sum, b, s)
	}
	bk.out.layerNorm(ws, b, s)
}

// activate sets g = dropout(activation(v)) of a tile.
func (bk *block) activate(g vek.Matrix, b int, s span) {
	v, scale := bk.v.tile(b, s), bk.pass.scales(bk.inner, b, bk.net.cfg.DModel)
	for h := range g.Rows {
		prefetchRow(v, h+prefetchAhead)
		row := g.Row(h)
		switch bk.net.cfg.Activation {
		case model.ActivationGELU:
			vek.GELU(row, v.Row(h))
		case model.ActivationGELUTanh:
			vek.GELUTanh(row, v.Row(h))
		default:
			copy(row, v.Row(h))
		}
		if scale != nil {
			vek.Scale(row, scale[h], row)
		}
	}
}

// mixTile sets out = x_i + dropout(y). With gates y = a·σ(b), see gate; with linear mixing y = z =
// W·g + bias, and without mixing y = g. It overwrites g, and prefetches next.
func (bk *block) mixTile(ws *worker, out, g, next vek.Matrix, b int, s span) {
	x, width := bk.in.x.tile(b, s), s.hi-s.lo
	y, gated := g, bk.net.cfg.Gated()
	var factor, gate vek.Matrix
	if rows := bk.net.cfg.MixingRows(); rows > 0 {
		z := scratchTile(ws.wide, rows, width)
		ws.ahead = ws.ahead[:0]
		if bk.pass.train && gated {
			z = bk.z.tile(b, s)
			ws.ahead = append(ws.ahead, z.RowRange(min(32, rows-1), rows)) // too late for the first ones
		}
		bk.mixing.GemmBias(z, g, bk.weights.MixBias, ws.gemm, ws.ahead...)
		if gated {
			factor, gate = bk.gate(z, g, bk.v.tile(b, s))
		} else {
			y = z
		}
	}
	scale := bk.pass.scales(bk.outer, b, bk.net.cfg.DModel)
	for r := range bk.net.cfg.DModel {
		prefetchRow(x, r+prefetchAhead)
		prefetchRow(next, r)
		row := y.Row(r)
		if gated {
			vek.GLU(row, factor.Row(r), gate.Row(r))
		}
		if scale != nil {
			vek.Scale(row, scale[r], row)
		}
		if bk.net.cfg.Residual {
			vek.Add(out.Row(r), row, x.Row(r))
		} else {
			copy(out.Row(r), row)
		}
	}
}

// gate returns a and b of y = a·σ(b): the halves of z with GLU, g and z with half-glu1, v and z
// with half-glu2 (docs/maths.md §20).
func (bk *block) gate(z, g, v vek.Matrix) (a, b vek.Matrix) {
	switch bk.net.cfg.Mixing {
	case model.MixingHalfGLU1:
		return g, z
	case model.MixingHalfGLU2:
		return v, z
	}
	return z.RowRange(0, g.Rows), z.RowRange(g.Rows, 2*g.Rows)
}
