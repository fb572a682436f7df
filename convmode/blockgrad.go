package convmode

import (
	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/model"
)

// tileGrad computes ∂v of a tile, in v, from ∂x_{i+1}, in grad. It leaves ∂x_i of the residual path
// in grad.
func (bk *block) tileGrad(ws *worker, part *partial, b int, s span) {
	grad := bk.net.grad.tile(b, s)
	if bk.norm != nil && !bk.net.batchNorm() {
		bk.norm.layerNormGrad(ws, grad, bk.sum.tile(b, s), part.exitGamma, part.exitBeta, b, s)
	}
	dg := scratchTile(ws.out, grad.Rows, grad.Cols)
	bk.mixGrad(ws, part, dg, grad, b, s)
	bk.activateGrad(ws, dg, b, s)
	if !bk.net.cfg.Residual {
		for h := range grad.Rows {
			clear(grad.Row(h))
		}
	}
}

// mixGrad computes ∂g of a tile from ∂sum, and adds to the sums of ∂W and ∂bias. It leaves the
// slope of the activation in v. With half-glu2, where y depends on v without the activation, that
// part of ∂v is in the second half of ws.wide.
func (bk *block) mixGrad(ws *worker, part *partial, dg, ds vek.Matrix, b int, s span) {
	rows, mixing := bk.net.cfg.MixingRows(), bk.net.cfg.Mixing
	g := scratchTile(ws.act, ds.Rows, ds.Cols)
	dz := scratchTile(ws.wide, rows, ds.Cols)
	if mixing == model.MixingHalfGLU2 { // before the slope replaces v
		v := bk.v.tile(b, s)
		bk.outputGrad(ws, bk.directGrad(ws, ds.Cols), dz, v, bk.z.tile(b, s), ds, b)
	}
	bk.activateWithSlope(g, b, s)
	switch mixing {
	case model.MixingNone:
		bk.outputGrad(ws, dg, vek.Matrix{}, vek.Matrix{}, vek.Matrix{}, ds, b)
		return
	case model.MixingLinear:
		bk.outputGrad(ws, dz, vek.Matrix{}, vek.Matrix{}, vek.Matrix{}, ds, b)
	case model.MixingHalfGLU1:
		bk.outputGrad(ws, dg, dz, g, bk.z.tile(b, s), ds, b)
	case model.MixingGLU:
		h, z := ds.Rows, bk.z.tile(b, s)
		bk.outputGrad(ws, dz.RowRange(0, h), dz.RowRange(h, rows), z.RowRange(0, h), z.RowRange(h, rows), ds, b)
	}
	for r := range rows {
		part.mixBias[r] += vek.Sum(dz.Row(r))
	}
	weights, path := vek.TransposeB|vek.Split, vek.Plain
	if part.mixed {
		weights |= vek.Accumulate
	}
	first := len(ws.ahead) / 2
	vek.Gemm(part.mixing, dz, g, weights, ws.gemm, ws.ahead[:first]...) // ∂W += ∂z·gᵀ
	part.mixed = true
	if mixing == model.MixingHalfGLU1 { // y also depends on g itself
		path = vek.Accumulate
	}
	bk.mixing.GemmTransposed(dg, dz, path, ws.gemm, ws.ahead[first:]...) // ∂g = Wᵀ·∂z
}

// directGrad returns the memory of the part of ∂v that half-glu2 has beside the activation.
func (bk *block) directGrad(ws *worker, width int) vek.Matrix {
	h := bk.net.cfg.DModel
	return scratchTile(ws.wide, 2*h, width).RowRange(h, 2*h)
}

// outputGrad computes the gradients of a and gate before dropout from ∂sum, where y = a·σ(gate), or
// y = a without gate.
func (bk *block) outputGrad(ws *worker, da, dGate, a, gate, ds vek.Matrix, b int) {
	scale := bk.pass.scales(bk.outer, b, bk.net.cfg.DModel)
	for r := range bk.net.cfg.DModel {
		dy := ds.Row(r)
		if scale != nil {
			dy = ws.line[:ds.Cols]
			vek.Scale(dy, scale[r], ds.Row(r))
		}
		if gate.Rows > 0 {
			vek.GLUGrad(da.Row(r), dGate.Row(r), a.Row(r), gate.Row(r), dy)
		} else {
			copy(da.Row(r), dy)
		}
	}
}

// activateWithSlope sets g as activate does, and overwrites v by the slope of the activation.
func (bk *block) activateWithSlope(g vek.Matrix, b int, s span) {
	if bk.net.cfg.Activation == model.ActivationNone {
		bk.activate(g, b, s)
		return
	}
	slope := vek.GELUSlope
	if bk.net.cfg.Activation == model.ActivationGELUTanh {
		slope = vek.GELUTanhSlope
	}
	v, scale := bk.v.tile(b, s), bk.pass.scales(bk.inner, b, bk.net.cfg.DModel)
	for h := range g.Rows {
		prefetchRow(v, h+prefetchAhead)
		row := g.Row(h)
		slope(row, v.Row(h), v.Row(h))
		if scale != nil {
			vek.Scale(row, scale[h], row)
		}
	}
}

// activateGrad computes ∂v of a tile from ∂g and stores it in v, which holds the slope. It
// overwrites dg.
func (bk *block) activateGrad(ws *worker, dg vek.Matrix, b int, s span) {
	v, scale := bk.v.tile(b, s), bk.pass.scales(bk.inner, b, bk.net.cfg.DModel)
	var direct vek.Matrix
	if bk.net.cfg.Mixing == model.MixingHalfGLU2 {
		direct = bk.directGrad(ws, dg.Cols)
	}
	for h := range dg.Rows {
		d := dg.Row(h)
		if scale != nil {
			vek.Scale(d, scale[h], d)
		}
		if bk.net.cfg.Activation != model.ActivationNone {
			vek.Mul(v.Row(h), v.Row(h), d)
		} else {
			copy(v.Row(h), d)
		}
		if direct.Rows > 0 {
			vek.Add(v.Row(h), v.Row(h), direct.Row(h))
		}
	}
}
