package convmode

import (
	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/model"
)

// groupGrad runs the backward pass of one group of tiles, in order: the LayerNorm between x_{i+1}
// and its reader, then the current block down to ∂v_i. For block −1, the encoder, it runs the
// LayerNorm only.
func (n *Net) groupGrad(w, group int) {
	ws, part := &n.workers[w], n.partials.take()
	groups, items, floats := n.groups(), n.items(), n.groupFloats()
	clear(part.all[:floats])
	for item := group * items / groups; item < (group+1)*items/groups; item++ {
		b, s := n.tile(item)
		n.layerNormBeforeGrad(ws, part, n.block+1, b, s)
		if n.block >= 0 {
			n.blockGrad(ws, part, b, s)
		}
	}
	n.partials.add(group, groups, floats, part)
}

// blockGrad computes ∂v_i of a tile, in v, from ∂x_{i+1}, in grad. It leaves ∂x_i of the residual
// path in grad.
func (n *Net) blockGrad(ws *worker, part *partial, b int, s span) {
	i := n.block
	grad := n.grad.tile(b, s)
	if nm := n.exit[i]; nm != nil && !n.batchNorm() {
		n.layerNormGrad(ws, nm, grad, n.acts.s[i].tile(b, s), part.exitGamma, part.exitBeta, b, s)
	}
	dg := vek.MatrixOf(ws.out, grad.Rows, grad.Cols)
	n.mixGrad(ws, part, dg, grad, b, s)
	n.activateGrad(ws, dg, b, s)
	if !n.cfg.Residual {
		for h := range grad.Rows {
			clear(grad.Row(h))
		}
	}
}

// mixGrad computes ∂g of a tile from ∂s_i, and adds to the sums of ∂W and ∂bias. It leaves the
// slope of the activation in v. With half-glu2, where y depends on v without the activation, that
// part of ∂v is in the second half of ws.wide.
func (n *Net) mixGrad(ws *worker, part *partial, dg, ds vek.Matrix, b int, s span) {
	l, rows, mixing := &n.layers[n.block], n.mixingRows(), n.cfg.Mixing
	g := vek.MatrixOf(ws.act, ds.Rows, ds.Cols)
	dz := vek.MatrixOf(ws.wide, rows, ds.Cols)
	if mixing == model.MixingHalfGLU2 { // before the slope replaces v
		v := n.acts.v[n.block].tile(b, s)
		n.outputGrad(ws, n.directGrad(ws, ds.Cols), dz, v, n.acts.z[n.block].tile(b, s), ds, b)
	}
	n.activateWithSlope(g, b, s)
	switch mixing {
	case model.MixingNone:
		n.outputGrad(ws, dg, vek.Matrix{}, vek.Matrix{}, vek.Matrix{}, ds, b)
		return
	case model.MixingLinear:
		n.outputGrad(ws, dz, vek.Matrix{}, vek.Matrix{}, vek.Matrix{}, ds, b)
	case model.MixingHalfGLU1:
		n.outputGrad(ws, dg, dz, g, n.acts.z[n.block].tile(b, s), ds, b)
	case model.MixingGLU:
		h, z := ds.Rows, n.acts.z[n.block].tile(b, s)
		n.outputGrad(ws, dz.RowRange(0, h), dz.RowRange(h, rows), z.RowRange(0, h), z.RowRange(h, rows), ds, b)
	}
	for r := range rows {
		part.mixBias[r] += vek.Sum(dz.Row(r))
	}
	add := mixing == model.MixingHalfGLU1                        // y also depends on g itself
	vek.Gemm(part.mixing, dz, g, false, true, true, ws.gemm)     // ∂W += ∂z·gᵀ
	vek.Gemm(dg, l.mixing.Matrix, dz, true, false, add, ws.gemm) // ∂g = Wᵀ·∂z
}

// directGrad returns the memory of the part of ∂v that half-glu2 has beside the activation.
func (n *Net) directGrad(ws *worker, width int) vek.Matrix {
	h := n.cfg.DModel
	return vek.MatrixOf(ws.wide, 2*h, width).RowRange(h, 2*h)
}

// outputGrad computes the gradients of a and gate before dropout from ∂s_i, where y = a·σ(gate), or
// y = a without gate.
func (n *Net) outputGrad(ws *worker, da, dGate, a, gate, ds vek.Matrix, b int) {
	scale := n.scales(n.layers[n.block].outer, b)
	for r := range n.cfg.DModel {
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
func (n *Net) activateWithSlope(g vek.Matrix, b int, s span) {
	if n.cfg.Activation == model.ActivationNone {
		n.activate(g, b, s)
		return
	}
	slope := vek.GELUSlope
	if n.cfg.Activation == model.ActivationGELUTanh {
		slope = vek.GELUTanhSlope
	}
	v, scale := n.acts.v[n.block].tile(b, s), n.scales(n.layers[n.block].inner, b)
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
func (n *Net) activateGrad(ws *worker, dg vek.Matrix, b int, s span) {
	v, scale := n.acts.v[n.block].tile(b, s), n.scales(n.layers[n.block].inner, b)
	var direct vek.Matrix
	if n.cfg.Mixing == model.MixingHalfGLU2 {
		direct = n.directGrad(ws, dg.Cols)
	}
	for h := range dg.Rows {
		d := dg.Row(h)
		if scale != nil {
			vek.Scale(d, scale[h], d)
		}
		if n.cfg.Activation != model.ActivationNone {
			vek.Mul(v.Row(h), v.Row(h), d)
		} else {
			copy(v.Row(h), d)
		}
		if direct.Rows > 0 {
			vek.Add(v.Row(h), v.Row(h), direct.Row(h))
		}
	}
}
