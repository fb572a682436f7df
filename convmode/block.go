package convmode

import (
	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/model"
)

// blockTile runs all operations after the convolution of the current block on one tile, so that
// everything between v_i and x_{i+1} stays in the cache: activation, dropout, mixing, GLU, dropout,
// residual sum, LayerNorm, and the LayerNorm before the next block.
func (n *Net) blockTile(w, item int) {
	ws, i := &n.workers[w], n.block
	b, s := n.tile(item)
	g := vek.MatrixOf(ws.act, n.cfg.DModel, s.hi-s.lo)
	n.activate(g, b, s)

	out := n.acts.s[i].tile(b, s)
	if !n.train && n.exit[i] != nil && !n.batchNorm() {
		out = vek.MatrixOf(ws.out, out.Rows, out.Cols) // s_i and x_{i+1} share memory
	}
	var next vek.Matrix // x_{i+1}, if a LayerNorm writes it
	if n.exit[i] != nil && !n.batchNorm() {
		next = n.acts.x[i+1].tile(b, s)
	}
	n.mixTile(ws, out, g, next, b, s)
	if next.Rows > 0 {
		n.layerNorm(ws, n.exit[i], next, out, b, s)
	}
	n.layerNormBefore(ws, i+1, b, s)
}

// activate sets g = dropout(activation(v)) of the current block's tile.
func (n *Net) activate(g vek.Matrix, b int, s span) {
	v, scale := n.acts.v[n.block].tile(b, s), n.scales(n.layers[n.block].inner, b)
	for h := range g.Rows {
		prefetchRow(v, h+prefetchAhead)
		row := g.Row(h)
		switch n.cfg.Activation {
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
func (n *Net) mixTile(ws *worker, out, g, next vek.Matrix, b int, s span) {
	i := n.block
	l, x, width := &n.layers[i], n.acts.x[i].tile(b, s), s.hi-s.lo
	y, gated := g, n.cfg.Gated()
	var factor, gate vek.Matrix
	if rows := n.mixingRows(); rows > 0 {
		z := vek.MatrixOf(ws.wide, rows, width)
		if n.train && gated {
			z = n.acts.z[i].tile(b, s)
		}
		n.linear(ws, z, l, g)
		if gated {
			factor, gate = n.gate(z, g, n.acts.v[i].tile(b, s))
		} else {
			y = z
		}
	}
	scale := n.scales(l.outer, b)
	for r := range n.cfg.DModel {
		prefetchRow(x, r+prefetchAhead)
		prefetchRow(next, r)
		row := y.Row(r)
		if gated {
			vek.GLU(row, factor.Row(r), gate.Row(r))
		}
		if scale != nil {
			vek.Scale(row, scale[r], row)
		}
		if n.cfg.Residual {
			vek.Add(out.Row(r), row, x.Row(r))
		} else {
			copy(out.Row(r), row)
		}
	}
}

// gate returns a and b of y = a·σ(b): the halves of z with GLU, g and z with half-glu1, v and z
// with half-glu2 (docs/maths.md §20).
func (n *Net) gate(z, g, v vek.Matrix) (a, b vek.Matrix) {
	switch n.cfg.Mixing {
	case model.MixingHalfGLU1:
		return g, z
	case model.MixingHalfGLU2:
		return v, z
	}
	return z.RowRange(0, g.Rows), z.RowRange(g.Rows, 2*g.Rows)
}

// linear sets z = W·g + bias.
func (n *Net) linear(ws *worker, z vek.Matrix, l *layer, g vek.Matrix) {
	l.mixing.GemmBias(z, g, l.mixBias, ws.gemm)
}
