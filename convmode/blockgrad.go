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
	n.activateGrad(dg, b, s)
	if !n.cfg.Residual {
		for h := range grad.Rows {
			clear(grad.Row(h))
		}
	}
}

// mixGrad computes ∂g of a tile from ∂s_i, and adds to the sums of ∂W and ∂bias.
func (n *Net) mixGrad(ws *worker, part *partial, dg, ds vek.Matrix, b int, s span) {
	l, rows := &n.layers[n.block], n.mixingRows()
	g := vek.MatrixOf(ws.act, ds.Rows, ds.Cols)
	n.activateWithSlope(g, b, s)
	if rows == 0 {
		n.outputGrad(ws, dg, vek.Matrix{}, ds, b)
		return
	}
	dz := vek.MatrixOf(ws.wide, rows, ds.Cols)
	var z vek.Matrix
	if n.cfg.Mixing == model.MixingGLU {
		z = n.acts.z[n.block].tile(b, s)
	}
	n.outputGrad(ws, dz, z, ds, b)
	for r := range rows {
		part.mixBias[r] += vek.Sum(dz.Row(r))
	}
	vek.Gemm(part.mixing, dz, g, false, true, true, ws.gemm)       // ∂W += ∂z·gᵀ
	vek.Gemm(dg, l.mixing.Matrix, dz, true, false, false, ws.gemm) // ∂g = Wᵀ·∂z
}

// outputGrad computes the gradient of a tile before dropout and, if z is given, before GLU from
// ∂s_i.
func (n *Net) outputGrad(ws *worker, dz, z, ds vek.Matrix, b int) {
	scale, h := n.scales(n.layers[n.block].outer, b), n.cfg.DModel
	for r := range h {
		dy := ds.Row(r)
		if scale != nil {
			dy = ws.line[:ds.Cols]
			vek.Scale(dy, scale[r], ds.Row(r))
		}
		if z.Rows > 0 {
			vek.GLUGrad(dz.Row(r), dz.Row(h+r), z.Row(r), z.Row(h+r), dy)
		} else {
			copy(dz.Row(r), dy)
		}
	}
}

// activateWithSlope sets g as activate does, and overwrites v by the slope of the activation.
func (n *Net) activateWithSlope(g vek.Matrix, b int, s span) {
	if n.cfg.Activation != model.ActivationGELU {
		n.activate(g, b, s)
		return
	}
	v, scale := n.acts.v[n.block].tile(b, s), n.scales(n.layers[n.block].inner, b)
	for h := range g.Rows {
		prefetchRow(v, h+prefetchAhead)
		row := g.Row(h)
		vek.GELUSlope(row, v.Row(h), v.Row(h))
		if scale != nil {
			vek.Scale(row, scale[h], row)
		}
	}
}

// activateGrad computes ∂v of a tile from ∂g and stores it in v, which holds the slope. It
// overwrites dg.
func (n *Net) activateGrad(dg vek.Matrix, b int, s span) {
	v, scale := n.acts.v[n.block].tile(b, s), n.scales(n.layers[n.block].inner, b)
	for h := range dg.Rows {
		d := dg.Row(h)
		if scale != nil {
			vek.Scale(d, scale[h], d)
		}
		if n.cfg.Activation == model.ActivationGELU {
			vek.Mul(v.Row(h), v.Row(h), d)
		} else {
			copy(v.Row(h), d)
		}
	}
}
