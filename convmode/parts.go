package convmode

import "github.com/s4d-fast/s4d-fast/model"

// newBlocks creates the blocks and their inputs with the arrays that a forward pass writes. In
// training each array has its own memory, which the backward pass reads. In inference they share
// two: one for x, the other for v, and for u where a norm makes it differ from x.
func (n *Net) newBlocks() {
	fresh := func(rows int) array { return newArray(n.opt.MaxBatch, rows, n.opt.MaxLen) }
	tiled := func(rows int) array {
		a := fresh(rows)
		a.tiled = true
		return a
	}
	h := n.cfg.DModel
	x, v := fresh(h), fresh(h)
	own := func(shared array) array {
		if n.opt.Training {
			return fresh(h)
		}
		return shared
	}
	if n.opt.Training {
		n.grad = fresh(h)
	}
	n.inputs = []*input{{net: n, pass: &n.pass, x: x}}
	for i := range n.cfg.NLayers {
		in := n.inputs[i]
		bk := &block{net: n, pass: &n.pass, index: i, in: in, weights: &n.w.Layers[i], v: v}
		out := &input{net: n, pass: &n.pass, from: bk, x: own(x)}
		in.to, bk.out, bk.sum = bk, out, out.x
		if i > 0 {
			bk.v = own(v)
		}
		if n.opt.Training && n.cfg.Gated() {
			bk.z = tiled(n.cfg.MixingRows())
		}
		if n.opt.Training && n.postNorm() {
			bk.sum = tiled(h)
			if n.batchNorm() { // reads whole rows
				bk.sum = fresh(h)
			}
		}
		n.inputs, n.blocks = append(n.inputs, out), append(n.blocks, bk)
		bk.init()
	}
	for i, in := range n.inputs {
		in.u = in.x
		if n.normBefore(i) {
			in.u = own(v)
		}
		in.init()
	}
}

// normBefore reports whether a norm is between x_i and its reader.
func (n *Net) normBefore(i int) bool {
	if i == n.cfg.NLayers {
		return n.cfg.FinalNorm
	}
	return n.cfg.Norm != model.NormNone && n.cfg.PreNorm
}

// postNorm reports whether blocks end with a norm.
func (n *Net) postNorm() bool { return n.cfg.Norm != model.NormNone && !n.cfg.PreNorm }

// newNorms creates the norms: before or after each block and, if configured, before the pool.
func (n *Net) newNorms() {
	for i, bk := range n.blocks {
		w := bk.weights
		if n.postNorm() {
			bk.norm = n.newNorm(bk.out.x, bk.sum, n.grad, w.NormWeight, w.NormBias, w.RunningMean, w.RunningVar)
		}
		if in := bk.in; n.normBefore(i) {
			in.norm = n.newNorm(in.u, in.x, bk.v, w.NormWeight, w.NormBias, w.RunningMean, w.RunningVar)
			in.norm.residual = n.grad
		}
	}
	if top := n.top(); n.normBefore(n.cfg.NLayers) {
		top.norm = n.newNorm(top.u, top.x, n.grad, n.w.NormWeight, n.w.NormBias, n.w.RunningMean, n.w.RunningVar)
	}
	for _, in := range n.inputs {
		if n.batchNorm() && in.from != nil && in.from.norm != nil {
			in.batchNorms = append(in.batchNorms, in.from.norm)
		}
		if n.batchNorm() && in.norm != nil {
			in.batchNorms = append(in.batchNorms, in.norm)
		}
	}
}

// top returns what the head reads.
func (n *Net) top() *input { return n.inputs[len(n.blocks)] }

// attach makes blocks and norms refer to their gradients.
func (n *Net) attach(grads *model.Weights) {
	n.pass.grads = grads
	for i, bk := range n.blocks {
		bk.grads = &grads.Layers[i]
		for _, nm := range []*norm{bk.in.norm, bk.norm} {
			if nm != nil {
				nm.dGamma, nm.dBeta = bk.grads.NormWeight, bk.grads.NormBias
			}
		}
	}
	if nm := n.top().norm; nm != nil {
		nm.dGamma, nm.dBeta = grads.NormWeight, grads.NormBias
	}
}
